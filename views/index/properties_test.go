package index_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/views/index"
)

const (
	someOffsets = 40 // the logs drawn here have offsets below this
	someEpochs  = 4
)

// TestAgainstModel drives random logs, valid and not, through fold and index, and
// compares every query with the model after every event. At the end it compares an index
// that was rebuilt from the rows, one that missed some of the rows in between, as after a
// compaction, and the index itself after it has read the table again from an earlier
// offset.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, model, compacted := newTable(), newModel(), newFollowed()
		var read []func(followed) // the table's records, to be read again
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			event := drawEvent(t)
			if got, want := table.apply(event), model.apply(event); got != want {
				t.Fatalf("%+v is %s, want %s", event, got, want)
			}
			compare(t, model, table.index.Snapshot())
			read = append(read, table.record(keyOf(event)))
			if rapid.Bool().Draw(t, "kept by compaction") {
				table.show(keyOf(event), compacted)
			}
		}
		for key := range table.rows {
			table.show(key, compacted)
		}
		compare(t, model, compacted.Snapshot())
		compare(t, model, table.rebuilt().Snapshot())
		for _, again := range read[rapid.IntRange(0, len(read)).Draw(t, "read again from"):] {
			again(table.index)
		}
		compare(t, model, table.index.Snapshot())
	})
}

func drawEvent(t *rapid.T) api.RemoteLogMetadata {
	id := segmentID(rapid.Uint64Range(1, 7).Draw(t, "id"))
	switch kind := rapid.IntRange(0, 20).Draw(t, "kind"); {
	case kind == 0:
		return api.RemotePartitionDeleteMetadata{
			TopicIdPartition: tip, State: api.RemotePartitionDeleteState(rapid.Int8Range(0, 2).Draw(t, "state")),
		}
	case kind <= 7:
		return drawSegment(t, id)
	}
	return api.RemoteLogSegmentMetadataUpdate{
		ID: id, State: api.RemoteLogSegmentState(rapid.Int8Range(0, 3).Draw(t, "state")),
		BrokerID: rapid.Int32Range(0, 2).Draw(t, "broker"), EventTimestampMs: rapid.Int64Range(0, 9).Draw(t, "time"),
		CustomMetadata: rapid.SampledFrom([]api.CustomMetadata{{}, api.NewCustomMetadata(nil), api.NewCustomMetadata([]byte{7})}).Draw(t, "custom"),
	}
}

