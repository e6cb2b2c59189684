package fold_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/processor/fold"
)

var (
	tip = api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 1), Topic: "orders", Partition: 3}
	id  = api.RemoteLogSegmentID{TopicIdPartition: tip, ID: api.UUIDFromBits(2, 2)}
)

const at = 50 // the offset of the event under test

// segment is what the tests add: epoch 1 begins inside it, epoch 2 is empty in it.
func segment(state api.RemoteLogSegmentState) api.RemoteLogSegmentMetadata {
	return api.RemoteLogSegmentMetadata{
		ID: id, StartOffset: 100, EndOffset: 199, MaxTimestampMs: 7, BrokerID: 1, EventTimestampMs: 10,
		SegmentSizeInBytes: 1000, State: state, CustomMetadata: api.NewCustomMetadata([]byte("old")),
		LeaderEpochs: epochs(0, 100, 1, 150, 2, 200),
	}
}

func epochs(pairs ...int64) api.LeaderEpochs {
	var entries []api.EpochOffset
	for i := 0; i < len(pairs); i += 2 {
		entries = append(entries, api.EpochOffset{LeaderEpoch: int32(pairs[i]), Offset: pairs[i+1]})
	}
	return api.NewLeaderEpochs(entries...)
}

func live(state api.RemoteLogSegmentState, finished int64) *codec.Row {
	return &codec.Row{Kind: codec.RowSegment, Offset: 20, FinishedOffset: finished, Segment: segment(state)}
}

func bodiless(kind codec.RowKind, state api.RemoteLogSegmentState, finished int64, highest api.LeaderEpochs) *codec.Row {
	return &codec.Row{
		Kind: kind, Offset: 20, FinishedOffset: finished, Highest: highest,
		Segment: api.RemoteLogSegmentMetadata{ID: id, State: state, BrokerID: 1, EventTimestampMs: 10},
	}
}

func partition(state api.RemotePartitionDeleteState) *codec.Row {
	return &codec.Row{Kind: codec.RowPartition, Offset: 20, Delete: deletion(state, 1, 10)}
}

func deletion(state api.RemotePartitionDeleteState, broker int32, timestamp int64) api.RemotePartitionDeleteMetadata {
	return api.RemotePartitionDeleteMetadata{TopicIdPartition: tip, State: state, EventTimestampMs: timestamp, BrokerID: broker}
}

func update(state api.RemoteLogSegmentState) api.RemoteLogSegmentMetadataUpdate {
	return api.RemoteLogSegmentMetadataUpdate{ID: id, State: state, BrokerID: 2, EventTimestampMs: 11}
}

// changed is row after an accepted update without custom metadata.
func changed(row *codec.Row, state api.RemoteLogSegmentState, finished int64) *codec.Row {
	next := *row
	next.Offset, next.FinishedOffset = at, finished
	next.Segment.State, next.Segment.BrokerID, next.Segment.EventTimestampMs = state, 2, 11
	return &next
}

