package views

import (
	"context"
	"errors"
	"testing"

	"github.com/tieredlog/rlmm/api"
)

// While one request changes a partition the others are told so, at once.
func TestBusy(t *testing.T) {
	m := &Manager{}
	p := &partition{m: m, ctx: t.Context()}
	m.views.Store(&assignment{3: p})
	p.steering.Lock()
	defer p.steering.Unlock()
	for name, control := range map[string]func(context.Context, int32) error{
		"pause": m.Pause, "resume": m.Resume, "restart": m.Restart, "rebuild": m.Rebuild,
	} {
		if busy := (*api.BusyError)(nil); !errors.As(control(t.Context(), 3), &busy) || busy.MetadataPartition != 3 {
			t.Errorf("%s isn't refused", name)
		}
	}
}
