package check_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/views/check"
	"github.com/tieredlog/rlmm/views/index"
)

// What lies between the ranges that are held is the gaps that the checker finds.
func TestBetweenWhatIsHeldAreTheGaps(t *testing.T) {
	tip := api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 1), Topic: "orders"}
	rapid.Check(t, func(t *rapid.T) {
		rows, built := map[string]string{}, index.New()
		for n := range rapid.IntRange(0, 8).Draw(t, "segments") {
			start := rapid.Int64Range(0, 60).Draw(t, "start")
			epoch := rapid.Int32Range(0, 2).Draw(t, "epoch")
			row := codec.Row{Kind: codec.RowSegment, Offset: 9, FinishedOffset: int64(n), Segment: api.RemoteLogSegmentMetadata{
				ID:          api.RemoteLogSegmentID{TopicIdPartition: tip, ID: api.UUIDFromBits(2, uint64(n)+1)},
				StartOffset: start, EndOffset: start + rapid.Int64Range(0, 12).Draw(t, "length"), State: api.CopySegmentFinished,
				LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: epoch, Offset: start}, api.EpochOffset{LeaderEpoch: epoch + 1, Offset: start + 3}),
			}}
			built.Put(nil, &row)
			rows[codec.SegmentKey(row.Segment.ID)] = string(codec.EncodeRow(row))
		}
		report, err := check.Rows(check.InOrder(rows), check.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var want, got []check.Span
		for _, f := range report.Findings {
			if f.Kind == check.Gap {
				want = append(want, *f.Span)
			}
		}
		s := built.Snapshot()
		for _, epoch := range s.Epochs() {
			got = append(got, check.Between(check.Held(s.ListRemoteLogSegmentsByEpoch(epoch).All, epoch))...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-checker +held:\n%s", diff)
		}
	})
}
