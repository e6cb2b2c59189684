package views_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/views"
)

// explosive is a logger's handler that panics at one message, a number of times.
type explosive struct {
	slog.Handler
	message string
	left    *atomic.Int64
}

func (e explosive) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == e.message && e.left.Add(-1) >= 0 {
		panic("the disk of the log is full")
	}
	return e.Handler.Handle(ctx, r)
}

func (e explosive) WithAttrs(attrs []slog.Attr) slog.Handler {
	return explosive{e.Handler.WithAttrs(attrs), e.message, e.left}
}

// A panic below a view, in the embedding process's own logger here, ends neither the
// process nor the view.
func TestAPanicEndsNothing(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	var left atomic.Int64
	left.Store(3)
	m := c.ReadyManager(func(cfg *views.Config) {
		cfg.Logger = slog.New(explosive{c.Logger.Handler(), "foreign record in the table", &left})
	})
	c.PublishTo(&kgo.Record{Topic: rlmmtest.Table, Key: []byte("foreign"), Value: []byte("record")})
	c.WaitFor("it panicked", func() bool { return left.Load() <= 0 })
	for n := range 3 {
		if _, err := mutation(c, m, rlmmtest.Segment(tip, n, 0, 9)); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := m.ListRemoteLogSegments(t.Context(), tip); err != nil || len(list) != 3 {
		t.Errorf("%d segments, %v", len(list), err)
	}
	c.WaitFor("it is well again", func() bool { return statusOf(m).Err == nil })
}
