package api_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/tieredlog/rlmm/api"
)

var tip = api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 2), Topic: "orders", Partition: 3}

// listing is a manager that can do nothing but list.
type listing struct {
	api.RemoteLogMetadataManager
	segments []api.RemoteLogSegmentMetadata
	err      error
}

func (l listing) ListRemoteLogSegments(context.Context, api.TopicIdPartition) ([]api.RemoteLogSegmentMetadata, error) {
	return l.segments, l.err
}

// ListRemoteLogSegmentsByEpoch takes the epoch for a number of segments.
func (l listing) ListRemoteLogSegmentsByEpoch(_ context.Context, _ api.TopicIdPartition, epoch int32) ([]api.RemoteLogSegmentMetadata, error) {
	return l.segments[:epoch], l.err
}

func segmentAt(start int64, id api.UUID) api.RemoteLogSegmentMetadata {
	return api.RemoteLogSegmentMetadata{ID: api.RemoteLogSegmentID{TopicIdPartition: tip, ID: id}, StartOffset: start}
}

// threeSegments are in order: two begin together, the first of them with an id that is
// negative to Kafka; the zero id isn't the beginning.
func threeSegments() []api.RemoteLogSegmentMetadata {
	return []api.RemoteLogSegmentMetadata{
		segmentAt(0, api.UUIDFromBits(1<<63, 0)), segmentAt(0, api.UUID{}), segmentAt(7, api.UUIDFromBits(0, 1)),
	}
}

func starts(t *testing.T, segments iter.Seq2[api.RemoteLogSegmentMetadata, error]) []int64 {
	t.Helper()
	var all []int64
	for s, err := range segments {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s.StartOffset)
	}
	return all
}

func TestIteratorOfLists(t *testing.T) {
	segments := threeSegments()
	tests := map[string]struct {
		after *api.SegmentCursor
		want  []int64
	}{
		"the beginning":        {nil, []int64{0, 0, 7}},
		"a segment":            {segments[0].Cursor(), []int64{0, 7}},
		"one with the zero id": {segments[1].Cursor(), []int64{7}},
		"one that is gone":     {&api.SegmentCursor{StartOffset: 3, ID: api.UUIDFromBits(9, 9)}, []int64{7}},
		"the last":             {segments[2].Cursor(), nil},
	}
	i := api.IteratorOf(listing{segments: segments})
	for name, test := range tests {
		if got := starts(t, i.Segments(t.Context(), tip, test.after)); !slices.Equal(got, test.want) {
			t.Errorf("after %s: got %v, want %v", name, got, test.want)
		}
	}
	if got := starts(t, i.SegmentsByEpoch(t.Context(), tip, 2, segments[0].Cursor())); !slices.Equal(got, []int64{0}) {
		t.Errorf("by epoch: got %v, want one", got)
	}
}

func TestIteratorOfListsStops(t *testing.T) {
	steps := 0
	for _, err := range api.IteratorOf(listing{segments: threeSegments()}).Segments(t.Context(), tip, nil) {
		if steps++; err != nil {
			t.Error(err)
		}
		break
	}
	if steps != 1 {
		t.Errorf("got %d steps, want 1", steps)
	}
}

func TestIteratorOfListsThatFail(t *testing.T) {
	steps := 0
	for s, err := range api.IteratorOf(listing{segments: threeSegments(), err: api.ErrIO}).Segments(t.Context(), tip, nil) {
		if steps++; !errors.Is(err, api.ErrIO) || !s.Equal(api.RemoteLogSegmentMetadata{}) {
			t.Errorf("got %v, %v, want a zero segment and the error", s, err)
		}
	}
	if steps != 1 {
		t.Errorf("got %d steps, want the error alone", steps)
	}
}

type iterating struct {
	listing
	api.SegmentIterator
}

func TestIteratorOfAnIterator(t *testing.T) {
	want := &iterating{}
	if got := api.IteratorOf(want); got != api.SegmentIterator(want) {
		t.Errorf("got %T, want the manager itself", got)
	}
}
