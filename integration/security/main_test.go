//go:build integration

// Package security tests the command against a real Apache Kafka that minds who connects:
// by TLS and SCRAM, by client certificates, and by rights.
package security_test

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
