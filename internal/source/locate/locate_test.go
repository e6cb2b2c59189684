package locate

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/source"
)

var tip = api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 1), Topic: "orders"}

func segment(n int, state api.RemoteLogSegmentState, start, end int64, epochs ...api.EpochOffset) codec.Row {
	return codec.Row{Kind: codec.RowSegment, Offset: int64(n), FinishedOffset: int64(n), Segment: api.RemoteLogSegmentMetadata{
		ID:          api.RemoteLogSegmentID{TopicIdPartition: tip, ID: api.UUIDFromBits(2, uint64(n))},
		StartOffset: start, EndOffset: end, MaxTimestampMs: end * 10, State: state, LeaderEpochs: api.NewLeaderEpochs(epochs...),
	}}
}

func at(epoch int32, offset int64) api.EpochOffset {
	return api.EpochOffset{LeaderEpoch: epoch, Offset: offset}
}

// Each reason has its case, and each says what an operator needs to know.
func TestReasons(t *testing.T) {
	finished := []codec.Row{
		segment(1, api.CopySegmentFinished, 10, 19, at(0, 10), at(1, 15)),
		segment(2, api.CopySegmentFinished, 30, 39, at(1, 30)),
		segment(3, api.CopySegmentStarted, 40, 49, at(1, 40)),
		segment(4, api.DeleteSegmentStarted, 0, 9, at(0, 0)),
	}
	marker := codec.Row{Kind: codec.RowMarker, FinishedOffset: 1, Segment: api.RemoteLogSegmentMetadata{ID: finished[0].Segment.ID, State: api.DeleteSegmentFinished}}
	ended := codec.Row{Kind: codec.RowPartition, Delete: api.RemotePartitionDeleteMetadata{TopicIdPartition: tip, State: api.DeletePartitionFinished}}
	for _, c := range []struct {
		rows  []codec.Row
		query Query
		want  Reason
		says  string
	}{
		{nil, Query{}, ReasonNoPartition, "no event"},
		{append(slices.Clone(finished), ended), Query{Offset: 12}, ReasonPartitionDeleted, "deletion"},
		{[]codec.Row{marker}, Query{Offset: 12}, ReasonOnlyDeleted, "deleted"},
		{finished[2:], Query{Offset: 12}, ReasonNoneFinished, "no finished"},
		{finished, Query{Offset: 45}, ReasonState, "COPY_SEGMENT_STARTED"},
		{finished, Query{Offset: 5}, ReasonState, "DELETE_SEGMENT_STARTED"},
		{finished, Query{Offset: 45, Epoch: new(int32(0))}, ReasonAfterLast, "14"},
		{finished, Query{Offset: 5, Epoch: new(int32(1))}, ReasonBeforeFirst, "15"},
		{finished, Query{Offset: 25}, ReasonGap, "19 and 30"},
		{finished, Query{Offset: 60}, ReasonAfterLast, "39"},
		{finished, Query{Offset: 16, Epoch: new(int32(0))}, ReasonOtherEpoch, "epoch 1"},
		{finished, Query{Offset: 60, Epoch: new(int32(7))}, ReasonNoEpoch, "epoch 7"},
		{[]codec.Row{segment(1, api.CopySegmentFinished, 10, 19, at(0, 10), at(1, 10))}, Query{Offset: 60, Epoch: new(int32(0))}, ReasonNoEpoch, "no finished segment has"},
		{finished, Query{TimestampMs: new(int64(391))}, ReasonNoneSoLate, "391"},
	} {
		got := Find(source.Partition{TopicIdPartition: tip, Rows: c.rows}, c.query)
		if len(got) != 1 || got[0].Segment != nil || got[0].Reason != c.want || !strings.Contains(got[0].Message, c.says) {
			t.Errorf("offset %d: %+v, want %s and %q", c.query.Offset, got, c.want, c.says)
		}
	}
}

// A time is looked for in the lineage of the highest epoch alone.
func TestATimeIsOfTheLastLineage(t *testing.T) {
	rows := []codec.Row{
		segment(1, api.CopySegmentFinished, 0, 9, at(0, 0)),
		segment(2, api.CopySegmentFinished, 10, 99, at(1, 10)), // a leader that lost
		segment(3, api.CopySegmentFinished, 10, 19, at(2, 10)),
		segment(4, api.CopySegmentFinished, 20, 29, at(2, 20)),
	}
	for timestamp, want := range map[int64]int64{0: 0, 90: 0, 91: 10, 190: 10, 191: 20} {
		got := Find(source.Partition{Rows: rows}, Query{TimestampMs: &timestamp})
		if len(got) != 1 || got[0].Segment == nil || got[0].Segment.StartOffset != want || got[0].Segment.ID.ID == rows[1].Segment.ID.ID {
			t.Errorf("%d ms: %+v, want the segment that starts at %d", timestamp, got, want)
		}
	}
}

// A segment is found for an epoch just when a finished one holds the offset for it.
func TestFindIsAScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []codec.Row
		for n := range rapid.IntRange(1, 8).Draw(t, "segments") {
			start := rapid.Int64Range(0, 30).Draw(t, "start")
			epoch := rapid.Int32Range(0, 3).Draw(t, "epoch")
			state := api.RemoteLogSegmentState(rapid.IntRange(0, 2).Draw(t, "state"))
			rows = append(rows, segment(n, state, start, start+rapid.Int64Range(0, 9).Draw(t, "length"), at(epoch, start), at(epoch+1, start+2)))
		}
		offset := rapid.Int64Range(0, 45).Draw(t, "offset")
		var want []int32
		for epoch := range int32(5) {
			if slices.ContainsFunc(rows, func(r codec.Row) bool {
				first, last, ok := r.Segment.EpochRange(epoch)
				return ok && r.Segment.State == api.CopySegmentFinished && first <= offset && offset <= last
			}) {
				want = append(want, epoch)
			}
		}
		slices.SortFunc(want, func(a, b int32) int { return cmp.Compare(b, a) })
		var got []int32
		for _, a := range Find(source.Partition{Rows: rows}, Query{Offset: offset}) {
			if a.Segment != nil {
				got = append(got, *a.Epoch)
			} else if a.Reason == "" || a.Message == "" {
				t.Fatalf("neither a segment nor a reason: %+v", a)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("offset %d: epochs %v, want %v", offset, got, want)
		}
	})
}
