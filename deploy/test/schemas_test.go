package deploytest

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// published is the folder of the OpenAPI documents of the Kubernetes that go.mod names.
var published = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		return "", fmt.Errorf("the folder of k8s.io/kubernetes: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "api", "openapi-spec", "v3"), nil
})

// documents are the documents that were loaded, by group and version.
var documents = map[schema.GroupVersion]*openapi3.T{}

// document returns the document of a group and version.
func document(of schema.GroupVersion) (*openapi3.T, error) {
	if doc := documents[of]; doc != nil {
		return doc, nil
	}
	dir, err := published()
	if err != nil {
		return nil, err
	}
	name := "api__" + of.Version
	if of.Group != "" {
		name = "apis__" + of.Group + "__" + of.Version
	}
	doc, err := openapi3.NewLoader().LoadFromFile(filepath.Join(dir, name+"_openapi.json"))
	if err != nil {
		return nil, fmt.Errorf("the schemas of %s: %w", of, err)
	}
	documents[of] = doc
	return doc, nil
}

// schemaOf returns the schema that is marked as the kind's.
func schemaOf(kind schema.GroupVersionKind) (*openapi3.Schema, error) {
	doc, err := document(kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	for _, s := range doc.Components.Schemas {
		marks, _ := s.Value.Extensions["x-kubernetes-group-version-kind"].([]any)
		for _, mark := range marks {
			is, _ := mark.(map[string]any)
			if is["group"] == kind.Group && is["version"] == kind.Version && is["kind"] == kind.Kind {
				return s.Value, nil
			}
		}
	}
	return nil, fmt.Errorf("no schema of %s", kind)
}

// conforms holds a manifest against the schema that Kubernetes publishes for its kind. Its error
// has all faults: fields that must be there and aren't, and values of another type. A field that
// the schema doesn't have is none, nor is a word that a field doesn't take: these schemas don't
// list them.
func conforms(manifest string, kind schema.GroupVersionKind) error {
	s, err := schemaOf(kind)
	if err != nil {
		return err
	}
	var value any
	if err := yaml.Unmarshal([]byte(manifest), &value); err != nil {
		return err
	}
	return s.VisitJSON(value, openapi3.MultiErrors(), openapi3.SetSchemaErrorMessageCustomizer(short))
}

// short says where a fault is and what it is, without the schema and the value. What is a
// reference in these schemas is a list of one schema, whose own faults are the ones to tell.
func short(fault *openapi3.SchemaError) string {
	if inner := errors.Unwrap(fault.Origin); inner != nil {
		return inner.Error()
	}
	return strings.Join(fault.JSONPointer(), ".") + ": " + fault.Reason
}
