package apitest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/scenario"
)

// patience is how long a test may take, so that a manager that hangs is found.
const patience = time.Minute

// trial is a manager under test and a user partition that no other test has.
type trial struct {
	*testing.T
	m       api.RemoteLogMetadataManager
	ctx     context.Context
	tip     api.TopicIdPartition
	bounded bool
}

func newTrial(t *testing.T, c Config) *trial {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return &trial{T: t, m: c.New(t), ctx: ctx, tip: newTip("orders"), bounded: c.Bounded}
}

func newTip(topic string) api.TopicIdPartition {
	return api.TopicIdPartition{TopicID: api.RandomUUID(), Topic: topic, Partition: 3}
}

// at is the first offset of an epoch.
func at(epoch int32, offset int64) api.EpochOffset {
	return api.EpochOffset{LeaderEpoch: epoch, Offset: offset}
}

// segment is the n-th segment of the partition as it is added; ids go up with n. Without
// epochs it is all of epoch 0.
func (t *trial) segment(n uint64, start, end int64, epochs ...api.EpochOffset) api.RemoteLogSegmentMetadata {
	if len(epochs) == 0 {
		epochs = []api.EpochOffset{at(0, start)}
	}
	return api.RemoteLogSegmentMetadata{
		ID:          api.RemoteLogSegmentID{TopicIdPartition: t.tip, ID: api.UUIDFromBits(1, n)},
		StartOffset: start, EndOffset: end, MaxTimestampMs: 1000 + end, BrokerID: 1, EventTimestampMs: 10,
		SegmentSizeInBytes: 100, LeaderEpochs: api.NewLeaderEpochs(epochs...),
	}
}

// added adds the segment and returns it.
func (t *trial) added(s api.RemoteLogSegmentMetadata) api.RemoteLogSegmentMetadata {
	t.Helper()
	t.accepts(s)
	return s
}

// updated moves the segment on, through the states, and returns what it must be then.
func (t *trial) updated(s api.RemoteLogSegmentMetadata, states ...api.RemoteLogSegmentState) api.RemoteLogSegmentMetadata {
	t.Helper()
	for _, state := range states {
		t.accepts(update(s, state))
		s.State, s.BrokerID, s.EventTimestampMs = state, 2, 20
	}
	return s
}

func update(s api.RemoteLogSegmentMetadata, state api.RemoteLogSegmentState) api.RemoteLogSegmentMetadataUpdate {
	return api.RemoteLogSegmentMetadataUpdate{ID: s.ID, EventTimestampMs: 20, State: state, BrokerID: 2}
}

// ways are the updates that lead a new segment to a state.
var ways = map[api.RemoteLogSegmentState][]api.RemoteLogSegmentState{
	api.CopySegmentStarted:    nil,
	api.CopySegmentFinished:   {api.CopySegmentFinished},
	api.DeleteSegmentStarted:  {api.CopySegmentFinished, api.DeleteSegmentStarted},
	api.DeleteSegmentFinished: {api.CopySegmentFinished, api.DeleteSegmentStarted, api.DeleteSegmentFinished},
}

// in adds the segment and leads it to the state.
func (t *trial) in(state api.RemoteLogSegmentState, s api.RemoteLogSegmentMetadata) api.RemoteLogSegmentMetadata {
	t.Helper()
	return t.updated(t.added(s), ways[state]...)
}

func (t *trial) finished(s api.RemoteLogSegmentMetadata) api.RemoteLogSegmentMetadata {
	t.Helper()
	return t.in(api.CopySegmentFinished, s)
}

func (t *trial) deletion(state api.RemotePartitionDeleteState) api.RemotePartitionDeleteMetadata {
	return api.RemotePartitionDeleteMetadata{TopicIdPartition: t.tip, State: state, EventTimestampMs: 30, BrokerID: 3}
}

// deleted leads the partition's deletion to the state.
func (t *trial) deleted(state api.RemotePartitionDeleteState) {
	t.Helper()
	for s := api.DeletePartitionMarked; s <= state; s++ {
		t.accepts(t.deletion(s))
	}
}

// accepts publishes an event that must be accepted.
func (t *trial) accepts(event api.RemoteLogMetadata) api.Position {
	t.Helper()
	pos, err := scenario.Publish(t.ctx, t.m, event)
	if err != nil {
		t.Fatalf("%+v: %v", event, err)
	}
	return pos
}

