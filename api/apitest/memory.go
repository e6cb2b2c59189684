package apitest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

const opPublish = "publish the event"

// Manager is an [api.RemoteLogMetadataManager] in memory. It keeps what it knows in
// lists and scans them for every answer, so that it can be read as the specification of
// the contract. It is safe for concurrent use.
//
// A mutation is applied when it returns. One that the state forbids isn't published: its
// position is [api.NotPublished]. An event may leave the topic's name out once an event of
// its partition has given it, else that is an [api.InvalidArgumentError]. No call waits,
// so contexts aren't looked at.
type Manager struct {
	mu         sync.Mutex
	bounded    bool
	ends       []int64 // the end offset of each metadata partition
	partitions map[identity]*partition
	condition
}

var _ api.RemoteLogMetadataManager = (*Manager)(nil)

// identity is what makes a TopicIdPartition: not its name.
type identity struct {
	topicID   api.UUID
	partition int32
}

type partition struct {
	topic    string
	segments []*segment
	finished int             // how many segments were ever finished
	reached  map[int32]int64 // Kafka's highest offset of each epoch
	deletion api.RemotePartitionDeleteState
}

type segment struct {
	api.RemoteLogSegmentMetadata
	finished int // it was the n-th to be finished; 0 when it wasn't yet
}

// AddRemoteLogSegmentMetadata implements [api.RemoteLogMetadataManager].
func (m *Manager) AddRemoteLogSegmentMetadata(_ context.Context, metadata api.RemoteLogSegmentMetadata) (api.Position, error) {
	return m.mutate(metadata, &metadata.ID.TopicIdPartition, func(p *partition) error { return p.add(metadata) })
}

func (p *partition) add(m api.RemoteLogSegmentMetadata) error {
	if m.State != api.CopySegmentStarted {
		return &api.InvalidAddError{ID: m.ID, State: m.State}
	}
	if i := p.find(m.ID.ID); i >= 0 {
		known := p.segments[i].RemoteLogSegmentMetadata
		return &api.InvalidAddError{ID: m.ID, State: m.State, Known: &known}
	}
	p.segments = append(p.segments, &segment{RemoteLogSegmentMetadata: m})
	return nil
}

func (p *partition) find(id api.UUID) int {
	return slices.IndexFunc(p.segments, func(s *segment) bool { return s.ID.ID == id })
}

// UpdateRemoteLogSegmentMetadata implements [api.RemoteLogMetadataManager].
func (m *Manager) UpdateRemoteLogSegmentMetadata(_ context.Context, update api.RemoteLogSegmentMetadataUpdate) (api.Position, error) {
	return m.mutate(update, &update.ID.TopicIdPartition, func(p *partition) error { return p.update(update) })
}

func (p *partition) update(u api.RemoteLogSegmentMetadataUpdate) error {
	i := p.find(u.ID.ID)
	if i < 0 {
		return &api.SegmentNotFoundError{ID: u.ID}
	}
	s := p.segments[i]
	if u.State == api.CopySegmentStarted || !s.State.CanBecome(u.State) {
		return &api.InvalidSegmentTransitionError{ID: u.ID, From: s.State, To: u.State}
	}
	if u.State == api.DeleteSegmentFinished {
		p.segments = slices.Delete(p.segments, i, i+1)
		return nil
	}
	if u.State == api.CopySegmentFinished && s.finished == 0 {
		p.finish(s)
	}
	s.State, s.BrokerID, s.EventTimestampMs = u.State, u.BrokerID, u.EventTimestampMs
	if u.CustomMetadata.Present() {
		s.CustomMetadata = u.CustomMetadata
	}
	return nil
}

// finish notes what a retry of the update doesn't change.
func (p *partition) finish(s *segment) {
	p.finished++
	s.finished = p.finished
	for epoch := range s.LeaderEpochs.All() {
		_, last, _ := s.EpochRange(epoch)
		if known, ok := p.reached[epoch]; !ok || last > known {
			p.reached[epoch] = last
		}
	}
}