// TestTransitions is the whole table of DESIGN: each kind of row by each event.
func TestTransitions(t *testing.T) {
	var (
		headless = bodiless(codec.RowHeadless, api.DeleteSegmentStarted, 0, api.LeaderEpochs{})
		marker   = bodiless(codec.RowMarker, api.DeleteSegmentFinished, 5, epochs(0, 149))
		started  = live(api.CopySegmentStarted, -1)
		finished = live(api.CopySegmentFinished, 15)
		aborted  = live(api.DeleteSegmentStarted, -1)
		deleting = live(api.DeleteSegmentStarted, 15)

		added = &codec.Row{Kind: codec.RowSegment, Offset: at, FinishedOffset: -1, Segment: segment(api.CopySegmentStarted)}
		again = &codec.Row{Kind: codec.RowSegment, Offset: at, FinishedOffset: -1, Segment: segment(api.CopySegmentStarted), Highest: epochs(0, 149)}

		newHeadless = changed(headless, api.DeleteSegmentStarted, 0)
	)
	type want struct {
		next    *codec.Row
		outcome codec.Outcome
	}
	applied := func(next *codec.Row) want { return want{next, codec.OutcomeApplied} }
	unknown := func(next *codec.Row) want { return want{next, codec.OutcomeSegmentNotFound} }
	invalid := func(next *codec.Row) want { return want{next, codec.OutcomeInvalidSegmentTransition} }
	refused := func(next *codec.Row) want { return want{next, codec.OutcomeInvalidAdd} }
	ended := func(row *codec.Row, highest api.LeaderEpochs) want {
		next := bodiless(codec.RowMarker, api.DeleteSegmentFinished, row.FinishedOffset, highest)
		return applied(changed(next, api.DeleteSegmentFinished, row.FinishedOffset))
	}
	events := []api.RemoteLogMetadata{
		segment(api.CopySegmentStarted), segment(api.CopySegmentFinished),
		update(api.CopySegmentStarted), update(api.CopySegmentFinished),
		update(api.DeleteSegmentStarted), update(api.DeleteSegmentFinished),
	}
	cases := []struct {
		name string
		row  *codec.Row
		want [6]want // by event
	}{
		{"none", nil, [6]want{applied(added), refused(nil), unknown(nil), unknown(nil), unknown(newHeadless), unknown(nil)}},
		{"headless", headless, [6]want{applied(added), refused(headless), unknown(headless), unknown(headless), unknown(newHeadless), unknown(nil)}},
		{"marker", marker, [6]want{applied(again), refused(marker), unknown(marker), unknown(marker), unknown(marker), unknown(marker)}},
		{"copy started", started, [6]want{
			refused(started), refused(started), invalid(started), applied(changed(started, api.CopySegmentFinished, at)),
			applied(changed(started, api.DeleteSegmentStarted, -1)), invalid(started),
		}},
		{"copy finished", finished, [6]want{
			refused(finished), refused(finished), invalid(finished), applied(changed(finished, api.CopySegmentFinished, 15)),
			applied(changed(finished, api.DeleteSegmentStarted, 15)), invalid(finished),
		}},
		{"delete started, never finished", aborted, [6]want{
			refused(aborted), refused(aborted), invalid(aborted), invalid(aborted),
			applied(changed(aborted, api.DeleteSegmentStarted, -1)), ended(aborted, api.LeaderEpochs{}),
		}},
		{"delete started", deleting, [6]want{
			refused(deleting), refused(deleting), invalid(deleting), invalid(deleting),
			applied(changed(deleting, api.DeleteSegmentStarted, 15)), ended(deleting, epochs(0, 149, 1, 199, 2, 199)),
		}},
	}
	for _, c := range cases {
		for i, event := range events {
			next, outcome := fold.Fold(c.row, event, at)
			if diff := cmp.Diff(c.want[i], want{next, outcome}, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s, event %d %T: (-want +got)\n%s", c.name, i, event, diff)
			}
		}
	}
}

func TestPartitionDelete(t *testing.T) {
	rows := []*codec.Row{nil, partition(api.DeletePartitionMarked), partition(api.DeletePartitionStarted), partition(api.DeletePartitionFinished)}
	for from, row := range rows {
		for to := api.DeletePartitionMarked; to <= api.DeletePartitionFinished; to++ {
			want, outcome := row, codec.OutcomeInvalidPartitionDeleteTransition
			if int(to) == from || int(to) == from-1 {
				want, outcome = &codec.Row{Kind: codec.RowPartition, Offset: at, Delete: deletion(to, 2, 11)}, codec.OutcomeApplied
			}
			next, got := fold.Fold(row, deletion(to, 2, 11), at)
			if diff := cmp.Diff(want, next); diff != "" || got != outcome {
				t.Errorf("from %d to %s: %s, want %s\n%s", from-1, to, got, outcome, diff)
			}
		}
	}
}

func TestUpdateKeepsCustomMetadataUnlessGiven(t *testing.T) {
	for _, given := range []api.CustomMetadata{{}, api.NewCustomMetadata(nil), api.NewCustomMetadata([]byte("new"))} {
		u := update(api.CopySegmentFinished)
		u.CustomMetadata = given
		want := given
		if !given.Present() {
			want = api.NewCustomMetadata([]byte("old"))
		}
		next, _ := fold.Fold(live(api.CopySegmentStarted, -1), u, at)
		if next.Segment.CustomMetadata != want {
			t.Errorf("custom metadata %v gives %v, want %v", given, next.Segment.CustomMetadata, want)
		}
	}
}

// A segment id that lives twice never loses what its first life had reached.
func TestHighestOfSeveralLives(t *testing.T) {
	second := live(api.DeleteSegmentStarted, 30)
	second.Segment.LeaderEpochs = epochs(1, 100, 4, 120)
	second.Highest = epochs(0, 500, 1, 900, 4, 1)
	next, _ := fold.Fold(second, update(api.DeleteSegmentFinished), at)
	if want := epochs(0, 500, 1, 900, 4, 199); !next.Highest.Equal(want) {
		t.Errorf("highest is %s, want %s", next.Highest, want)
	}
}

func TestUnknownEventPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	fold.Fold(nil, nil, at)
}
