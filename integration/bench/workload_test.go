package bench_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/integration/bench"
	"github.com/tieredlog/rlmm/internal/recording"
	"github.com/tieredlog/rlmm/processor/fold"
)

func TestSegmentsAreDealtOutToThePartitions(t *testing.T) {
	segments := slices.Collect(bench.Segments(3, 4, 10))
	type place struct {
		Partition  int32
		Start, End int64
	}
	var got []place
	for _, s := range segments {
		got = append(got, place{s.ID.TopicIdPartition.Partition, s.StartOffset, s.EndOffset})
	}
	want := []place{
		{0, 0, 99},
		{1, 0, 99},
		{2, 0, 99},
		{3, 0, 99},
		{0, 100, 199},
		{1, 100, 199},
		{2, 100, 199},
		{3, 100, 199},
		{0, 200, 299},
		{1, 200, 299},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

func TestWorkloadsShareNothing(t *testing.T) {
	topics, ids := map[api.UUID]string{}, map[api.UUID]bool{}
	for seed := range int64(3) {
		for s := range bench.Segments(seed, 25, 1000) {
			tip := s.ID.TopicIdPartition
			if name, ok := topics[tip.TopicID]; ok && name != tip.Topic {
				t.Fatalf("topic id %s is of %s and %s", tip.TopicID, name, tip.Topic)
			}
			topics[tip.TopicID] = tip.Topic
			if ids[s.ID.ID] {
				t.Fatalf("two segments %s", s.ID.ID)
			}
			ids[s.ID.ID] = true
		}
	}
	if got, want := len(topics), 3*3; got != want {
		t.Errorf("%d topics, want %d", got, want)
	}
}

func TestSegmentsAreTheSameEachTime(t *testing.T) {
	first, again := slices.Collect(bench.Segments(1, 3, 20)), slices.Collect(bench.Segments(1, 3, 20))
	if !slices.EqualFunc(first, again, api.RemoteLogSegmentMetadata.Equal) {
		t.Error("other segments the second time")
	}
}

func TestQuerySegmentsHaveOneEpochAndMany(t *testing.T) {
	const segments = 250
	count := map[api.TopicIdPartition]map[int32]int{}
	for s := range bench.QuerySegments(5, segments) {
		tip := s.ID.TopicIdPartition
		if count[tip] == nil {
			count[tip] = map[int32]int{}
		}
		count[tip][s.LeaderEpochs.At(0).LeaderEpoch]++
	}
	want := map[api.TopicIdPartition]map[int32]int{
		bench.TopicIdPartition(5, 0): {0: segments},
		bench.TopicIdPartition(5, 1): {0: 100, 1: 100, 2: 50},
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("segments by epoch (-want +got):\n%s", diff)
	}
}

// Every event of a workload must be one that the fleet accepts, on its own partition.
func TestEventsAreAccepted(t *testing.T) {
	rows, n := map[string]*codec.Row{}, 0
	for e, err := range bench.Finished(bench.Segments(2, 7, 50)) {
		if err != nil {
			t.Fatal(err)
		}
		event := decode(t, e)
		key := codec.EventKey(event)
		row, outcome := fold.Fold(rows[key], event, int64(n))
		if outcome.Rejected() {
			t.Fatalf("event %d: %s", n, outcome)
		}
		rows[key] = row
		n++
	}
	if n != 100 || len(rows) != 50 {
		t.Errorf("%d events of %d segments, want 100 of 50", n, len(rows))
	}
	for key, row := range rows {
		if row.Segment.State != api.CopySegmentFinished {
			t.Errorf("%s is %s", key, row.Segment.State)
		}
	}
}

func TestAddedLeavesSegmentsUnfinished(t *testing.T) {
	n := 0
	for e, err := range bench.Added(bench.Segments(2, 7, 50)) {
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := decode(t, e).(api.RemoteLogSegmentMetadata); !ok || s.State != api.CopySegmentStarted {
			t.Errorf("event %d isn't an add: %v", n, s)
		}
		n++
	}
	if n != 50 {
		t.Errorf("%d events, want 50", n)
	}
}

func decode(t *testing.T, e recording.Event) api.RemoteLogMetadata {
	t.Helper()
	event, err := codec.DecodeRecord(e.Value)
	if err != nil {
		t.Fatal(err)
	}
	if want := codec.MetadataPartition(event.Partition(), bench.MetadataPartitions); e.Partition != want {
		t.Errorf("on partition %d, want %d", e.Partition, want)
	}
	return event
}
