package repocheck

import (
	"strings"
	"testing"
)

// The README's Go code is the body of the tested example.
func TestReadmeExampleIsTheTestedOne(t *testing.T) {
	example := read(t, "views/example_test.go")
	blocks := groups("(?s)```go\n(.*?)\n```", read(t, "README.md"))
	if len(blocks) == 0 {
		t.Fatal("the README shows no Go code")
	}
	for _, block := range blocks {
		indented := "\t" + strings.ReplaceAll(strings.ReplaceAll(block, "\n", "\n\t"), "\n\t\n", "\n\n")
		if !strings.Contains(example, indented) {
			t.Errorf("not in views/example_test.go:\n%s", block)
		}
	}
}
