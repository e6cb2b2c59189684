// Package command builds the rlmm command for tests that run it as users do, in
// processes of its own.
package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var folder string

var build = sync.OnceValues(func() (string, error) {
	var err error
	if folder, err = os.MkdirTemp("", "rlmm-command-"); err != nil {
		return "", err
	}
	path := filepath.Join(folder, "rlmm")
	out, err := exec.Command("go", "build", "-o", path, "github.com/tieredlog/rlmm/cmd/rlmm").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build rlmm: %w\n%s", err, out)
	}
	return path, nil
})

// Path returns the built command; the first call builds it. A build that fails fails
// the test.
func Path(tb testing.TB) string {
	tb.Helper()
	path, err := build()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// Remove removes what Path has built. For TestMain, when the tests have run.
func Remove() { _ = os.RemoveAll(folder) }
