package processor_test

import (
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/processor"
)

// Events are counted by what they do, and rejected ones by their outcome alone.
func TestStatsOfEvents(t *testing.T) {
	c := rlmmtest.NewCluster(t, 1)
	var recovered atomic.Int64
	p := c.RunProcessor(func(cfg *processor.Config) {
		cfg.Recovered = func(processor.Recovery) { recovered.Add(1) }
	})
	tip := c.PartitionOn(0, 0)
	s := rlmmtest.Segment(tip, 1, 0, 9)
	c.PublishEvents(s, s, rlmmtest.Update(s, api.CopySegmentFinished), rlmmtest.Update(s, api.DeleteSegmentStarted),
		rlmmtest.Update(s, api.DeleteSegmentFinished), rlmmtest.Update(s, api.DeleteSegmentFinished),
		rlmmtest.Delete(tip, api.DeletePartitionMarked), rlmmtest.Delete(tip, api.DeletePartitionStarted), rlmmtest.Delete(tip, api.DeletePartitionFinished))
	want := map[processor.EventKind]int64{
		{Type: "segment", State: "COPY_SEGMENT_STARTED"}:               1,
		{Type: "segment_update", State: "COPY_SEGMENT_FINISHED"}:       1,
		{Type: "segment_update", State: "DELETE_SEGMENT_STARTED"}:      1,
		{Type: "segment_update", State: "DELETE_SEGMENT_FINISHED"}:     1,
		{Type: "partition_delete", State: "DELETE_PARTITION_MARKED"}:   1,
		{Type: "partition_delete", State: "DELETE_PARTITION_STARTED"}:  1,
		{Type: "partition_delete", State: "DELETE_PARTITION_FINISHED"}: 1,
	}
	c.WaitFor("all is counted", func() bool { return cmp.Equal(want, p.Stats().Applied) })
	got := p.Stats()
	if recovered.Load() != 1 || got.Restarts["session_failed"] != 0 || got.Restarts["processor_ended"] != 0 || got.ResetReasons["gap"] != 0 {
		t.Errorf("%d recoveries, %+v", recovered.Load(), got)
	}
	if p.ClusterID() == "" {
		t.Error("the cluster's id isn't known")
	}
}