// PutRemotePartitionDeleteMetadata implements [api.RemoteLogMetadataManager]. Segments
// that the finished deletion left can still be updated; no query sees them.
func (m *Manager) PutRemotePartitionDeleteMetadata(_ context.Context, metadata api.RemotePartitionDeleteMetadata) (api.Position, error) {
	return m.mutate(metadata, &metadata.TopicIdPartition, func(p *partition) error {
		if !p.deletion.CanBecome(metadata.State) {
			return &api.InvalidPartitionDeleteTransitionError{TopicIdPartition: metadata.TopicIdPartition, From: p.deletion, To: metadata.State}
		}
		p.deletion = metadata.State
		return nil
	})
}

// mutate applies an event unless something forbids it. tip is the event's, whose name is
// filled in.
func (m *Manager) mutate(event api.RemoteLogMetadata, tip *api.TopicIdPartition, apply func(*partition) error) (api.Position, error) {
	if err := event.Validate(); err != nil {
		return api.NotPublished, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return api.NotPublished, api.ErrClosed
	}
	if err := m.admits(*tip, opPublish); err != nil {
		return api.NotPublished, err
	}
	p := m.partition(*tip)
	if tip.Topic = cmp.Or(tip.Topic, p.topic); tip.Topic == "" {
		return api.NotPublished, &api.InvalidArgumentError{Field: "topic", Reason: "needed, since the partition isn't known"}
	}
	if err := apply(p); err != nil {
		return api.NotPublished, err
	}
	p.topic = cmp.Or(p.topic, tip.Topic)
	m.partitions[identity{tip.TopicID, tip.Partition}] = p
	at := api.Position{MetadataPartition: m.metadataPartition(*tip)}
	at.Offset = m.ends[at.MetadataPartition]
	m.ends[at.MetadataPartition]++
	if m.lost != nil {
		return api.NotPublished, &api.UnacknowledgedError{Op: opPublish, Err: m.lost}
	}
	return at, nil
}

// partition returns what is known of a partition, or a new one.
func (m *Manager) partition(tip api.TopicIdPartition) *partition {
	if p, ok := m.partitions[identity{tip.TopicID, tip.Partition}]; ok {
		return p
	}
	return &partition{reached: map[int32]int64{}, deletion: api.DeletePartitionNone}
}

func (m *Manager) metadataPartition(tip api.TopicIdPartition) int32 {
	return codec.MetadataPartition(tip, int32(len(m.ends)))
}

// listed returns copies of the segments that queries see, in the order of lists.
func (m *Manager) listed(tip api.TopicIdPartition, keep func(segment) bool) ([]segment, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.reads(tip); err != nil {
		return nil, err
	}
	var kept []segment
	p := m.partition(tip)
	for _, s := range p.segments {
		if p.deletion != api.DeletePartitionFinished && keep(*s) {
			kept = append(kept, *s)
		}
	}
	slices.SortFunc(kept, func(a, b segment) int {
		return cmp.Or(cmp.Compare(a.StartOffset, b.StartOffset), a.ID.ID.Compare(b.ID.ID))
	})
	return kept, nil
}

// reads is the error of a read of the partition, nil when it can be answered.
func (m *Manager) reads(tip api.TopicIdPartition) error {
	if err := tip.Validate(); err != nil {
		return err
	}
	return m.admits(tip, "read the store")
}

func carries(epoch int32) func(segment) bool {
	return func(s segment) bool { _, ok := s.LeaderEpochs.Find(epoch); return ok }
}

func finishedIn(epoch int32) func(segment) bool {
	return func(s segment) bool { return s.State == api.CopySegmentFinished && carries(epoch)(s) }
}

func negative(offset int64) error {
	return &api.InvalidArgumentError{Field: "offset", Reason: fmt.Sprintf("must not be negative: %d", offset)}
}
