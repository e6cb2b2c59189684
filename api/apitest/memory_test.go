package apitest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/apitest"
)

var (
	tip = api.TopicIdPartition{TopicID: api.UUIDFromBits(0x1111111111114111, 0x8111111111111111), Topic: "orders"}
	// Kafka's partitioner sends tip there, of 50.
	metadataPartition = int32(38)
)

func segment(n uint64) api.RemoteLogSegmentMetadata {
	return api.RemoteLogSegmentMetadata{
		ID:        api.RemoteLogSegmentID{TopicIdPartition: tip, ID: api.UUIDFromBits(1, n)},
		EndOffset: 99, LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{}),
	}
}

func deletion() api.RemotePartitionDeleteMetadata {
	return api.RemotePartitionDeleteMetadata{TopicIdPartition: tip, State: api.DeletePartitionMarked}
}

// calls makes every call and returns its error; those of mutations must not be published.
func calls(t *testing.T, m *apitest.Manager) (reads, mutations []error) {
	t.Helper()
	ctx := t.Context()
	_, _, get := m.RemoteLogSegmentMetadata(ctx, tip, 0, 5)
	_, _, next := m.NextSegmentWithTxnIndex(ctx, tip, 0, 5)
	_, _, highest := m.HighestOffsetForEpoch(ctx, tip, 0)
	_, all := m.ListRemoteLogSegments(ctx, tip)
	_, byEpoch := m.ListRemoteLogSegmentsByEpoch(ctx, tip, 0)
	_, size := m.RemoteLogSize(ctx, tip, 0)
	at1, add := m.AddRemoteLogSegmentMetadata(ctx, segment(7))
	at2, update := m.UpdateRemoteLogSegmentMetadata(ctx, api.RemoteLogSegmentMetadataUpdate{ID: segment(1).ID, State: api.CopySegmentFinished})
	at3, del := m.PutRemotePartitionDeleteMetadata(ctx, deletion())
	for _, at := range []api.Position{at1, at2, at3} {
		if at != api.NotPublished {
			t.Errorf("published at %s", at)
		}
	}
	return []error{get, next, highest, all, byEpoch, size}, []error{add, update, del}
}

// withOne is a manager with one segment, in its one accepted event.
func withOne(t *testing.T, opts ...apitest.Option) *apitest.Manager {
	t.Helper()
	m := apitest.NewManager(opts...)
	at, err := m.AddRemoteLogSegmentMetadata(t.Context(), segment(1))
	if err != nil || at.Offset != 0 {
		t.Fatalf("at %s, %v", at, err)
	}
	return m
}

func isOne(t *testing.T, m *apitest.Manager) {
	t.Helper()
	all, err := m.ListRemoteLogSegments(t.Context(), tip)
	if err != nil || len(all) != 1 || !all[0].Equal(segment(1)) {
		t.Errorf("got %+v, %v", all, err)
	}
}

func areAll(t *testing.T, got []error, want error) {
	t.Helper()
	for i, err := range got {
		if diff := cmp.Diff(want, err, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("call %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestNotReady(t *testing.T) {
	m := withOne(t)
	m.SetReady(false)
	reads, mutations := calls(t, m)
	for _, err := range append(reads, mutations...) {
		want := &api.NotReadyError{MetadataPartition: metadataPartition, Assigned: true, Applied: 0, Target: -1}
		if e, ok := errors.AsType[*api.NotReadyError](err); !ok || *e != *want || errors.Is(err, api.ErrNotAssigned) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if yes, err := m.CaughtUp(t.Context(), tip); yes || !errors.Is(err, api.ErrNotReady) || m.IsReady(t.Context(), tip) {
		t.Errorf("caught up: %t, %v", yes, err)
	}
	m.SetReady(true)
	isOne(t, m)
}

func TestNotAssigned(t *testing.T) {
	m := withOne(t)
	m.SetAssigned([]int32{0, 1})
	reads, mutations := calls(t, m)
	for _, err := range append(reads, mutations...) {
		want := &api.NotReadyError{MetadataPartition: metadataPartition, Applied: -1, Target: -1}
		if e, ok := errors.AsType[*api.NotReadyError](err); !ok || *e != *want || !errors.Is(err, api.ErrNotAssigned) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if yes, err := m.CaughtUp(t.Context(), tip); yes || err != nil || m.IsReady(t.Context(), tip) {
		t.Errorf("caught up: %t, %v", yes, err)
	}
	m.SetAssigned([]int32{metadataPartition})
	isOne(t, m)
}

func TestFail(t *testing.T) {
	m := withOne(t)
	cause := errors.New("disk full")
	m.Fail(cause)
	reads, mutations := calls(t, m)
	areAll(t, append(reads, mutations...), api.ErrIO)
	areAll(t, append(reads, mutations...), cause)
	if yes, err := m.CaughtUp(t.Context(), tip); yes || !errors.Is(err, cause) || m.IsReady(t.Context(), tip) {
		t.Errorf("caught up: %t, %v", yes, err)
	}
	m.Fail(nil)
	isOne(t, m)
}

// A mutation whose answer is lost is applied, and its retry says so.
func TestLoseAnswers(t *testing.T) {
	m := apitest.NewManager()
	cause := errors.New("connection reset")
	m.LoseAnswers(cause)
	at, err := m.AddRemoteLogSegmentMetadata(t.Context(), segment(1))
	if at != api.NotPublished || !errors.Is(err, api.ErrUnacknowledged) || !errors.Is(err, cause) || errors.Is(err, api.ErrIO) {
		t.Errorf("at %s, %v", at, err)
	}
	isOne(t, m)
	m.LoseAnswers(nil)
	_, err = m.AddRemoteLogSegmentMetadata(t.Context(), segment(1))
	if e, ok := errors.AsType[*api.InvalidAddError](err); !ok || !e.AlreadyAdded(segment(1)) {
		t.Errorf("the retry: %v", err)
	}
	if at, err = m.PutRemotePartitionDeleteMetadata(t.Context(), deletion()); err != nil || at.Offset != 1 {
		t.Errorf("the next is at %s, %v", at, err)
	}
}

func TestClose(t *testing.T) {
	m := withOne(t)
	m.Close()
	m.Close()
	reads, mutations := calls(t, m)
	areAll(t, reads, nil)
	areAll(t, mutations, api.ErrClosed)
	isOne(t, m)
}

func TestPositionsAreKafkas(t *testing.T) {
	for partitions, want := range map[int32]int32{1: 0, 50: metadataPartition} {
		m := withOne(t, apitest.WithMetadataPartitions(partitions))
		refused, err := m.AddRemoteLogSegmentMetadata(t.Context(), segment(1))
		if err == nil || refused != api.NotPublished {
			t.Errorf("a refused event is at %s, %v", refused, err)
		}
		got, err := m.PutRemotePartitionDeleteMetadata(t.Context(), deletion())
		if err != nil || got != (api.Position{MetadataPartition: want, Offset: 1}) {
			t.Errorf("of %d partitions: %s, %v, want %d/1", partitions, got, err, want)
		}
	}
}

func TestUnknownTopicNameIsNeeded(t *testing.T) {
	s := segment(1)
	s.ID.TopicIdPartition.Topic = ""
	_, err := apitest.NewManager().AddRemoteLogSegmentMetadata(context.Background(), s)
	if !errors.Is(err, api.ErrInvalidArgument) {
		t.Errorf("got %v", err)
	}
}
