package repocheck

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// direct returns the modules that a go.mod asks for directly, sorted.
func direct(text string) []string {
	modules := groups(`(?m)^(?:require )?\s*(\S+\.\S+/\S+|\S+\.\S+) v\S+$`, text)
	return slices.Sorted(slices.Values(modules))
}

func TestDirectTellsFromIndirect(t *testing.T) {
	const text = "require (\n\ta.org/b v1.0.0\n\tc.org/d v1.0.0 // indirect\n)\n\nrequire e.org v1.2.3\n"
	if diff := cmp.Diff([]string{"a.org/b", "e.org"}, direct(text)); diff != "" {
		t.Errorf("direct modules (-want +got):\n%s", diff)
	}
}

// docs/dependencies.md lists just the modules that go.mod asks for, each with licence and reason.
func TestDependenciesAreListed(t *testing.T) {
	listed := groups("(?m)^\\| `(\\S+)` \\| [A-Z][A-Za-z0-9.-]+ \\| \\S.* \\|$", read(t, "docs/dependencies.md"))
	if diff := cmp.Diff(direct(read(t, "go.mod")), slices.Sorted(slices.Values(listed))); diff != "" {
		t.Errorf("docs/dependencies.md and go.mod (-go.mod +listed):\n%s", diff)
	}
}
