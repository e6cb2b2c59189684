package views_test

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/table"
	"github.com/tieredlog/rlmm/processor"
	"github.com/tieredlog/rlmm/views"
)

// foreign is what somebody else may write under a row's key.
var foreign = map[string]func(row *kgo.Record) *kgo.Record{
	"tombstone": func(row *kgo.Record) *kgo.Record { return &kgo.Record{Key: row.Key} },
	"value":     func(row *kgo.Record) *kgo.Record { return &kgo.Record{Key: row.Key, Value: []byte("x")} },
	"an older answer": func(row *kgo.Record) *kgo.Record {
		return &kgo.Record{Key: row.Key, Value: row.Value, Headers: row.Headers}
	},
}

// publishForeign writes under the key of the first answer of the table.
func publishForeign(c *rlmmtest.Cluster, of func(row *kgo.Record) *kgo.Record) {
	r := of(c.Answers(0)[0])
	r.Topic = rlmmtest.Table
	c.PublishTo(r)
}

// The owner of the partition writes the row again, whatever others wrote under its key: a
// view that has only what compaction left finds it, and one that knew it never loses it.
// Without an event of its own the owner learns it by itself.
func TestForeignRecordUnderARowsKey(t *testing.T) {
	t.Parallel()
	for name, of := range foreign {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 1)
			c.KeepTableHead()
			c.RunProcessor(func(cfg *processor.Config) { cfg.MaintainEvery = 20 * time.Millisecond })
			tip := c.PartitionOn(0, 0)
			c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
			c.WaitApplied()
			old := c.ReadyManager()
			publishForeign(c, of)
			c.WaitFor("the row is written again", func() bool { return repairs(c) == 1 })
			c.Compact()
			c.PublishEvents(finished(rlmmtest.Segment(tip, 2, 10, 19))...)
			for _, m := range []*views.Manager{old, c.ReadyManager()} {
				c.WaitFor("the later segment", func() bool {
					got, err := m.ListRemoteLogSegments(c.Context(), tip)
					return err == nil && len(got) == 2 && got[1].State == api.CopySegmentFinished
				})
				wantIDs(t, m, tip, rlmmtest.ID(1), rlmmtest.ID(2))
			}
		})
	}
}

// repairs counts the rows that were written again.
func repairs(c *rlmmtest.Cluster) (n int) {
	for _, r := range c.Read(rlmmtest.Table, 0) {
		if outcome, _ := rlmmtest.Header(r, "rlmm.outcome"); outcome == codec.OutcomeRepair.String() {
			n++
		}
	}
	return n
}

// While no owner has written the row again a view that begins can't know it, and doesn't
// answer; one that is stopped meanwhile doesn't forget that. An owner without a store finds
// the row in the input.
func TestForeignRecordWithoutAnOwner(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.KeepTableHead()
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	gone := rlmmtest.Segment(tip, 2, 10, 19)
	c.PublishEvents(append(finished(rlmmtest.Segment(tip, 1, 0, 9)), finished(gone)...)...)
	c.WaitApplied()
	behind := t.TempDir()
	if err := c.ReadyManager(inFolder(behind)).Close(); err != nil {
		t.Fatal(err)
	}
	c.PublishEvents(rlmmtest.Update(gone, api.DeleteSegmentStarted), rlmmtest.Update(gone, api.DeleteSegmentFinished))
	c.WaitApplied()
	running := c.ReadyManager()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int{1, 2} {
		key := codec.SegmentKey(api.RemoteLogSegmentID{TopicIdPartition: tip, ID: rlmmtest.ID(id)})
		c.PublishTo(&kgo.Record{Topic: rlmmtest.Table, Key: []byte(key)})
	}
	c.Compact()
	fresh, empty := t.TempDir(), t.TempDir()
	for range 2 { // the second time from what the first one has read
		for _, dir := range []string{fresh, behind} {
			wantDoubt(t, c, dir, tip)
		}
	}
	wantIDs(t, running, tip, rlmmtest.ID(1))
	c.RunProcessor(rlmmtest.InFolder(empty))
	for _, m := range []*views.Manager{running, c.ReadyManager(inFolder(fresh)), c.ReadyManager(inFolder(behind)), c.ReadyManager()} {
		wantIDs(t, m, tip, rlmmtest.ID(1))
		wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))
	}
}

func inFolder(dir string) func(*views.Config) { return func(cfg *views.Config) { cfg.DataDir = dir } }

// wantDoubt runs a manager in the folder until it says that it can't know a row.
func wantDoubt(t *testing.T, c *rlmmtest.Cluster, dir string, tip api.TopicIdPartition) {
	t.Helper()
	m := c.NewManager(inFolder(dir))
	if err := m.ReconcileAssignment(c.Context(), c.All()); err != nil {
		t.Fatal(err)
	}
	c.WaitFor("the doubt", func() bool { return errors.As(m.Ready(), new(*table.ForeignRecordError)) })
	wantEveryRead(t, m, tip, api.ErrNotReady)
	if s := m.Status(); s.State != api.StateRecovering {
		t.Errorf("status %+v", s)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// Under a key that no row of the partition can have others may write what they like.
func TestForeignRecordUnderNoRowsKey(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	c.WaitApplied()
	for _, key := range []string{"", "!0", "!0/position", "x", codec.PartitionKey(c.PartitionOn(1, 0))} {
		c.PublishTo(&kgo.Record{Topic: rlmmtest.Table, Key: []byte(key)})
	}
	wantIDs(t, c.ReadyManager(), tip, rlmmtest.ID(1))
}
