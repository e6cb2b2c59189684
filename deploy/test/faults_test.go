package deploytest

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// sound is a manifest without a fault.
const sound = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a}
spec:
  serviceName: a
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers:
        - {name: a, image: a, imagePullPolicy: Always, ports: [{name: http, containerPort: 8084}]}
`

// planted returns the sound manifest with a fault.
func planted(t *testing.T, old, faulty string) string {
	t.Helper()
	if strings.Count(sound, old) != 1 {
		t.Fatalf("%q is not there once", old)
	}
	return strings.Replace(sound, old, faulty, 1)
}

// wantError fails unless the error has the words.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestSoundManifestIsRead(t *testing.T) {
	if _, err := read(t.Context(), sound); err != nil {
		t.Error(err)
	}
}

func TestUnknownFieldIsFound(t *testing.T) {
	_, err := read(t.Context(), planted(t, "serviceName: a", "servceName: a"))
	wantError(t, err, `unknown field "servceName"`)
}

// The schema finds these by itself. What is read into types loses a number in a string's place:
// it becomes a string.
func TestFaultsAgainstTheSchemaAreFound(t *testing.T) {
	statefulSet := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	for name, f := range map[string]struct{ old, faulty, want string }{
		"container without a name": {"{name: a, image", "{image", `spec.template.spec.containers.0.name: property "name" is missing`},
		"no selector":              {"  selector: {matchLabels: {app: a}}\n", "", `spec.selector: property "selector" is missing`},
		"object for an array":      {"- {name: a,", "  {name: a,", "spec.template.spec.containers: value must be an array"},
		"string for a number":      {"8084", "http", "spec.template.spec.containers.0.ports.0.containerPort: value must be an integer"},
		"number for a string":      {"serviceName: a", "serviceName: 1", "spec.serviceName: value must be a string"},
	} {
		t.Run(name, func(t *testing.T) {
			err := conforms(planted(t, f.old, f.faulty), statefulSet)
			if err == nil || err.Error() != f.want {
				t.Errorf("error %v, want %s", err, f.want)
			}
			if _, err := read(t.Context(), planted(t, f.old, f.faulty)); err == nil {
				t.Error("the manifest is read")
			}
		})
	}
}

// Types and schema take these; an API server doesn't.
func TestFaultsThatAServerRefusesAreFound(t *testing.T) {
	for name, f := range map[string]struct{ old, faulty, want string }{
		"unknown word in a pod":          {"Always", "Alway", `spec.template.spec.containers[0].imagePullPolicy: Unsupported value: "Alway"`},
		"unknown word":                   {"Parallel", "parallel", `spec.podManagementPolicy: Invalid value: "parallel"`},
		"port out of range":              {"8084", "80840", "spec.template.spec.containers[0].ports[0].containerPort: Invalid value"},
		"name with a character too many": {"{name: http", "{name: ht_tp", "spec.template.spec.containers[0].ports[0].name: Invalid value"},
		"selector that misses the pods":  {"{labels: {app: a}}", "{labels: {app: b}}", "`selector` does not match template `labels`"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t.Context(), planted(t, f.old, f.faulty))
			wantError(t, err, f.want)
		})
	}
}

// A kind that nothing checks is a fault, not one that passes.
func TestKindsThatCannotBeCheckedAreFound(t *testing.T) {
	wantError(t, conforms(sound, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Set"}), "no schema of apps/v1, Kind=Set")
	wantError(t, conforms(sound, schema.GroupVersionKind{Group: "app", Version: "v1", Kind: "StatefulSet"}), "the schemas of app/v1")
	wantError(t, admitted(t.Context(), &corev1.Pod{}), "no validation of *core.Pod")
}
