package views_test

import (
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/views"
)

// scanned counts the segments by a look at every row.
func scanned(t *testing.T, m *views.Manager) views.SegmentCounts {
	t.Helper()
	c := views.SegmentCounts{Segments: map[api.RemoteLogSegmentState]int64{0: 0, 1: 0, 2: 0}, Bytes: map[api.RemoteLogSegmentState]int64{0: 0, 1: 0, 2: 0}}
	finished := map[api.UUID]bool{}
	for row, err := range m.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		switch state := row.Segment.State; {
		case row.Kind == codec.RowPartition:
			finished[row.Delete.TopicIdPartition.TopicID] = row.Delete.State == api.DeletePartitionFinished
		case row.Kind == codec.RowHeadless:
			c.Headless++
		case row.Kind == codec.RowSegment && finished[row.Segment.ID.TopicIdPartition.TopicID]:
			c.OfDeleted++
		case row.Kind == codec.RowSegment:
			c.Segments[state]++
			c.Bytes[state] += int64(row.Segment.SegmentSizeInBytes)
		}
	}
	return c
}

// The counts that are kept are those of a scan, whenever they were first asked for: before
// the events, between them, or after them, and after the store was built anew.
func TestSegmentCountsAreThoseOfAScan(t *testing.T) {
	c := rlmmtest.NewCluster(t, 2)
	c.RunProcessor()
	early, late := c.ReadyManager(), c.ReadyManager()
	check := func(what string, managers ...*views.Manager) views.SegmentCounts {
		t.Helper()
		var got views.SegmentCounts
		for _, m := range managers {
			var err error
			if got, err = m.SegmentCounts(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(scanned(t, m), got); diff != "" {
				t.Errorf("%s (-scan +kept):\n%s", what, diff)
			}
		}
		return got
	}
	check("nothing", early)
	kept, gone := c.PartitionOn(0, 0), c.PartitionOn(1, 0)
	copied, added, deleting, ended := rlmmtest.Segment(kept, 1, 0, 9), rlmmtest.Segment(kept, 2, 10, 19), rlmmtest.Segment(kept, 3, 20, 29), rlmmtest.Segment(kept, 4, 30, 39)
	c.PublishEvents(copied, added, deleting, ended, rlmmtest.Segment(gone, 5, 0, 9),
		rlmmtest.Update(copied, api.CopySegmentFinished), rlmmtest.Update(copied, api.CopySegmentFinished),
		rlmmtest.Update(deleting, api.DeleteSegmentStarted),
		rlmmtest.Update(ended, api.DeleteSegmentStarted), rlmmtest.Update(ended, api.DeleteSegmentFinished),
		rlmmtest.Update(rlmmtest.Segment(kept, 6, 0, 0), api.DeleteSegmentStarted),
		rlmmtest.Delete(gone, api.DeletePartitionMarked), rlmmtest.Delete(gone, api.DeletePartitionStarted))
	awaitCaughtUp(c, kept, early, late)
	awaitCaughtUp(c, gone, early, late)
	check("some events", early)
	c.PublishEvents(rlmmtest.Delete(gone, api.DeletePartitionFinished), rlmmtest.Segment(gone, 7, 10, 19),
		rlmmtest.Segment(kept, 6, 40, 49)) // with a head now
	awaitCaughtUp(c, kept, early, late)
	awaitCaughtUp(c, gone, early, late)
	got := check("all events", early, late)
	want := views.SegmentCounts{
		Segments:  map[api.RemoteLogSegmentState]int64{0: 2, 1: 1, 2: 1},
		Bytes:     map[api.RemoteLogSegmentState]int64{0: 200, 1: 100, 2: 100},
		OfDeleted: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	must(t, early.Rebuild(t.Context(), 0))
	must(t, early.WaitReady(c.Context()))
	check("built anew", early)
}

func TestStatsOfAManager(t *testing.T) {
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	c.PublishEvents(rlmmtest.Segment(c.PartitionOn(0, 0), 1, 0, 9))
	c.WaitApplied()
	var fromTopic, fromStore, records atomic.Int64
	m := c.ReadyManager(func(cfg *views.Config) {
		cfg.Recovered = func(r views.Recovery) {
			if r.FromStore {
				fromStore.Add(1)
			} else {
				fromTopic.Add(1)
			}
			records.Add(r.Records)
		}
	})
	must(t, m.Restart(t.Context(), 0)) // which goes on answering
	must(t, m.Rebuild(t.Context(), 0))
	must(t, m.WaitReady(c.Context()))
	if topic, store := fromTopic.Load(), fromStore.Load(); topic != 2 || store != 0 || records.Load() < 4 {
		t.Errorf("%d recoveries from the topic, %d from a store, with %d records; want 2, 0, and the answer and the fence each time", topic, store, records.Load())
	}
	s := m.Stats()
	if s.Resets["requested"] != 1 || s.Resets["corrupt"] != 0 || s.Restarts["requested"] != 2 || s.Restarts["failed"] != 0 {
		t.Errorf("%+v", s)
	}
}

// awaitCaughtUp waits until the managers have applied all there is of a partition.
func awaitCaughtUp(c *rlmmtest.Cluster, tip api.TopicIdPartition, managers ...*views.Manager) {
	for _, m := range managers {
		c.WaitFor("caught up", func() bool { yes, err := m.CaughtUp(c.Context(), tip); return yes && err == nil })
	}
}
