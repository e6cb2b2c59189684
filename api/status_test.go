package api_test

import (
	"testing"

	"github.com/tieredlog/rlmm/api"
)

func TestWorstState(t *testing.T) {
	for _, c := range []struct {
		parts []api.State
		want  api.State
	}{
		{nil, api.StateRunning},
		{[]api.State{api.StateRunning, api.StateRunning}, api.StateRunning},
		{[]api.State{api.StateRecovering, api.StateRunning}, api.StateRecovering},
		{[]api.State{api.StateRunning, api.StateFailed, api.StateRecovering}, api.StateFailed},
		{[]api.State{api.StateRunning, api.StatePaused}, api.StatePaused},
		{[]api.State{api.StateRecovering, api.StatePaused}, api.StateRecovering},
	} {
		var parts []api.PartitionStatus
		for _, s := range c.parts {
			parts = append(parts, api.PartitionStatus{State: s})
		}
		if got := api.WorstState(parts); got != c.want {
			t.Errorf("%v: got %s, want %s", c.parts, got, c.want)
		}
	}
}