// drawSegment draws epochs in any shape: empty ones, ones that begin before or after
// the segment, ones out of order.
func drawSegment(t *rapid.T, id api.RemoteLogSegmentID) api.RemoteLogSegmentMetadata {
	start := rapid.Int64Range(0, someOffsets-10).Draw(t, "start")
	m := api.RemoteLogSegmentMetadata{
		ID: id, StartOffset: start, EndOffset: start + rapid.Int64Range(0, 9).Draw(t, "length"),
		SegmentSizeInBytes: rapid.Int32Range(0, 100).Draw(t, "size"), TxnIndexEmpty: rapid.Bool().Draw(t, "txn index empty"),
		LeaderEpochs: epochsOf(map[int32]int64{rapid.Int32Range(0, someEpochs-1).Draw(t, "epoch"): start}),
	}
	if rapid.IntRange(0, 2).Draw(t, "several epochs") == 0 {
		near := rapid.Int64Range(max(0, start-2), m.EndOffset+2)
		m.LeaderEpochs = epochsOf(rapid.MapOfN(rapid.Int32Range(0, someEpochs-1), near, 1, someEpochs).Draw(t, "epochs"))
	}
	if rapid.IntRange(0, 9).Draw(t, "other topic name") == 0 {
		m.ID.TopicIdPartition.Topic = "renamed"
	}
	if rapid.IntRange(0, 9).Draw(t, "bad state") == 0 {
		m.State = api.CopySegmentFinished
	}
	return m
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// compare asks both everything that there is to ask.
func compare(t failer, m *model, s *index.Snapshot) {
	t.Helper()
	everything := m.visible(func(*modelSegment) bool { return true })
	compareList(t, "list", everything, s.ListRemoteLogSegments())
	compareTotals(t, everything, s)
	for epoch := int32(-1); epoch <= someEpochs; epoch++ {
		compareList(t, "list of an epoch", m.visible(carries(epoch)), s.ListRemoteLogSegmentsByEpoch(epoch))
		compareEpoch(t, m, s, epoch)
		for offset := int64(0); offset <= someOffsets; offset++ {
			got, ok := s.RemoteLogSegmentMetadata(epoch, offset)
			compareSegment(t, "get", epoch, offset, m.get(epoch, offset), got, ok)
			got, ok = s.NextSegmentWithTxnIndex(epoch, offset)
			compareSegment(t, "next txn", epoch, offset, m.nextTxn(epoch, offset), got, ok)
		}
	}
}

func compareSegment(t failer, query string, epoch int32, offset int64, want *modelSegment, got *index.Segment, ok bool) {
	t.Helper()
	if ok != (got != nil) || ok != (want != nil) {
		t.Fatalf("%s %d/%d: got %v, want %v", query, epoch, offset, got, want)
	}
	if ok && !got.Metadata().Equal(want.RemoteLogSegmentMetadata) {
		t.Fatalf("%s %d/%d:\n got %+v\nwant %+v", query, epoch, offset, got.Metadata(), want.RemoteLogSegmentMetadata)
	}
}

func compareList(t failer, query string, want []modelSegment, got index.List) {
	t.Helper()
	list := got.Metadata()
	if len(list) != len(want) || got.Len() != len(want) {
		t.Fatalf("%s: got %d and Len %d, want %d", query, len(list), got.Len(), len(want))
	}
	for i := range want {
		if !list[i].Equal(want[i].RemoteLogSegmentMetadata) {
			t.Fatalf("%s[%d]:\n got %+v\nwant %+v", query, i, list[i], want[i])
		}
	}
}

func compareEpoch(t failer, m *model, s *index.Snapshot, epoch int32) {
	t.Helper()
	var bytes, highest int64
	finished := m.finished(epoch)
	for _, segment := range finished {
		bytes += int64(segment.SegmentSizeInBytes)
		highest = max(highest, segment.EndOffset)
	}
	if got := s.RemoteLogSize(epoch); got != bytes {
		t.Fatalf("size %d: got %d, want %d", epoch, got, bytes)
	}
	if got, ok := s.HighestOffsetForEpoch(epoch); got != highest || ok != (len(finished) > 0) {
		t.Fatalf("highest %d: got %d %v, want %d of %d segments", epoch, got, ok, highest, len(finished))
	}
	reached, known := m.reached[epoch]
	if m.deletion == api.DeletePartitionFinished {
		reached, known = 0, false
	}
	if got, ok := s.BoundedHighestOffsetForEpoch(epoch); got != reached || ok != known {
		t.Fatalf("bounded highest %d: got %d %v, want %d %v", epoch, got, ok, reached, known)
	}
}

func compareTotals(t failer, everything []modelSegment, s *index.Snapshot) {
	t.Helper()
	var want [4]index.Totals
	for _, segment := range everything {
		want[segment.State].Segments++
		want[segment.State].Bytes += int64(segment.SegmentSizeInBytes)
		if got, ok := s.Segment(segment.StartOffset, segment.ID.ID); !ok || !got.Metadata().Equal(segment.RemoteLogSegmentMetadata) {
			t.Fatalf("segment %s: got %v", segment.ID, got)
		}
	}
	for state := range want {
		if got := s.Totals(api.RemoteLogSegmentState(state)); got != want[state] {
			t.Fatalf("totals %d: got %+v, want %+v", state, got, want[state])
		}
	}
}
