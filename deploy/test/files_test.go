package deploytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// deploy is the folder of the files under test, and root the repository's.
const (
	deploy = ".."
	root   = "../.."
)

var built struct {
	sync.Once
	path string
	err  error
}

// TestMain removes what the tests built.
func TestMain(m *testing.M) {
	code := m.Run()
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(code)
}

// rlmm returns a binary of this repository.
func rlmm(t *testing.T) string {
	t.Helper()
	built.Do(build)
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

func build() {
	dir, err := os.MkdirTemp("", "rlmm")
	if err != nil {
		built.err = err
		return
	}
	built.path = filepath.Join(dir, "rlmm")
	cmd := exec.Command("go", "build", "-o", built.path, "./cmd/rlmm")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	built.err = cmd.Run()
}

// write makes a file with its folders.
func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
