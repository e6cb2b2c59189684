package faults

import (
	"context"
	"maps"
	"sync"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

const testPartitions = 2

// topic is a metadata topic in memory.
type topic struct {
	mu     sync.Mutex
	inputs map[int32][]*sarama.ConsumerMessage
	folded *History // nil when there is more to fold
}

func newTopic() *topic { return &topic{inputs: map[int32][]*sarama.ConsumerMessage{}} }

// publish appends a record and returns its offset.
func (t *topic) publish(p int32, value []byte) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	offset := int64(len(t.inputs[p]))
	t.inputs[p] = append(t.inputs[p], &sarama.ConsumerMessage{Partition: p, Offset: offset, Value: value})
	t.folded = nil
	return offset
}

func (t *topic) publishEvent(event api.RemoteLogMetadata) (int32, int64) {
	p := codec.MetadataPartition(event.Partition(), testPartitions)
	return p, t.publish(p, []byte(valueOf(event)))
}

func (t *topic) history() *History {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.folded == nil {
		h, err := NewHistory(testPartitions, maps.Clone(t.inputs))
		if err != nil {
			panic(err)
		}
		t.folded = h
	}
	return t.folded
}

func (t *topic) ends() ([]int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return []int64{int64(len(t.inputs[0])), int64(len(t.inputs[1]))}, nil
}

func (t *topic) last(p int32) int64 {
	ends, _ := t.ends()
	return ends[p] - 1
}

// manager answers by brute force: the truth, unless a test makes it lie.
type manager struct {
	topic *topic
	// behind is how many records of each partition it hasn't applied.
	behind int64
	// read changes what a read answers from; outcome what a mutation says; publish how it
	// gets to the topic. Nil is the honest way.
	read    func(State) (State, error)
	outcome func(api.Position, error) (api.Position, error)
	publish func(api.RemoteLogMetadata) (int32, int64)
	// claims is what it says to have applied; nil says nothing.
	claims func(metadataPartition int32) int64
	// boasts is what CaughtUp answers whatever it has applied.
	boasts bool
}

var _ api.RemoteLogMetadataManager = (*manager)(nil)

func (m *manager) applied(p int32) int64 { return m.topic.last(p) - m.behind }

func (m *manager) state(tip api.TopicIdPartition) (State, error) {
	at := m.applied(codec.MetadataPartition(tip, testPartitions))
	held := m.topic.history().between(tip, at, at)
	s := held[0].state
	if m.read != nil {
		return m.read(s)
	}
	return s, nil
}

func (m *manager) mutate(event api.RemoteLogMetadata) (api.Position, error) {
	publish := m.publish
	if publish == nil {
		publish = m.topic.publishEvent
	}
	p, offset := publish(event)
	at := api.Position{MetadataPartition: p, Offset: offset}
	if offset < 0 {
		at = api.NotPublished
	}
	var err error
	if offset >= 0 {
		err = verdict(m.topic.history(), event, p, offset)
	}
	if m.outcome != nil {
		return m.outcome(at, err)
	}
	return at, err
}

func (m *manager) AddRemoteLogSegmentMetadata(_ context.Context, e api.RemoteLogSegmentMetadata) (api.Position, error) {
	return m.mutate(e)
}

func (m *manager) UpdateRemoteLogSegmentMetadata(_ context.Context, e api.RemoteLogSegmentMetadataUpdate) (api.Position, error) {
	return m.mutate(e)
}

func (m *manager) PutRemotePartitionDeleteMetadata(_ context.Context, e api.RemotePartitionDeleteMetadata) (api.Position, error) {
	return m.mutate(e)
}

func (m *manager) RemoteLogSegmentMetadata(_ context.Context, tip api.TopicIdPartition, epoch int32, offset int64) (api.RemoteLogSegmentMetadata, bool, error) {
	s, err := m.state(tip)
	found, ok := s.Find(epoch, offset)
	return found, ok, err
}

func (m *manager) HighestOffsetForEpoch(_ context.Context, tip api.TopicIdPartition, epoch int32) (int64, bool, error) {
	s, err := m.state(tip)
	n, ok := s.Highest(epoch)
	return n, ok, err
}

func (m *manager) ListRemoteLogSegments(_ context.Context, tip api.TopicIdPartition) ([]api.RemoteLogSegmentMetadata, error) {
	s, err := m.state(tip)
	return s.List(), err
}

func (m *manager) ListRemoteLogSegmentsByEpoch(_ context.Context, tip api.TopicIdPartition, epoch int32) ([]api.RemoteLogSegmentMetadata, error) {
	s, err := m.state(tip)
	return s.ListByEpoch(epoch), err
}

func (m *manager) RemoteLogSize(_ context.Context, tip api.TopicIdPartition, epoch int32) (int64, error) {
	s, err := m.state(tip)
	return s.Size(epoch), err
}

func (m *manager) NextSegmentWithTxnIndex(_ context.Context, tip api.TopicIdPartition, epoch int32, offset int64) (api.RemoteLogSegmentMetadata, bool, error) {
	s, err := m.state(tip)
	next, ok := s.Next(epoch, offset)
	return next, ok, err
}

func (m *manager) CaughtUp(_ context.Context, tip api.TopicIdPartition) (bool, error) {
	_, err := m.state(tip)
	return m.boasts || m.behind == 0, err
}

func (m *manager) Freshness(tip api.TopicIdPartition) (api.Freshness, bool) {
	if m.claims == nil {
		return api.Freshness{}, false
	}
	return api.Freshness{Applied: m.claims(codec.MetadataPartition(tip, testPartitions))}, true
}

func (m *manager) IsReady(_ context.Context, tip api.TopicIdPartition) bool {
	_, err := m.state(tip)
	return err == nil
}
