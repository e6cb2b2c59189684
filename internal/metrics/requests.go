package metrics

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tieredlog/rlmm/api"
)

// Manager is what [Measure] measures, and returns.
type Manager interface {
	api.RemoteLogMetadataManager
	api.SegmentIterator
	api.FreshnessReporter
	api.Controller
}

// The operations, in Kafka's words.
const (
	opSegment     = "remote_log_segment_metadata"
	opHighest     = "highest_offset_for_epoch"
	opList        = "list_remote_log_segments"
	opListByEpoch = "list_remote_log_segments_by_epoch"
	opSize        = "remote_log_size"
	opNextTxn     = "next_segment_with_txn_index"
	opCaughtUp    = "caught_up"
	opAdd         = "add_remote_log_segment_metadata"
	opUpdate      = "update_remote_log_segment_metadata"
	opPutDelete   = "put_remote_partition_delete_metadata"
)

var (
	reads     = []string{opSegment, opHighest, opList, opListByEpoch, opSize, opNextTxn, opCaughtUp}
	mutations = []string{opAdd, opUpdate, opPutDelete}
)

// The outcomes.
const (
	ok           = "ok"
	miss         = "miss"
	notReady     = "not_ready"
	notAssigned  = "not_assigned"
	failed       = "error"
	applied      = "applied"
	rejected     = "rejected"
	refused      = "refused"
	timeout      = "timeout"
	unknown      = "unknown"
	publishError = "publish_error"
)

var mutationOutcomes = []string{applied, rejected, refused, timeout, unknown, publishError}

// measured is a manager whose calls are timed.
type measured struct {
	Manager
	requests  *prometheus.HistogramVec
	finished  *prometheus.CounterVec
	mutations *prometheus.HistogramVec
	inFlight  *prometheus.GaugeVec
}

// Measure registers the metrics of requests and returns a manager that does what m does,
// and times it.
func Measure(reg prometheus.Registerer, m Manager) Manager {
	d := &measured{
		Manager: m,
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "rlmm_request_duration_seconds",
			Help:    "How long reads took, in seconds, by operation and outcome: ok, miss (nothing was found), not_ready, not_assigned, error. Of lists, until the first segment.",
			Buckets: []float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10},
		}, []string{"op", "outcome"}),
		finished: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rlmm_mutations_total",
			Help: "Mutations that ended, by operation and outcome: applied, rejected (the state forbids it), refused (not published: not ready, paused, closed, a bad argument), timeout (published, not yet applied), unknown, publish_error (Kafka failed).",
		}, []string{"op", "outcome"}),
		mutations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "rlmm_mutation_duration_seconds",
			Help:    "How long mutations took until their outcome was known, or the wait for it ended, in seconds, by operation and outcome.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5, 30, 120},
		}, []string{"op", "outcome"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "rlmm_mutation_inflight",
			Help: "Mutations that are under way, by operation.",
		}, []string{"op"}),
	}
	d.begin()
	reg.MustRegister(d.requests, d.finished, d.mutations, d.inFlight)
	return d
}

// begin makes the series that rates are taken of begin at 0.
func (d *measured) begin() {
	for _, op := range reads {
		d.requests.WithLabelValues(op, ok)
	}
	for _, op := range mutations {
		d.inFlight.WithLabelValues(op)
		d.mutations.WithLabelValues(op, applied)
		for _, outcome := range mutationOutcomes {
			d.finished.WithLabelValues(op, outcome)
		}
	}
}

func (d *measured) read(op string, began time.Time, found bool, err error) {
	d.requests.WithLabelValues(op, readOutcome(found, err)).Observe(time.Since(began).Seconds())
}

func readOutcome(found bool, err error) string {
	switch {
	case errors.Is(err, api.ErrNotAssigned):
		return notAssigned
	case errors.Is(err, api.ErrNotReady):
		return notReady
	case err != nil:
		return failed
	case !found:
		return miss
	}
	return ok
}

// RemoteLogSegmentMetadata implements [api.RemoteLogMetadataManager].
func (d *measured) RemoteLogSegmentMetadata(ctx context.Context, tip api.TopicIdPartition, leaderEpoch int32, offset int64) (api.RemoteLogSegmentMetadata, bool, error) {
	began := time.Now()
	segment, found, err := d.Manager.RemoteLogSegmentMetadata(ctx, tip, leaderEpoch, offset)
	d.read(opSegment, began, found, err)
	return segment, found, err
}

// HighestOffsetForEpoch implements [api.RemoteLogMetadataManager].
func (d *measured) HighestOffsetForEpoch(ctx context.Context, tip api.TopicIdPartition, leaderEpoch int32) (int64, bool, error) {
	began := time.Now()
	offset, found, err := d.Manager.HighestOffsetForEpoch(ctx, tip, leaderEpoch)
	d.read(opHighest, began, found, err)
	return offset, found, err
}

// ListRemoteLogSegments implements [api.RemoteLogMetadataManager].
func (d *measured) ListRemoteLogSegments(ctx context.Context, tip api.TopicIdPartition) ([]api.RemoteLogSegmentMetadata, error) {
	began := time.Now()
	list, err := d.Manager.ListRemoteLogSegments(ctx, tip)
	d.read(opList, began, len(list) > 0, err)
	return list, err
}

