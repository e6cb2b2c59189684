package repocheck

import (
	"strings"
	"testing"
)

// The library guide's Go code is compiled: it stands in a test of package views.
func TestLibraryGuideIsCompiled(t *testing.T) {
	compiled := read(t, "views/libraryguide_test.go")
	blocks := groups("(?s)```go\n(.*?)\n```", read(t, "docs/library.md"))
	if len(blocks) == 0 {
		t.Fatal("docs/library.md shows no Go code")
	}
	for _, block := range blocks {
		if !strings.Contains(compiled, block+"\n") {
			t.Errorf("not in views/libraryguide_test.go:\n%s", block)
		}
	}
}