// refuses publishes an event that must fail, with the details of want.
func (t *trial) refuses(event api.RemoteLogMetadata, want error) {
	t.Helper()
	_, err := scenario.Publish(t.ctx, t.m, event)
	if diff := diffErrors(want, err); diff != "" {
		t.Errorf("%+v: %s", event, diff)
	}
}

// diffErrors compares what kind of errors of mutations two are, and their details.
func diffErrors(want, got error) string {
	wantKind, _ := scenario.Outcome(want)
	gotKind, err := scenario.Outcome(got)
	if err != nil || gotKind != wantKind {
		return fmt.Sprintf("got %v, want %v", got, want)
	}
	if diff := cmp.Diff(details(want), details(got)); diff != "" {
		return fmt.Sprintf("details of %s (-want +got):\n%s", wantKind, diff)
	}
	return ""
}

// details is the contract's error within an error. Why an argument is bad is the
// manager's own to say.
func details(err error) error {
	if e, ok := errors.AsType[*api.InvalidAddError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*api.SegmentNotFoundError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*api.InvalidSegmentTransitionError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*api.InvalidPartitionDeleteTransitionError](err); ok {
		return e
	}
	return nil
}

// list is ListRemoteLogSegments.
func (t *trial) list() []api.RemoteLogSegmentMetadata {
	t.Helper()
	all, err := t.m.ListRemoteLogSegments(t.ctx, t.tip)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// lists fails the test unless just these segments are listed, field by field.
func (t *trial) lists(want ...api.RemoteLogSegmentMetadata) {
	t.Helper()
	if got := t.list(); !equal(got, want) {
		t.Errorf("list is\n%+v, want\n%+v", got, want)
	}
}

func equal(a, b []api.RemoteLogSegmentMetadata) bool {
	return slices.EqualFunc(a, b, api.RemoteLogSegmentMetadata.Equal)
}

// finds fails the test unless the look-up finds just this segment.
func (t *trial) finds(epoch int32, offset int64, want api.RemoteLogSegmentMetadata) {
	t.Helper()
	got, found, err := t.m.RemoteLogSegmentMetadata(t.ctx, t.tip, epoch, offset)
	if err != nil || !found || !got.Equal(want) {
		t.Errorf("epoch %d, offset %d: got %+v, %t, %v, want %+v", epoch, offset, got, found, err, want)
	}
}

// findsNone fails the test when the look-up finds a segment.
func (t *trial) findsNone(epoch int32, offset int64) {
	t.Helper()
	got, found, err := t.m.RemoteLogSegmentMetadata(t.ctx, t.tip, epoch, offset)
	if err != nil || found {
		t.Errorf("epoch %d, offset %d: got %+v, %t, %v, want none", epoch, offset, got, found, err)
	}
}

// hasNothing fails the test unless every query answers as for no segments.
func (t *trial) hasNothing(tip api.TopicIdPartition) {
	t.Helper()
	for name, read := range reads(t.ctx, t.m, tip, 0, 5) {
		if got, err := read(); err != nil || got != nothing {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, nothing)
		}
	}
}

// nothing is what reads answer where there are no segments.
const nothing = "nothing"

// reads are the queries of a partition, their answers as text.
func reads(ctx context.Context, m api.RemoteLogMetadataManager, tip api.TopicIdPartition, epoch int32, offset int64) map[string]func() (string, error) {
	return map[string]func() (string, error){
		"RemoteLogSegmentMetadata": func() (string, error) {
			return found(m.RemoteLogSegmentMetadata(ctx, tip, epoch, offset))
		},
		"NextSegmentWithTxnIndex": func() (string, error) {
			return found(m.NextSegmentWithTxnIndex(ctx, tip, epoch, offset))
		},
		"HighestOffsetForEpoch": func() (string, error) { return found(m.HighestOffsetForEpoch(ctx, tip, epoch)) },
		"ListRemoteLogSegments": func() (string, error) {
			all, err := m.ListRemoteLogSegments(ctx, tip)
			return found(all, len(all) > 0, err)
		},
		"ListRemoteLogSegmentsByEpoch": func() (string, error) {
			all, err := m.ListRemoteLogSegmentsByEpoch(ctx, tip, epoch)
			return found(all, len(all) > 0, err)
		},
		"RemoteLogSize": func() (string, error) {
			size, err := m.RemoteLogSize(ctx, tip, epoch)
			return found(size, size != 0, err)
		},
	}
}

func found(answer any, is bool, err error) (string, error) {
	if !is {
		return nothing, err
	}
	return fmt.Sprintf("%+v", answer), err
}