// ListRemoteLogSegmentsByEpoch implements [api.RemoteLogMetadataManager].
func (d *measured) ListRemoteLogSegmentsByEpoch(ctx context.Context, tip api.TopicIdPartition, leaderEpoch int32) ([]api.RemoteLogSegmentMetadata, error) {
	began := time.Now()
	list, err := d.Manager.ListRemoteLogSegmentsByEpoch(ctx, tip, leaderEpoch)
	d.read(opListByEpoch, began, len(list) > 0, err)
	return list, err
}

// Segments implements [api.SegmentIterator].
func (d *measured) Segments(ctx context.Context, tip api.TopicIdPartition, after *api.SegmentCursor) iter.Seq2[api.RemoteLogSegmentMetadata, error] {
	return d.first(opList, d.Manager.Segments(ctx, tip, after))
}

// SegmentsByEpoch implements [api.SegmentIterator].
func (d *measured) SegmentsByEpoch(ctx context.Context, tip api.TopicIdPartition, leaderEpoch int32, after *api.SegmentCursor) iter.Seq2[api.RemoteLogSegmentMetadata, error] {
	return d.first(opListByEpoch, d.Manager.SegmentsByEpoch(ctx, tip, leaderEpoch, after))
}

// first times a list until its first step: how long the rest takes depends on who reads it.
func (d *measured) first(op string, list iter.Seq2[api.RemoteLogSegmentMetadata, error]) iter.Seq2[api.RemoteLogSegmentMetadata, error] {
	return func(yield func(api.RemoteLogSegmentMetadata, error) bool) {
		began, noted := time.Now(), false
		for segment, err := range list {
			if !noted {
				noted = true
				d.read(op, began, true, err)
			}
			if !yield(segment, err) {
				return
			}
		}
		if !noted {
			d.read(op, began, false, nil)
		}
	}
}

// RemoteLogSize implements [api.RemoteLogMetadataManager].
func (d *measured) RemoteLogSize(ctx context.Context, tip api.TopicIdPartition, leaderEpoch int32) (int64, error) {
	began := time.Now()
	size, err := d.Manager.RemoteLogSize(ctx, tip, leaderEpoch)
	d.read(opSize, began, true, err)
	return size, err
}

// NextSegmentWithTxnIndex implements [api.RemoteLogMetadataManager].
func (d *measured) NextSegmentWithTxnIndex(ctx context.Context, tip api.TopicIdPartition, leaderEpoch int32, offset int64) (api.RemoteLogSegmentMetadata, bool, error) {
	began := time.Now()
	segment, found, err := d.Manager.NextSegmentWithTxnIndex(ctx, tip, leaderEpoch, offset)
	d.read(opNextTxn, began, found, err)
	return segment, found, err
}

// CaughtUp implements [api.RemoteLogMetadataManager].
func (d *measured) CaughtUp(ctx context.Context, tip api.TopicIdPartition) (bool, error) {
	began := time.Now()
	yes, err := d.Manager.CaughtUp(ctx, tip)
	d.read(opCaughtUp, began, true, err)
	return yes, err
}

// mutate times a mutation.
func (d *measured) mutate(op string, do func() (api.Position, error)) (api.Position, error) {
	d.inFlight.WithLabelValues(op).Inc()
	defer d.inFlight.WithLabelValues(op).Dec()
	began := time.Now()
	at, err := do()
	outcome := mutationOutcome(err)
	d.finished.WithLabelValues(op, outcome).Inc()
	d.mutations.WithLabelValues(op, outcome).Observe(time.Since(began).Seconds())
	return at, err
}

// mutationOutcome looks at what ended a wait first: what lies within such an error may be
// another of these.
func mutationOutcome(err error) string {
	switch {
	case err == nil:
		return applied
	case errors.Is(err, api.ErrTimeout):
		return timeout
	case errors.Is(err, api.ErrUnacknowledged), errors.Is(err, api.ErrOutcomeUnknown):
		return unknown
	case errors.Is(err, api.ErrIO):
		return publishError
	case errors.Is(err, api.ErrInvalidAdd), errors.Is(err, api.ErrSegmentNotFound),
		errors.Is(err, api.ErrInvalidSegmentTransition), errors.Is(err, api.ErrInvalidPartitionDeleteTransition):
		return rejected
	}
	return refused
}

// AddRemoteLogSegmentMetadata implements [api.RemoteLogMetadataManager].
func (d *measured) AddRemoteLogSegmentMetadata(ctx context.Context, metadata api.RemoteLogSegmentMetadata) (api.Position, error) {
	return d.mutate(opAdd, func() (api.Position, error) { return d.Manager.AddRemoteLogSegmentMetadata(ctx, metadata) })
}

// UpdateRemoteLogSegmentMetadata implements [api.RemoteLogMetadataManager].
func (d *measured) UpdateRemoteLogSegmentMetadata(ctx context.Context, update api.RemoteLogSegmentMetadataUpdate) (api.Position, error) {
	return d.mutate(opUpdate, func() (api.Position, error) { return d.Manager.UpdateRemoteLogSegmentMetadata(ctx, update) })
}

// PutRemotePartitionDeleteMetadata implements [api.RemoteLogMetadataManager].
func (d *measured) PutRemotePartitionDeleteMetadata(ctx context.Context, metadata api.RemotePartitionDeleteMetadata) (api.Position, error) {
	return d.mutate(opPutDelete, func() (api.Position, error) { return d.Manager.PutRemotePartitionDeleteMetadata(ctx, metadata) })
}
