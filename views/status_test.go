package views_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/views"
)

// statusOf is the status of the one metadata partition.
func statusOf(m *views.Manager) api.PartitionStatus { return m.Status().Partitions[0] }

// While the fleet is down answers grow stale, and while Kafka can't be reached, though
// both leave the partition ready. Afterwards they are fresh again.
func TestStalenessIsKnown(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	var cut atomic.Bool
	c.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return nil, errors.New("cut"), cut.Load()
	})
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	m := c.ReadyManager()
	s := statusOf(m)
	if s.State != api.StateRunning || s.Applied != 1 || s.Target != 1 || s.End != 2 || s.Lag != 0 || s.Staleness != 0 || s.EndSeen.IsZero() || s.Err != nil {
		t.Fatalf("when it is ready: %+v", s)
	}

	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	c.PublishEvents(rlmmtest.Segment(tip, 2, 10, 19))
	c.WaitFor("it is stale without a fleet", func() bool { return statusOf(m).Staleness > 0 })
	s = statusOf(m)
	if s.State != api.StateRunning || s.Applied != 1 || s.End != 3 || s.Lag != 1 {
		t.Errorf("without a fleet: %+v", s)
	}
	if f, ok := m.Freshness(tip); !ok || f.Applied != 1 || f.Staleness < s.Staleness {
		t.Errorf("freshness %+v, %t, after %v", f, ok, s.Staleness)
	}
	c.RunProcessor(rlmmtest.InFolder(p.DataDir))
	c.WaitFor("it is fresh again", func() bool { return statusOf(m).Staleness == 0 })
	if s = statusOf(m); s.Applied != 2 || s.Lag != 0 {
		t.Errorf("with a fleet again: %+v", s)
	}

	cut.Store(true)
	c.WaitFor("it is stale without Kafka", func() bool { return statusOf(m).Staleness > 0 })
	older := statusOf(m).Staleness
	c.WaitFor("it grows", func() bool { return statusOf(m).Staleness > older+time.Second })
	if s = statusOf(m); s.State != api.StateRunning || s.Err == nil {
		t.Errorf("without Kafka: %+v", s)
	}
	cut.Store(false)
	c.WaitFor("it is fresh at last", func() bool { return statusOf(m).Staleness == 0 })
}

// What keeps a partition from answering is told with it.
func TestStatusTellsTheCause(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	c.CreateTopics()
	m := c.NewManager()
	if s := m.Status(); s.State != api.StateRunning || len(s.Partitions) != 0 {
		t.Errorf("nothing assigned: %+v", s)
	}
	c.PublishEvents(rlmmtest.Segment(c.PartitionOn(1, 0), 1, 0, 9)) // nobody applies it
	if err := m.ReconcileAssignment(c.Context(), c.All()); err != nil {
		t.Fatal(err)
	}
	c.WaitFor("one is ready", func() bool { return m.IsReady(c.Context(), c.PartitionOn(0, 0)) })
	c.WaitFor("the other knows its target", func() bool { return m.Status().Partitions[1].Target == 0 })
	s := m.Status()
	if s.State != api.StateRecovering || s.Partitions[0].State != api.StateRunning || s.Partitions[1].State != api.StateRecovering {
		t.Errorf("while one recovers: %+v", s)
	}
	if _, ok := m.Freshness(c.PartitionOn(1, 0)); ok {
		t.Error("a partition that isn't ready tells how fresh its answers are")
	}
	c.RecreateTopic(rlmmtest.MetadataTopic)
	c.WaitFor("both have failed", func() bool {
		s = m.Status()
		return s.Partitions[0].State == api.StateFailed && s.Partitions[1].State == api.StateFailed
	})
	if s.State != api.StateFailed || s.Partitions[0].Err == nil || s.Partitions[1].Err == nil {
		t.Errorf("on another topic: %+v", s)
	}
}
