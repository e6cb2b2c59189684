package views_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/table"
	"github.com/tieredlog/rlmm/processor"
	"github.com/tieredlog/rlmm/processor/fold"
)

// answerOf is the table's answer to an event at the offset.
func answerOf(t *testing.T, c *rlmmtest.Cluster, event api.RemoteLogMetadata, offset int64) *kgo.Record {
	t.Helper()
	key := codec.EventKey(event)
	old, err := table.DecodeRow(key, []byte(c.Rows()[key]))
	if err != nil {
		t.Fatal(err)
	}
	row, outcome := fold.Fold(&old, event, offset)
	return &kgo.Record{Topic: rlmmtest.Table, Key: []byte(key), Value: codec.EncodeRow(*row), Headers: []kgo.RecordHeader{
		{Key: "rlmm.offset", Value: strconv.AppendInt(nil, offset, 10)}, {Key: "rlmm.outcome", Value: []byte(outcome.String())},
	}}
}

// Compaction takes answers that a ready view hasn't read yet. The ones behind them come
// to a state that never was: the second segment is being deleted, the first isn't yet.
// Nothing may be answered from it.
func TestOvertakenByCompaction(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	first, second := rlmmtest.Segment(tip, 1, 0, 9), rlmmtest.Segment(tip, 2, 10, 19)
	c.PublishEvents(append(finished(first), finished(second)...)...)
	m := c.ReadyManager()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	firstLater, secondLater := rlmmtest.Update(first, api.DeleteSegmentStarted), rlmmtest.Update(second, api.DeleteSegmentStarted)
	c.PublishEvents(firstLater, secondLater, firstLater)
	c.PublishTo(answerOf(t, c, secondLater, 5)) // the one at 4 is gone, for the one at 6
	c.WaitFor("it isn't ready", func() bool { return m.Ready() != nil })
	c.WaitFor("it has read the answer", func() bool { return m.CommittedOffset(0) == 5 })
	wantEveryRead(t, m, tip, api.ErrNotReady)
	c.PublishTo(answerOf(t, c, firstLater, 6))
	if err := m.WaitReady(c.Context()); err != nil {
		t.Fatal(err)
	}
	wantEveryRead(t, m, tip, nil)
	wantSegment(t, m, tip, 0, 5, api.UUID{})
}

// A view that is ready goes on from an input without some of its offsets.
func TestOvertakenByNothing(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	m := c.ReadyManager()
	for n := range 3 {
		c.PublishInTransaction(c.Records(finished(rlmmtest.Segment(tip, n+1, int64(10*n), int64(10*n+9)))...)...)
	}
	c.WaitFor("all is applied", func() bool {
		caughtUp, err := m.CaughtUp(t.Context(), tip)
		return err == nil && caughtUp
	})
	wantSegment(t, m, tip, 0, 25, rlmmtest.ID(3))
}

// A view that was stopped while a segment was deleted finds the tombstone alone that purged
// the marker: compaction took the deletion itself.
func TestPurgeOfADeletionThatCompactionTook(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.KeepTableHead()
	c.RunProcessor(func(cfg *processor.Config) {
		cfg.MaintainEvery, cfg.PurgeAfter = 20*time.Millisecond, time.Millisecond
	})
	tip, dir := c.PartitionOn(0, 0), t.TempDir()
	gone := rlmmtest.Segment(tip, 1, 0, 9)
	c.PublishEvents(append(finished(gone), finished(rlmmtest.Segment(tip, 2, 10, 19))...)...)
	if err := c.ReadyManager(inFolder(dir)).Close(); err != nil {
		t.Fatal(err)
	}
	c.PublishEvents(rlmmtest.Update(gone, api.DeleteSegmentStarted), rlmmtest.Update(gone, api.DeleteSegmentFinished))
	c.WaitFor("the tombstone alone is left", func() bool {
		c.Compact()
		left := slices.DeleteFunc(c.Read(rlmmtest.Table, 0), func(r *kgo.Record) bool {
			return string(r.Key) != codec.SegmentKey(gone.ID)
		})
		return len(left) == 1 && left[0].Value == nil
	})
	wantIDs(t, c.ReadyManager(inFolder(dir)), tip, rlmmtest.ID(2))
}
