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

var folder = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "rlmm-command-") })

var (
	this = sync.OnceValues(func() (string, error) { return build("rlmm") })
	next = sync.OnceValues(func() (string, error) { return build("rlmm-next", "-tags", "rlmm_nextrow") })
)

func build(name string, flags ...string) (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	args := append([]string{"build", "-o", path}, flags...)
	out, err := exec.Command("go", append(args, "github.com/tieredlog/rlmm/cmd/rlmm")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, nil
}

// Path returns the built command; the first call builds it. A build that fails fails
// the test.
func Path(tb testing.TB) string { return built(tb, this) }

// Next is [Path] of what a next release may be: it knows a row version more.
func Next(tb testing.TB) string { return built(tb, next) }

func built(tb testing.TB, build func() (string, error)) string {
	tb.Helper()
	path, err := build()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// Remove removes what was built. For TestMain, when the tests have run.
func Remove() {
	if dir, err := folder(); err == nil {
		_ = os.RemoveAll(dir)
	}
}
