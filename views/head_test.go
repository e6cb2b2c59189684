package views_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/table"
	"github.com/tieredlog/rlmm/views"
)

// wantHeadError waits until the manager says that the table lost its head.
func wantHeadError(t *testing.T, c *rlmmtest.Cluster, m *views.Manager) {
	t.Helper()
	c.WaitFor("it knows that the head is lost", func() bool {
		lost := (*table.HeadError)(nil)
		return errors.As(m.Ready(), &lost) && strings.Contains(lost.Error(), "rlmm reset")
	})
	if s := m.Status(); s.State != api.StateFailed {
		t.Errorf("the state is %v", s.State)
	}
}

// A table whose head is gone makes no store, and mends none that is from before the cut.
// One that has read what is gone goes on.
func TestTableThatLostItsHead(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	behind, whole := t.TempDir(), t.TempDir()
	in := func(dir string) func(*views.Config) { return func(cfg *views.Config) { cfg.DataDir = dir } }
	gone := rlmmtest.Segment(tip, 1, 0, 9)
	c.PublishEvents(finished(gone)...)
	if err := c.ReadyManager(in(behind)).Close(); err != nil {
		t.Fatal(err)
	}
	c.PublishEvents(rlmmtest.Update(gone, api.DeleteSegmentStarted), rlmmtest.Update(gone, api.DeleteSegmentFinished))
	running := c.ReadyManager()
	if err := c.ReadyManager(in(whole)).Close(); err != nil {
		t.Fatal(err)
	}
	records := c.Read(rlmmtest.Table, 0)
	cut := records[len(records)-1].Offset + 1
	if err := c.DeleteRecords(rlmmtest.Table, 0, cut); err != nil {
		t.Fatal(err)
	}
	c.PublishEvents(finished(rlmmtest.Segment(tip, 2, 10, 19))...)
	for _, change := range [][]func(*views.Config){nil, {in(behind)}} {
		m := c.NewManager(change...)
		if err := m.ReconcileAssignment(c.Context(), c.All()); err != nil {
			t.Fatal(err)
		}
		wantHeadError(t, c, m)
	}
	for _, m := range []*views.Manager{running, c.ReadyManager(in(whole))} {
		c.WaitFor("it goes on", func() bool {
			got, err := m.ListRemoteLogSegments(c.Context(), tip)
			return err == nil && len(got) == 1 && got[0].ID.ID == rlmmtest.ID(2)
		})
	}
}

// While retention may take the table's head nobody becomes a manager. Who is one goes on,
// with what is right, and says it.
func TestTablePolicy(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"delete", "compact,delete"} {
		c := rlmmtest.NewCluster(t, 1)
		c.RunProcessor()
		tip := c.PartitionOn(0, 0)
		c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
		m := c.ReadyManager()
		c.AlterTopic(rlmmtest.Table, "cleanup.policy", policy)
		c.WaitFor("it says so", func() bool {
			s := m.Status()
			return s.State == api.StateFailed && kafka.IsMismatch(s.Partitions[0].Err, kafka.CleanupPolicy)
		})
		wantIDs(t, m, tip, rlmmtest.ID(1))
		cfg := views.Config{Kafka: c.Settings, DataDir: t.TempDir(), Logger: c.Logger}
		if _, err := views.NewManager(context.Background(), cfg); !kafka.IsMismatch(err, kafka.CleanupPolicy) {
			t.Errorf("a new one with %s: %v", policy, err)
		}
		c.AlterTopic(rlmmtest.Table, "cleanup.policy", "compact")
		c.WaitFor("it is well again", func() bool { return m.Status().State == api.StateRunning })
	}
}

// A foreign transaction ends with a control record: it is no record to wait for.
func TestControlRecordAtTheTablesEnd(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	c.WaitApplied()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	c.TransactOn(rlmmtest.Table, &kgo.Record{Key: []byte("!x"), Value: []byte("y")})
	m := c.ReadyManager()
	wantIDs(t, m, tip, rlmmtest.ID(1))
	c.RunProcessor()
	c.TransactOn(rlmmtest.Table, &kgo.Record{Key: []byte("!x"), Value: []byte("y")})
	c.PublishEvents(finished(rlmmtest.Segment(tip, 2, 10, 19))...)
	c.WaitFor("the later segment", func() bool {
		_, ok, err := m.RemoteLogSegmentMetadata(t.Context(), tip, 0, 15)
		return ok && err == nil
	})
	c.VerifyTable()
}
