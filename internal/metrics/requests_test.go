package metrics

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/apitest"
)

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		err            error
		read, mutation string
	}{
		{nil, miss, applied},
		{&api.NotReadyError{Assigned: true}, notReady, refused},
		{&api.NotReadyError{}, notAssigned, refused},
		{&api.InvalidArgumentError{}, failed, refused},
		{&api.PausedError{}, failed, refused},
		{api.ErrClosed, failed, refused},
		{&api.IOError{Err: errors.New("broken")}, failed, publishError},
		{&api.InvalidAddError{}, failed, rejected},
		{&api.SegmentNotFoundError{}, failed, rejected},
		{&api.InvalidSegmentTransitionError{}, failed, rejected},
		{&api.InvalidPartitionDeleteTransitionError{}, failed, rejected},
		{&api.TimeoutError{}, failed, timeout},
		{&api.TimeoutError{Err: api.ErrClosed}, failed, timeout},
		{&api.UnacknowledgedError{Err: api.ErrClosed}, failed, unknown},
		{&api.OutcomeUnknownError{}, failed, unknown},
		{fmt.Errorf("wrapped: %w", api.ErrIO), failed, publishError},
	} {
		if got := readOutcome(false, c.err); got != c.read {
			t.Errorf("a read with %v: %s, want %s", c.err, got, c.read)
		}
		if got := mutationOutcome(c.err); got != c.mutation {
			t.Errorf("a mutation with %v: %s, want %s", c.err, got, c.mutation)
		}
	}
}

// memory is a manager in memory, without what only a real one has.
type memory struct {
	api.RemoteLogMetadataManager
	api.SegmentIterator
	api.FreshnessReporter
	api.Controller
}

// Each call does what it would without, and is counted under its outcome.
func TestMeasuredCalls(t *testing.T) {
	reg, m := everything(Options{}, memory{RemoteLogMetadataManager: apitest.NewManager()})
	ctx, tip := t.Context(), api.TopicIdPartition{TopicID: api.RandomUUID(), Topic: "orders"}
	segment := api.RemoteLogSegmentMetadata{
		ID:        api.RemoteLogSegmentID{TopicIdPartition: tip, ID: api.RandomUUID()},
		EndOffset: 99, LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{}),
	}
	check := func(err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	_, err := m.AddRemoteLogSegmentMetadata(ctx, segment)
	check(err, nil)
	_, err = m.AddRemoteLogSegmentMetadata(ctx, segment)
	check(err, api.ErrInvalidAdd)
	_, err = m.UpdateRemoteLogSegmentMetadata(ctx, api.RemoteLogSegmentMetadataUpdate{ID: segment.ID, State: api.CopySegmentFinished})
	check(err, nil)
	for _, offset := range []int64{5, 6, 100, -1} {
		_, found, err := m.RemoteLogSegmentMetadata(ctx, tip, 0, offset)
		if found != (offset == 5 || offset == 6) || (err != nil) != (offset < 0) {
			t.Errorf("offset %d: %t, %v", offset, found, err)
		}
	}
	list, err := m.ListRemoteLogSegments(ctx, tip)
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	expect(t, reg, map[string]float64{
		`rlmm_mutations_total{op=add_remote_log_segment_metadata,outcome=applied}`:           1,
		`rlmm_mutations_total{op=add_remote_log_segment_metadata,outcome=rejected}`:          1,
		`rlmm_mutations_total{op=update_remote_log_segment_metadata,outcome=applied}`:        1,
		`rlmm_mutation_duration_seconds{op=add_remote_log_segment_metadata,outcome=applied}`: 1,
		`rlmm_mutation_inflight{op=add_remote_log_segment_metadata}`:                         0,
		`rlmm_request_duration_seconds{op=remote_log_segment_metadata,outcome=ok}`:           2,
		`rlmm_request_duration_seconds{op=remote_log_segment_metadata,outcome=miss}`:         1,
		`rlmm_request_duration_seconds{op=remote_log_segment_metadata,outcome=error}`:        1,
		`rlmm_request_duration_seconds{op=list_remote_log_segments,outcome=ok}`:              1,
	})
}
