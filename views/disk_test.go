package views_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/disktest"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/processor"
	"github.com/tieredlog/rlmm/views"
)

// onDisk runs a processor and a manager, one of them on a disk that may fail, puts a few
// segments through and looks at the answers, of that manager and of a new one.
func onDisk(t *testing.T, ofProcessor bool, d *disktest.Disk) {
	t.Helper()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	p := c.StartProcessor(func(cfg *processor.Config) {
		if ofProcessor {
			cfg.Store.Storage = d.In
		}
	})
	m := c.NewManager(func(cfg *views.Config) {
		if !ofProcessor {
			cfg.Store.Storage = d.In
		}
	})
	reconcile(t, c, m, 0)
	for n := 2; n <= 3; n++ {
		for _, event := range finished(rlmmtest.Segment(tip, n, int64(10*n), int64(10*n+9))) {
			publishWhenReady(t, c, m, event)
		}
	}
	for _, m := range []*views.Manager{m, c.ReadyManager()} {
		c.WaitFor("the manager is ready", func() bool { return m.Ready() == nil })
		for n, offset := range map[int]int64{1: 5, 2: 25, 3: 35} {
			wantSegment(t, m, tip, 0, offset, rlmmtest.ID(n))
		}
	}
	if s := p.Stats(); s.Stale+s.Foreign+s.Gaps != 0 {
		t.Errorf("alarms: %+v", s)
	}
	c.VerifyTable()
}

// publishWhenReady tries again while the manager isn't ready; then the event must be
// accepted.
func publishWhenReady(t *testing.T, c *rlmmtest.Cluster, m *views.Manager, event api.RemoteLogMetadata) {
	t.Helper()
	var err error
	c.WaitFor("the manager publishes", func() bool {
		_, err = mutation(c, m, event)
		return !errors.Is(err, api.ErrNotReady)
	})
	if err != nil {
		t.Errorf("%T: %v", event, err)
	}
}

// A disk that fails in any single step of a running view's, or processor's, makes it
// open its store again, and nothing is lost or answered falsely.
func TestDiskFailsOnceWhileRunning(t *testing.T) {
	t.Parallel()
	for name, ofProcessor := range map[string]bool{"view": false, "processor": true} {
		healthy := disktest.New()
		onDisk(t, ofProcessor, healthy)
		steps := healthy.Steps()
		if steps < 12 {
			t.Fatalf("%s: only %d steps", name, steps)
		}
		for step := 1; step <= steps; step++ {
			t.Run(fmt.Sprintf("%s, step %d of %d", name, step, steps), func(t *testing.T) {
				t.Parallel()
				d := disktest.New()
				d.FailOnce(step)
				onDisk(t, ofProcessor, d)
			})
		}
	}
}
