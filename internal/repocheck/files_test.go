package repocheck

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// repository is the repository's root folder, two up from this package.
const repository = "../.."

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	content, err := fs.ReadFile(os.DirFS(repository), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// list returns the names of the repository's files that match one of the patterns.
func list(t *testing.T, patterns ...string) []string {
	t.Helper()
	var names []string
	for _, pattern := range patterns {
		found, err := fs.Glob(os.DirFS(repository), pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	return names
}

// recipe returns the commands of a target of the Makefile.
func recipe(t *testing.T, target string) []string {
	t.Helper()
	_, rest, found := strings.Cut(read(t, "Makefile"), "\n"+target+": ##")
	if !found {
		t.Fatalf("Makefile: no target %q", target)
	}
	var commands []string
	for _, line := range strings.Split(rest, "\n")[1:] {
		command, indented := strings.CutPrefix(line, "\t")
		if !indented {
			break
		}
		commands = append(commands, command)
	}
	return commands
}

// hasLine reports whether one of the text's lines is just this one, indented or not.
func hasLine(text, want string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == want {
			return true
		}
	}
	return false
}

// groups returns what the pattern's first group matches, all over the text.
func groups(pattern, text string) []string {
	var found []string
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}
