package rest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/tieredlog/rlmm/api/rest"
)

// TestMain fails the tests of this package, whatever else they say, when an answer of a
// handler of newHandler wasn't as the OpenAPI document has it.
func TestMain(m *testing.M) {
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", decodeLines)
	code := m.Run()
	for _, violation := range violations.all {
		fmt.Fprintln(os.Stderr, "not as in openapi.yaml:", violation)
		code = 1
	}
	os.Exit(code)
}

// violations are the first of all tests.
var violations struct {
	sync.Mutex
	all []string
}

func violated(what string) {
	violations.Lock()
	defer violations.Unlock()
	if len(violations.all) < 20 {
		violations.all = append(violations.all, what)
	}
}

// newHandler is rest.NewHandler whose answers are held against the OpenAPI document.
func newHandler(cfg rest.Config) http.Handler {
	h := rest.NewHandler(cfg)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var seen exchange
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &seen.asked), r.Body}
		h.ServeHTTP(&seenWriter{w, &seen}, r)
		if err := conforms(r, &seen); err != nil {
			violated(fmt.Sprintf("%s %s: %d: %v", r.Method, r.URL, seen.status, err))
		}
	})
}

// exchange is what went in and came out.
type exchange struct {
	asked, answer bytes.Buffer
	status        int
	head          http.Header
}

type seenWriter struct {
	http.ResponseWriter
	seen *exchange
}

func (w *seenWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *seenWriter) WriteHeader(status int) {
	if w.seen.status == 0 {
		w.seen.status, w.seen.head = status, w.Header().Clone()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *seenWriter) Write(b []byte) (int, error) {
	if w.seen.status == 0 {
		w.seen.status, w.seen.head = http.StatusOK, w.Header().Clone()
	}
	w.seen.answer.Write(b)
	return w.ResponseWriter.Write(b)
}

// document is the OpenAPI document with its objects closed: a member that it doesn't have
// is a violation.
var document = sync.OnceValue(func() *openapi3.T {
	doc, err := openapi3.NewLoader().LoadFromData(rest.OpenAPI())
	if err != nil {
		panic(err)
	}
	closeObjects(doc)
	return doc
})

func closeObjects(doc *openapi3.T) {
	for _, s := range doc.Components.Schemas {
		closeObject(s)
	}
	for path, item := range doc.Paths.Map() {
		for _, o := range item.Operations() {
			for status, response := range o.Responses.Map() {
				for _, content := range response.Value.Content {
					if path != "/v1/openapi.yaml" && status[0] == '2' {
						closeObject(content.Schema)
					}
				}
			}
		}
	}
}

func closeObject(s *openapi3.SchemaRef) {
	if s.Ref == "" && s.Value.Type.Is("object") && s.Value.AdditionalProperties.Schema == nil {
		s.Value.AdditionalProperties.Has = new(bool)
	}
}

// operation is an operation of the document.
type operation struct {
	method, path string
	*openapi3.Operation
	item *openapi3.PathItem
}

// pattern is the operation's route, as a mux has it.
func (o operation) pattern() string {
	if o.path == "/" {
		return o.method + " /{$}"
	}
	return o.method + " " + o.path
}

func operations(doc *openapi3.T) map[string]operation {
	all := map[string]operation{}
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			op := operation{method, path, o, item}
			all[op.pattern()] = op
		}
	}
	return all
}

// mux finds the pattern of a request.
var mux = sync.OnceValue(func() *http.ServeMux {
	m := http.NewServeMux()
	for pattern := range operations(document()) {
		m.Handle(pattern, http.NotFoundHandler())
	}
	return m
})

func operationOf(r *http.Request) (operation, bool) {
	_, pattern := mux().Handler(r)
	o, ok := operations(document())[pattern]
	return o, ok
}

