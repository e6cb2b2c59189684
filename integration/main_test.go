//go:build integration

package integration_test

import (
	"os"
	"testing"

	"github.com/tieredlog/rlmm/integration/kafkatest"
)

func TestMain(m *testing.M) { os.Exit(kafkatest.Main(m)) }
