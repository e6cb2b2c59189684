package repocheck

import (
	"slices"
	"strings"
	"testing"
)

// speaking returns the files that tell people or machines which commands to run.
func speaking(t *testing.T) []string {
	t.Helper()
	return list(t, "*.md", ".ci/run", ".github/workflows/*.yml", "Dockerfile")
}

// One command runs the tests: for a reader of the README, for `make test` and for CI.
func TestOneTestCommand(t *testing.T) {
	commands := recipe(t, "test")
	if len(commands) != 1 {
		t.Fatalf("make test runs %q, want one command", commands)
	}
	for _, name := range list(t, ".ci/run", "README.md", "CONTRIBUTING.md") {
		if !hasLine(read(t, name), commands[0]) {
			t.Errorf("%s: no line %q, which is what make test runs", name, commands[0])
		}
	}
}

// makeCommands returns the targets that a text tells to make: in code, or as a line of its own.
func makeCommands(text string) []string {
	inCode := groups("(?:`|RUN |run: )make ([a-z-]+)", text)
	return append(inCode, groups(`(?m)^\s*make ([a-z-]+)(?: [A-Z_]+=\S+)*$`, text)...)
}

func TestMakeTargetsExist(t *testing.T) {
	targets := groups(`(?m)^([a-z-]+):.* ## `, read(t, "Makefile"))
	for _, name := range speaking(t) {
		for _, target := range makeCommands(read(t, name)) {
			if !slices.Contains(targets, target) {
				t.Errorf("%s: make %s: no such target of the Makefile", name, target)
			}
		}
	}
}

// Only the Makefile names the version of a tool, and only in a variable.
func TestToolVersionsInOnePlace(t *testing.T) {
	const tool = `((?:gofumpt|golangci-lint|govulncheck|cyclonedx-gomod)@\S+)`
	for _, name := range append(speaking(t), ".golangci.yml") {
		for _, mention := range groups(tool, read(t, name)) {
			t.Errorf("%s names %s; the Makefile has the versions", name, mention)
		}
	}
	mentions := groups(tool, read(t, "Makefile"))
	if len(mentions) != 4 {
		t.Errorf("Makefile: installs %q, want four tools", mentions)
	}
	for _, mention := range mentions {
		if !strings.Contains(mention, "@$(") {
			t.Errorf("Makefile: %s, want a variable after the @", mention)
		}
	}
}

// Every binary is stamped with its version and its commit: of the image's sources, which have
// no git folder, nothing else tells them.
func TestBuildsAreStamped(t *testing.T) {
	makefile := read(t, "Makefile")
	if stamps := groups(`-ldflags "(?:-s -w )?(\S+)"`, makefile); !slices.Equal(stamps, []string{"$(STAMP)", "$(STAMP)"}) {
		t.Errorf("Makefile: builds with %q, want each with $(STAMP)", stamps)
	}
	for _, name := range []string{"VERSION", "COMMIT"} {
		for file, line := range map[string]string{
			"Makefile":           "-X main." + strings.ToLower(name) + "=$(" + name + ")",
			"Dockerfile":         "\nARG " + name + "=\n",
			"docker-compose.yml": "\n      " + name + ": ${" + name + ":-}\n",
			"docs/deployment.md": "--build-arg " + name + "=",
		} {
			if !strings.Contains(read(t, file), line) {
				t.Errorf("%s: no %q", file, line)
			}
		}
		if !strings.Contains(read(t, "Dockerfile"), name+`="$`+name+`"`) {
			t.Errorf("Dockerfile: make build isn't given %s", name)
		}
	}
}

// The image and the public CI build with the Go release that go.mod asks for.
func TestOneGoVersion(t *testing.T) {
	const release = `(\d+\.\d+)`
	want := groups(`(?m)^go `+release, read(t, "go.mod"))
	for name, pattern := range map[string]string{
		"Dockerfile":               `(?m)^FROM golang:` + release,
		".github/workflows/ci.yml": `GO_VERSION: "` + release + `"`,
	} {
		if got := groups(pattern, read(t, name)); !slices.Equal(got, want) {
			t.Errorf("%s: Go %q, go.mod has %q", name, got, want)
		}
	}
}
