package views_test

import (
	"errors"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
)

// The rule itself is tested at the index; here is what the manager adds: the path from the
// topic, and its refusals.
func TestRemoteLogSegmentByTimestamp(t *testing.T) {
	c := rlmmtest.NewCluster(t, 2)
	c.RunProcessor()
	tip := c.PartitionOn(1, 0)
	for n, maxTimestamp := range []int64{1000, 2000, -1, 4000} {
		start := int64(100 * n)
		s := rlmmtest.Segment(tip, n, start, start+99)
		s.MaxTimestampMs = maxTimestamp
		c.PublishEvents(s, rlmmtest.Update(s, api.CopySegmentFinished))
	}
	m, ctx := c.ReadyManager(), c.Context()
	chain := api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: 0, Offset: 0})

	for _, q := range []struct{ time, offset, want int64 }{
		{0, 0, 0}, {1000, 0, 0}, {1001, 0, 100}, {0, 150, 100}, {2001, 0, 300}, {4001, 0, -1}, {0, 400, -1},
	} {
		got, ok, err := m.RemoteLogSegmentByTimestamp(ctx, tip, chain, q.time, q.offset)
		if err != nil || ok != (q.want >= 0) || ok && got.StartOffset != q.want {
			t.Errorf("%+v: segment from %d, %v, %v", q, got.StartOffset, ok, err)
		}
	}
	other := c.PartitionOn(1, 1)
	if _, ok, err := m.RemoteLogSegmentByTimestamp(ctx, other, chain, 0, 0); ok || err != nil {
		t.Errorf("unknown partition: %v, %v", ok, err)
	}

	falling := api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: 0, Offset: 5}, api.EpochOffset{LeaderEpoch: 1, Offset: 4})
	negative := api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: 0, Offset: -1})
	for name, refused := range map[string]struct {
		tip          api.TopicIdPartition
		chain        api.LeaderEpochs
		time, offset int64
	}{
		"negative time":        {tip, chain, -1, 0},
		"negative offset":      {tip, chain, 0, -1},
		"falling chain":        {tip, falling, 0, 0},
		"negative chain":       {tip, negative, 0, 0},
		"partition without id": {api.TopicIdPartition{}, chain, 0, 0},
	} {
		if _, _, err := m.RemoteLogSegmentByTimestamp(ctx, refused.tip, refused.chain, refused.time, refused.offset); !errors.Is(err, api.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := m.ReconcileAssignment(ctx, []int32{0}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.RemoteLogSegmentByTimestamp(ctx, tip, chain, 0, 0); !errors.Is(err, api.ErrNotAssigned) {
		t.Errorf("not assigned: %v", err)
	}
}
