package repocheck

import (
	"os/exec"
	"slices"
	"strings"
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

// listed returns the modules in the table under a heading of docs/dependencies.md, each with
// licence and reason.
func listed(t *testing.T, heading string) []string {
	t.Helper()
	_, section, found := strings.Cut(read(t, "docs/dependencies.md"), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("docs/dependencies.md: no heading %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return slices.Sorted(slices.Values(groups("(?m)^\\| `(\\S+)` \\| [A-Z][A-Za-z0-9.-]+ \\| \\S.* \\|$", section)))
}

// imported returns which of the modules have a package that this module's own packages
// import, of those that go list names with the arguments. The template chooses the imports.
func imported(t *testing.T, modules []string, template string, args ...string) []string {
	t.Helper()
	const own = "{{if and .Module .Module.Main}}"
	cmd := exec.Command("go", append([]string{"list", "-f", own + template + "{{end}}"}, args...)...)
	cmd.Dir = repository
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	used := map[string]bool{}
	for path := range strings.FieldsSeq(string(out)) {
		used[moduleOf(path, modules)] = true
	}
	return slices.DeleteFunc(slices.Clone(modules), func(m string) bool { return !used[m] })
}

// moduleOf is the module that has the package: the longest one that begins its path.
func moduleOf(path string, modules []string) (module string) {
	for _, m := range modules {
		if (path == m || strings.HasPrefix(path, m+"/")) && len(m) > len(module) {
			module = m
		}
	}
	return module
}

func TestModuleOf(t *testing.T) {
	modules := []string{"a.org/b", "a.org/b/c", "a.org/bc"}
	for path, want := range map[string]string{"a.org/b": "a.org/b", "a.org/b/x": "a.org/b", "a.org/b/c/x": "a.org/b/c", "a.org/bd": "", "fmt": ""} {
		if got := moduleOf(path, modules); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// No module that go.mod asks for could be dropped, and docs/dependencies.md has each where it
// belongs: in the binary when the code of the command imports it, else in tests when they do.
func TestDependenciesAreUsedAndListed(t *testing.T) {
	modules := direct(read(t, "go.mod"))
	binary := imported(t, modules, `{{join .Imports "\n"}}{{"\n"}}`, "-deps", "./cmd/rlmm")
	if diff := cmp.Diff(binary, listed(t, "In the binary")); diff != "" {
		t.Errorf("docs/dependencies.md, in the binary (-imported +listed):\n%s", diff)
	}
	const all = `{{join .Imports "\n"}}{{"\n"}}{{join .TestImports "\n"}}{{"\n"}}{{join .XTestImports "\n"}}{{"\n"}}`
	anywhere := imported(t, modules, all, "-tags", "integration", "./...")
	if diff := cmp.Diff(modules, anywhere); diff != "" {
		t.Errorf("modules that go.mod asks for (-go.mod +imported):\n%s", diff)
	}
	tests := slices.DeleteFunc(anywhere, func(m string) bool { return slices.Contains(binary, m) })
	if diff := cmp.Diff(tests, listed(t, "In tests alone")); diff != "" {
		t.Errorf("docs/dependencies.md, in tests (-imported +listed):\n%s", diff)
	}
}
