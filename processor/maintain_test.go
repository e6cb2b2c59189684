package processor_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/processor"
	"github.com/tieredlog/rlmm/views"
)

// purging makes the processor purge what is older than a moment, all the time.
func purging(c *processor.Config) {
	c.MaintainEvery = 20 * time.Millisecond
	c.PurgeAfter = time.Millisecond
}

func outcome(r *kgo.Record) string {
	o, _ := rlmmtest.Header(r, "rlmm.outcome")
	return o
}

func TestPurge(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	c.KeepTableHead()
	p := c.RunProcessor(purging)
	publishLives(c, 0, 5)
	c.WaitApplied()
	highest := codec.SegmentKey(rlmmtest.Segment(c.PartitionOn(0, 0), 4, 0, 0).ID)
	c.WaitFor("one marker a partition is left", func() bool { return len(c.Rows()) == 2 })
	if _, ok := c.Rows()[highest]; !ok {
		t.Error("the marker of the highest offset is gone")
	}
	wantPositionBeforePurge(t, c.Read(rlmmtest.Table, 0))

	c.Compact()
	m := c.ReadyManager(func(cfg *views.Config) { cfg.HighestOffsetBounds = views.BoundsEpoch })
	if got, ok, err := m.HighestOffsetForEpoch(c.Context(), c.PartitionOn(0, 0), 0); got != 49 || !ok || err != nil {
		t.Errorf("highest offset %d, %v, %v; want 49", got, ok, err)
	}
	var deletes []api.RemoteLogMetadata
	for state := api.DeletePartitionMarked; state <= api.DeletePartitionFinished; state++ {
		deletes = append(deletes, rlmmtest.Delete(c.PartitionOn(0, 0), state))
	}
	c.PublishEvents(deletes...)
	c.WaitFor("the deleted partition's last marker is gone", func() bool {
		_, ok := c.Rows()[highest]
		return !ok
	})

	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	wantNoAlarms(t, p)
	fresh := c.RunProcessor() // compaction has taken answers: the position tells
	publishLives(c, 10, 1)
	c.WaitFor("it goes on", func() bool { return fresh.Stats().Outcomes[codec.OutcomeApplied] == 8 })
	wantNoAlarms(t, fresh)
}

// wantPositionBeforePurge fails unless before each purge a position was written that
// holds what the purge may take from the table.
func wantPositionBeforePurge(t *testing.T, records []*kgo.Record) {
	t.Helper()
	position, purges := int64(-1), 0
	for _, r := range records {
		switch {
		case string(r.Key) == codec.PositionKey(0):
			position = headerInt(t, r, "rlmm.offset")
		case outcome(r) == "purge":
			purges++
			if row := headerInt(t, r, "rlmm.offset"); row > position || r.Value != nil {
				t.Errorf("the row of %d was purged at position %d", row, position)
			}
		}
	}
	if purges == 0 {
		t.Error("nothing was purged")
	}
}

// A segment that is added again before its marker is purged stays.
func TestPurgeSparesARowThatChanged(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor(purging)
	tip := c.PartitionOn(0, 0)
	high := rlmmtest.Segment(tip, 0, 1000, 1999)
	c.PublishEvents(life(high)...)
	for n := range 40 {
		s := rlmmtest.Segment(tip, n%4+1, 0, 9)
		c.PublishEvents(life(s)...)
		c.PublishEvents(s)
		c.PublishEvents(rlmmtest.Update(s, api.DeleteSegmentStarted), rlmmtest.Update(s, api.DeleteSegmentFinished))
	}
	c.WaitApplied()
	for i, o := range c.Outcomes(0) {
		if o != "applied" {
			t.Fatalf("event %d: %s", i, o)
		}
	}
	c.WaitFor("one marker is left", func() bool { return len(c.Rows()) == 1 })
}

// Positions are written from the start, for compaction's sake.
func TestPositionsSurviveCompaction(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.KeepTableHead()
	p := c.RunProcessor(soon)
	publishLives(c, 0, 5)
	c.Publish(rlmmtest.Raw(0, nil)) // its answer is a tombstone under a key that the fence takes
	c.WaitApplied()
	c.WaitFor("the position is written", func() bool { return headerInt(t, lastPosition(t, c), "rlmm.offset") == 20 })
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	c.Compact()
	p = c.RunProcessor()
	c.Publish(rlmmtest.Raw(0, nil))
	c.WaitFor("the next record is applied", func() bool { return p.Stats().Outcomes[codec.OutcomeNullValue] == 1 })
	if s := p.Stats(); len(s.Outcomes) != 1 {
		t.Errorf("records were applied again: %v", s.Outcomes)
	}
}

// Sessions that come and go while the markers are visited.
func TestRebalancesWhilePurging(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 4)
	a := c.RunProcessor(purging, func(c *processor.Config) { c.MaintainEvery = time.Millisecond })
	for round := range 3 {
		publishLives(c, 20*round, 20)
		b := c.RunProcessor(purging)
		publishLives(c, 20*round+10, 5)
		if err := b.Stop(); err != nil {
			t.Fatal(err)
		}
		wantNoAlarms(t, b)
	}
	c.WaitApplied()
	c.WaitFor("one marker a partition is left", func() bool { return len(c.Rows()) == 4 })
	wantNoAlarms(t, a)
}