// conforms holds an answer against the document, and a request that was carried out too.
// What has no route has an answer of the API's all the same.
func conforms(r *http.Request, seen *exchange) error {
	o, ok := operationOf(r)
	if !ok {
		return isError(seen)
	}
	input := &openapi3filter.RequestValidationInput{
		Request:    r,
		PathParams: pathParams(o.path, r.URL.Path),
		Route:      &routers.Route{Spec: document(), Path: o.path, PathItem: o.item, Method: o.method, Operation: o.Operation},
		Options:    &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if seen.status/100 == 2 && r.Method != http.MethodHead {
		again := r.Clone(r.Context())
		again.Body = io.NopCloser(&seen.asked)
		if seen.asked.Len() > 0 {
			again.Header.Set("Content-Type", "application/json") // which the API doesn't ask for
		}
		input.Request = again
		if err := openapi3filter.ValidateRequest(r.Context(), input); err != nil {
			return fmt.Errorf("request: %w", err)
		}
	}
	return openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: seen.status, Header: seen.head, Options: input.Options,
		Body: io.NopCloser(bytes.NewReader(seen.answer.Bytes())),
	})
}

func isError(seen *exchange) error {
	var value any
	if err := json.Unmarshal(seen.answer.Bytes(), &value); err != nil {
		return err
	}
	if seen.status != http.StatusNotFound && seen.status != http.StatusMethodNotAllowed && seen.status != http.StatusInternalServerError {
		return fmt.Errorf("status %d without a route", seen.status)
	}
	return document().Components.Schemas["Error"].Value.VisitJSON(value, openapi3.EnableJSONSchema2020())
}

// pathParams reads a path that has the shape of the document's.
func pathParams(shape, path string) map[string]string {
	params, parts := map[string]string{}, strings.Split(path, "/")
	for i, part := range strings.Split(shape, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			params[strings.TrimSuffix(name, "}")] = parts[i]
		}
	}
	return params
}

// decodeLines reads NDJSON as the array that its schema has.
func decodeLines(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
	values := []any{}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var value any
		if err := json.Unmarshal(lines.Bytes(), &value); err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, lines.Err()
}

// The check finds what it is there for.
func TestConformsFindsViolations(t *testing.T) {
	good := `{"highestOffset":7}`
	for name, tt := range map[string]struct {
		target, answer string
		status         int
		ok             bool
	}{
		"good":                    {base + "/highest-offset?epoch=1", good, 200, true},
		"a member too many":       {base + "/highest-offset?epoch=1", `{"highestOffset":7,"more":1}`, 200, false},
		"a member missing":        {base + "/highest-offset?epoch=1", `{}`, 200, false},
		"of another type":         {base + "/highest-offset?epoch=1", `{"highestOffset":"7"}`, 200, false},
		"a success that isn't":    {base + "/highest-offset?epoch=1", good, 201, false},
		"an undocumented query":   {base + "/highest-offset", good, 200, false},
		"an error":                {base + "/size?epoch=1", `{"error_code":418,"message":"","reason":"io"}`, 418, true},
		"an unknown reason":       {base + "/size?epoch=1", `{"error_code":503,"message":"","reason":"tired"}`, 503, false},
		"an unknown member of it": {base + "/size?epoch=1", `{"error_code":503,"message":"","reason":"io","why":""}`, 503, false},
		"within a cause":          {base + "/size?epoch=1", `{"error_code":503,"message":"","reason":"not_ready","cause":{"reason":"io"}}`, 503, false},
		"no route":                {"/v2", `{"error_code":404,"message":"","reason":"not_found"}`, 404, true},
		"no route, no error":      {"/v2", `{}`, 404, false},
	} {
		seen := &exchange{status: tt.status, head: http.Header{"Content-Type": {"application/json"}}}
		seen.answer.WriteString(tt.answer)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tt.target, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if err := conforms(r, seen); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The document is right by itself, and every route of a handler with all parts is in it,
// with its parameters, and nothing else.
func TestDocumentHasEveryRoute(t *testing.T) {
	doc := document()
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := rest.Patterns(rest.NewHandler(everything(full())))
	var got []string
	for pattern, o := range operations(doc) {
		got = append(got, pattern)
		if o.Summary == "" || o.OperationID == "" || len(o.Tags) != 1 || doc.Tags.Get(o.Tags[0]) == nil || o.Responses.Default() == nil {
			t.Errorf("%s lacks a summary, an id, a tag or a default", pattern)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	diff(t, "routes", got, want)
}
