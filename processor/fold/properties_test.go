package fold_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/processor/fold"
)

// anyEvent draws an event for the one segment, or for its partition.
func anyEvent(t *rapid.T, forPartition bool) api.RemoteLogMetadata {
	custom := rapid.SampledFrom([]api.CustomMetadata{{}, api.NewCustomMetadata(nil), api.NewCustomMetadata([]byte{1})}).Draw(t, "custom")
	broker, timestamp := rapid.Int32Range(0, 3).Draw(t, "broker"), rapid.Int64Range(0, 99).Draw(t, "time")
	if forPartition {
		return deletion(api.RemotePartitionDeleteState(rapid.Int8Range(0, 2).Draw(t, "state")), broker, timestamp)
	}
	state := api.RemoteLogSegmentState(rapid.Int8Range(0, 3).Draw(t, "state"))
	if rapid.IntRange(0, 3).Draw(t, "add") > 0 {
		return api.RemoteLogSegmentMetadataUpdate{ID: id, State: state, BrokerID: broker, EventTimestampMs: timestamp, CustomMetadata: custom}
	}
	start := rapid.Int64Range(0, 50).Draw(t, "start")
	return api.RemoteLogSegmentMetadata{
		ID: id, StartOffset: start, EndOffset: start + rapid.Int64Range(0, 20).Draw(t, "length"), State: state,
		BrokerID: broker, EventTimestampMs: timestamp, CustomMetadata: custom,
		LeaderEpochs: epochs(rapid.Int64Range(0, 2).Draw(t, "first epoch"), start, rapid.Int64Range(2, 4).Draw(t, "last epoch"), start+5),
	}
}

// TestFoldProperties folds random logs of one key and checks what holds at each step.
func TestFoldProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		forPartition := rapid.Bool().Draw(t, "partition")
		var row *codec.Row
		var log []api.RemoteLogMetadata
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			event := anyEvent(t, forPartition)
			row = step(t, row, event, int64(len(log)))
			log = append(log, event)
		}
		if diff := cmp.Diff(row, replay(log)); diff != "" {
			t.Fatalf("replay differs: %s", diff)
		}
	})
}

func step(t *rapid.T, row *codec.Row, event api.RemoteLogMetadata, offset int64) *codec.Row {
	var before codec.Row
	if row != nil {
		before = *row
	}
	next, outcome := fold.Fold(row, event, offset)
	if row != nil {
		if diff := cmp.Diff(before, *row); diff != "" {
			t.Fatalf("the given row was modified: %s", diff)
		}
	}
	checkStep(t, row, next, outcome, offset)
	return next
}

func checkStep(t *rapid.T, row, next *codec.Row, outcome codec.Outcome, offset int64) {
	aside := row == nil || row.Kind == codec.RowHeadless // where only headless rows come and go
	switch {
	case outcome == codec.OutcomeApplied:
		if next == nil || next.Offset != offset {
			t.Fatalf("applied at %d, the row is %+v", offset, next)
		}
	case outcome == codec.OutcomeSegmentNotFound && aside:
		if next != nil && next.Kind != codec.RowHeadless {
			t.Fatalf("not found, yet the row is %+v", next)
		}
	case next != row:
		t.Fatalf("%s changed the row to %+v", outcome, next)
	}
	if row != nil && next != nil && highestShrank(row, next) {
		t.Fatalf("highest went down from %s to %s", row.Highest, next.Highest)
	}
}

func highestShrank(row, next *codec.Row) bool {
	for epoch, offset := range row.Highest.All() {
		if i, ok := next.Highest.Find(epoch); !ok || next.Highest.At(i).Offset < offset {
			return true
		}
	}
	return false
}

func replay(log []api.RemoteLogMetadata) (row *codec.Row) {
	for offset, event := range log {
		row, _ = fold.Fold(row, event, int64(offset))
	}
	return row
}
