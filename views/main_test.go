package views_test

import (
	"testing"

	"github.com/tieredlog/rlmm/internal/rlmmtest"
)

func TestMain(m *testing.M) { rlmmtest.VerifyNoLeaks(m) }
