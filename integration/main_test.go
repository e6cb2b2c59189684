//go:build integration

package integration_test

import (
	"os"
	"testing"

	"github.com/tieredlog/rlmm/integration/command"
	"github.com/tieredlog/rlmm/integration/kafkatest"
)

func TestMain(m *testing.M) {
	code := kafkatest.Main(m)
	command.Remove()
	os.Exit(code)
}
