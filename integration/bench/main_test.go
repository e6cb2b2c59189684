//go:build integration

package bench_test

import (
	"os"
	"testing"

	"github.com/tieredlog/rlmm/integration/command"
)

func TestMain(m *testing.M) {
	code := m.Run()
	command.Remove()
	os.Exit(code)
}
