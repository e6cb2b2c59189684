//go:build integration

package integration_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/integration/kafkatest"
)

// compare checks that the manager, in the mode highest.offset.bounds=epoch, answers as
// Kafka's own manager did. Only two answers may differ: the next segment with a
// transaction index where Kafka found none (it stops at a gap), and the size of an
// epoch where segments are unfinished (Kafka counts those too).
func compare(t *testing.T, m api.RemoteLogMetadataManager, states []kafkatest.State) {
	t.Helper()
	for _, state := range states {
		tip := api.TopicIdPartition{TopicID: state.TopicID, Topic: state.Topic, Partition: state.Partition}
		compareLists(t, m, tip, state)
		for _, epoch := range state.Epochs {
			compareEpoch(t, m, tip, epoch)
		}
		for _, q := range state.Queries {
			compareQuery(t, m, tip, q)
		}
	}
}

func compareLists(t *testing.T, m api.RemoteLogMetadataManager, tip api.TopicIdPartition, state kafkatest.State) {
	t.Helper()
	list, err := m.ListRemoteLogSegments(t.Context(), tip)
	if err != nil {
		t.Fatal(err)
	}
	got := []kafkatest.Metadata{}
	for _, s := range list {
		got = append(got, kafkatest.MetadataOf(s))
	}
	if diff := cmp.Diff(append([]kafkatest.Metadata{}, state.Segments...), got); diff != "" {
		t.Errorf("%s: segments, Kafka's -, ours +:\n%s", tip, diff)
	}
}

func compareEpoch(t *testing.T, m api.RemoteLogMetadataManager, tip api.TopicIdPartition, want kafkatest.EpochState) {
	t.Helper()
	list, err := m.ListRemoteLogSegmentsByEpoch(t.Context(), tip, want.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	var ids []api.UUID
	var finished int64
	for _, s := range list {
		ids = append(ids, s.ID.ID)
		if s.State == api.CopySegmentFinished {
			finished += int64(s.SegmentSizeInBytes)
		}
	}
	if !sameSet(ids, want.List) {
		t.Errorf("%s epoch %d: list %v, Kafka's %v", tip, want.Epoch, ids, want.List)
	}
	highest, ok, err := m.HighestOffsetForEpoch(t.Context(), tip, want.Epoch)
	if err != nil || ok != (want.Highest != nil) || ok && highest != *want.Highest {
		t.Errorf("%s epoch %d: highest %d %t %v, Kafka's %v", tip, want.Epoch, highest, ok, err, want.Highest)
	}
	size, err := m.RemoteLogSize(t.Context(), tip, want.Epoch)
	if err != nil || size != finished || size > want.RemoteLogSize {
		t.Errorf("%s epoch %d: size %d %v, finished segments %d, Kafka's %d", tip, want.Epoch, size, err, finished, want.RemoteLogSize)
	}
}

func compareQuery(t *testing.T, m api.RemoteLogMetadataManager, tip api.TopicIdPartition, q kafkatest.Query) {
	t.Helper()
	segment, _, err := m.RemoteLogSegmentMetadata(t.Context(), tip, q.Epoch, q.Offset)
	if err != nil || segment.ID.ID != q.Segment {
		t.Errorf("%s epoch %d offset %d: segment %s %v, Kafka's %s", tip, q.Epoch, q.Offset, segment.ID.ID, err, q.Segment)
	}
	next, ok, err := m.NextSegmentWithTxnIndex(t.Context(), tip, q.Epoch, q.Offset)
	if err != nil || next.ID.ID != q.NextTxn && !q.NextTxn.IsZero() {
		t.Errorf("%s epoch %d offset %d: next with transactions %s %v, Kafka's %s", tip, q.Epoch, q.Offset, next.ID.ID, err, q.NextTxn)
	}
	if ok && q.NextTxn.IsZero() && (next.TxnIndexEmpty || next.EndOffset < q.Offset) {
		t.Errorf("%s epoch %d offset %d: next with transactions %s, which can't be", tip, q.Epoch, q.Offset, next.ID.ID)
	}
}

// sameSet compares without order: Kafka lists the segments of an epoch in the order of
// its maps where they overlap.
func sameSet(a, b []api.UUID) bool {
	order := func(ids []api.UUID) []api.UUID { return slices.SortedFunc(slices.Values(ids), api.UUID.Compare) }
	return slices.Equal(order(a), order(b))
}
