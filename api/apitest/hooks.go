package apitest

import (
	"slices"

	"github.com/tieredlog/rlmm/api"
)

// DefaultMetadataPartitions is the metadata topic's partition count unless
// [WithMetadataPartitions] says otherwise: Kafka's
// (remote.log.metadata.topic.num.partitions).
const DefaultMetadataPartitions = 50

// Option changes what [NewManager] returns.
type Option func(*Manager)

// WithMetadataPartitions sets the partition count of the metadata topic, which must be
// positive.
func WithMetadataPartitions(n int32) Option {
	return func(m *Manager) { m.ends = make([]int64, n) }
}

// WithEpochBounds makes HighestOffsetForEpoch give Kafka's value, as
// highest.offset.bounds=epoch does: the last offset of the epoch within the segment, and
// it never goes down when segments are deleted. The contract's is the greatest end offset
// of the finished segments.
func WithEpochBounds() Option { return func(m *Manager) { m.bounded = true } }

// NewManager returns a manager without segments that is ready, with every metadata
// partition assigned.
func NewManager(opts ...Option) *Manager {
	m := &Manager{
		ends:       make([]int64, DefaultMetadataPartitions),
		partitions: map[identity]*partition{},
		condition:  condition{ready: true, all: true},
	}
	for _, o := range opts {
		o(m)
	}
	return m
}

// condition is what the hooks change.
type condition struct {
	closed   bool
	ready    bool
	all      bool    // every metadata partition is assigned
	assigned []int32 // those that are, unless all are
	failure  error
	lost     error // why accepted mutations get no answer
}

// SetReady tells whether the assigned metadata partitions are ready. When they aren't,
// reads and mutations give an [api.NotReadyError].
func (m *Manager) SetReady(ready bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready = ready
}

// SetAssigned assigns just these metadata partitions; nil is none. Reads and mutations of
// what lies on the others give an [api.NotReadyError] that is [api.ErrNotAssigned] too,
// and CaughtUp is false there. What is stored stays.
func (m *Manager) SetAssigned(metadataPartitions []int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all, m.assigned = false, slices.Clone(metadataPartitions)
}

// Fail makes reads and mutations fail with an [api.IOError] that wraps err, until it is
// called with nil. A mutation that fails so isn't published.
func (m *Manager) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failure = err
}

// LoseAnswers makes mutations that are accepted end with an [api.UnacknowledgedError] that
// wraps err, until it is called with nil. They are published and applied all the same.
func (m *Manager) LoseAnswers(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost = err
}

// Close shuts the manager down: mutations fail with [api.ErrClosed], reads go on. It may
// be called more than once.
func (m *Manager) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
}

// admits is the error that the condition gives a call about the partition, nil for none.
// op is what fails when something does.
func (m *Manager) admits(tip api.TopicIdPartition, op string) error {
	number := m.metadataPartition(tip)
	switch {
	case !m.isAssigned(number):
		return &api.NotReadyError{MetadataPartition: number, Applied: -1, Target: -1}
	case !m.ready:
		return &api.NotReadyError{MetadataPartition: number, Assigned: true, Applied: m.ends[number] - 1, Target: -1}
	case m.failure != nil:
		return &api.IOError{Op: op, Err: m.failure}
	}
	return nil
}

func (c *condition) isAssigned(metadataPartition int32) bool {
	return c.all || slices.Contains(c.assigned, metadataPartition)
}
