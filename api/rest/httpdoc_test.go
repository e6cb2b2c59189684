package rest_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/tieredlog/rlmm/api/rest"
)

var update = flag.Bool("update", false, "write docs/http.md")

func TestHTTPDocIsUpToDate(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(rest.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	path, want := filepath.Join("..", "..", "docs", "http.md"), httpDoc(doc)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "docs/http.md, run with -update", string(got), want)
}

// httpDoc is docs/http.md.
func httpDoc(doc *openapi3.T) string {
	var b strings.Builder
	b.WriteString("# HTTP API\n\n" + doc.Info.Summary + "\n\n" + doc.Info.Description)
	b.WriteString("\nThis page is made from [the OpenAPI document](../api/rest/openapi.yaml), which a server has at `/v1/openapi.yaml`: " +
		"`go test ./api/rest -run TestHTTPDoc -update`. Go programs use the client in [`api/rest`](../api/rest).\n")
	for _, tag := range doc.Tags {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", tag.Name, strings.TrimSpace(tag.Description))
		for _, o := range operationsOf(doc, tag.Name) {
			writeOperation(&b, o)
		}
	}
	b.WriteString("\n## Shapes\n\nMembers in bold are always there.\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		writeShape(&b, name, doc.Components.Schemas[name].Value)
	}
	return b.String()
}

// operationsOf are the operations of a tag, by path, then method.
func operationsOf(doc *openapi3.T, tag string) []operation {
	all := slices.Collect(maps.Values(operations(doc)))
	all = slices.DeleteFunc(all, func(o operation) bool { return o.Tags[0] != tag })
	slices.SortFunc(all, func(a, b operation) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.method, b.method)) })
	return all
}

func writeOperation(b *strings.Builder, o operation) {
	fmt.Fprintf(b, "\n### `%s %s`\n\n%s\n", o.method, o.path, o.Summary)
	if o.Description != "" {
		fmt.Fprintf(b, "\n%s\n", strings.TrimSpace(o.Description))
	}
	parameters := append(slices.Clone(o.item.Parameters), o.Parameters...)
	if len(parameters) > 0 {
		b.WriteString("\n| parameter | in | |\n|---|---|---|\n")
	}
	for _, p := range parameters {
		fmt.Fprintf(b, "| %s | %s | %s (%s) |\n", bold(p.Value.Name, p.Value.Required), p.Value.In, p.Value.Description, typeOf(p.Value.Schema))
	}
	if o.RequestBody != nil {
		content := o.RequestBody.Value.Content["application/json"]
		fmt.Fprintf(b, "\nBody: %s.\n", typeOf(content.Schema))
		if example, err := json.Marshal(content.Example); err == nil && content.Example != nil {
			fmt.Fprintf(b, "\n```json\n%s\n```\n", example)
		}
	}
	b.WriteString("\n| status | |\n|---|---|\n")
	for _, status := range slices.Sorted(maps.Keys(o.Responses.Map())) {
		if status != "default" {
			writeResponse(b, status, o.Responses.Value(status).Value)
		}
	}
}

// writeResponse leaves out the shape of what isn't 2xx: it is an Error always.
func writeResponse(b *strings.Builder, status string, r *openapi3.Response) {
	fmt.Fprintf(b, "| %s | %s", status, oneLine(*r.Description))
	if content := r.Content["application/json"]; content != nil && status[0] == '2' {
		fmt.Fprintf(b, " (%s)", typeOf(content.Schema))
	}
	b.WriteString(" |\n")
}

func writeShape(b *strings.Builder, name string, s *openapi3.Schema) {
	fmt.Fprintf(b, "\n### %s\n", name)
	if text := describe(s); text != "" {
		fmt.Fprintf(b, "\n%s\n", text)
	}
	if len(s.Properties) == 0 {
		return
	}
	b.WriteString("\n| member | |\n|---|---|\n")
	required := func(name string) bool { return slices.Contains(s.Required, name) }
	names := slices.Sorted(maps.Keys(s.Properties))
	slices.SortStableFunc(names, func(a, b string) int { return boolInt(required(b)) - boolInt(required(a)) })
	for _, member := range names {
		p := s.Properties[member]
		text := oneLine(p.Value.Description)
		if p.Ref != "" {
			text = ""
		}
		fmt.Fprintf(b, "| %s | %s |\n", bold(member, required(member)), withType(text, typeOf(p)))
	}
}

// describe says what a shape without members is.
func describe(s *openapi3.Schema) string {
	text := oneLine(s.Description)
	if s.OneOf != nil {
		text += " One of " + typesOf(s.OneOf) + "."
	}
	if len(s.Properties) == 0 && s.OneOf == nil {
		text = withType(text, typeOf(&openapi3.SchemaRef{Value: s}))
	}
	return strings.TrimSpace(text)
}

// typeOf names the type of a value: a shape's with a link.
func typeOf(s *openapi3.SchemaRef) string {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	}
	v := s.Value
	switch {
	case v.Const != nil:
		return fmt.Sprintf("`%v`", v.Const)
	case len(v.Enum) > 0:
		return enumOf(v.Enum)
	case v.Items != nil:
		return "array of " + typeOf(v.Items)
	case v.AdditionalProperties.Schema != nil:
		return "object, by name: " + typeOf(v.AdditionalProperties.Schema)
	case len(v.Properties) > 0:
		return membersOf(v)
	case v.Format != "":
		return v.Format
	}
	return strings.Join(v.Type.Slice(), " or ")
}

func typesOf(all openapi3.SchemaRefs) string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = typeOf(s)
	}
	return strings.Join(names, ", ")
}

func enumOf(values []any) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = fmt.Sprintf("`%v`", v)
	}
	return strings.Join(names, ", ")
}

func membersOf(s *openapi3.Schema) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		all = append(all, fmt.Sprintf("`%s`: %s", name, typeOf(s.Properties[name])))
	}
	return strings.Join(all, "; ")
}

func withType(text, name string) string {
	if text == "" {
		return name
	}
	return text + " (" + name + ")"
}

func bold(name string, is bool) string {
	if is {
		return "**`" + name + "`**"
	}
	return "`" + name + "`"
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
