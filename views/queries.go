package views

import (
	"context"
	"fmt"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/views/index"
)

// RemoteLogSegmentMetadata implements [api.RemoteLogMetadataManager].
func (m *Manager) RemoteLogSegmentMetadata(_ context.Context, tip api.TopicIdPartition, leaderEpoch int32, offset int64) (found api.RemoteLogSegmentMetadata, ok bool, err error) {
	ok, err = m.find(&found, &tip, offset, func(s *index.Snapshot) (*index.Segment, bool) {
		return s.RemoteLogSegmentMetadata(leaderEpoch, offset)
	})
	return found, ok, err
}

// NextSegmentWithTxnIndex implements [api.RemoteLogMetadataManager].
func (m *Manager) NextSegmentWithTxnIndex(_ context.Context, tip api.TopicIdPartition, leaderEpoch int32, offset int64) (found api.RemoteLogSegmentMetadata, ok bool, err error) {
	ok, err = m.find(&found, &tip, offset, func(s *index.Snapshot) (*index.Segment, bool) {
		return s.NextSegmentWithTxnIndex(leaderEpoch, offset)
	})
	return found, ok, err
}

// find describes what is found where the caller returns it: to hand it on costs a copy.
func (m *Manager) find(found *api.RemoteLogSegmentMetadata, tip *api.TopicIdPartition, offset int64, search func(*index.Snapshot) (*index.Segment, bool)) (bool, error) {
	if offset < 0 {
		return false, &api.InvalidArgumentError{Field: "offset", Reason: fmt.Sprintf("must not be negative: %d", offset)}
	}
	s, err := m.snapshot(tip)
	if err != nil {
		return false, err
	}
	segment, ok := search(s)
	if ok {
		segment.Describe(found)
	}
	return ok, nil
}

// HighestOffsetForEpoch implements [api.RemoteLogMetadataManager]; see [Bounds].
func (m *Manager) HighestOffsetForEpoch(_ context.Context, tip api.TopicIdPartition, leaderEpoch int32) (int64, bool, error) {
	s, err := m.snapshot(&tip)
	if err != nil {
		return 0, false, err
	}
	if m.cfg.HighestOffsetBounds == BoundsEpoch {
		offset, ok := s.BoundedHighestOffsetForEpoch(leaderEpoch)
		return offset, ok, nil
	}
	offset, ok := s.HighestOffsetForEpoch(leaderEpoch)
	return offset, ok, nil
}

// ListRemoteLogSegments implements [api.RemoteLogMetadataManager].
func (m *Manager) ListRemoteLogSegments(_ context.Context, tip api.TopicIdPartition) ([]api.RemoteLogSegmentMetadata, error) {
	s, err := m.snapshot(&tip)
	if err != nil {
		return nil, err
	}
	return s.ListRemoteLogSegments().Metadata(), nil
}

// ListRemoteLogSegmentsByEpoch implements [api.RemoteLogMetadataManager].
func (m *Manager) ListRemoteLogSegmentsByEpoch(_ context.Context, tip api.TopicIdPartition, leaderEpoch int32) ([]api.RemoteLogSegmentMetadata, error) {
	s, err := m.snapshot(&tip)
	if err != nil {
		return nil, err
	}
	return s.ListRemoteLogSegmentsByEpoch(leaderEpoch).Metadata(), nil
}

// RemoteLogSize implements [api.RemoteLogMetadataManager].
func (m *Manager) RemoteLogSize(_ context.Context, tip api.TopicIdPartition, leaderEpoch int32) (int64, error) {
	s, err := m.snapshot(&tip)
	if err != nil {
		return 0, err
	}
	return s.RemoteLogSize(leaderEpoch), nil
}

// CaughtUp implements [api.RemoteLogMetadataManager].
func (m *Manager) CaughtUp(ctx context.Context, tip api.TopicIdPartition) (bool, error) {
	if err := tip.Validate(); err != nil {
		return false, err
	}
	p, ok := m.assigned(m.partitionOf(tip))
	if !ok {
		return false, nil
	}
	return p.caughtUp(ctx)
}

// IsReady implements [api.RemoteLogMetadataManager].
func (m *Manager) IsReady(_ context.Context, tip api.TopicIdPartition) bool {
	p, ok := m.assigned(m.partitionOf(tip))
	return ok && tip.Validate() == nil && p.ready.isOpen()
}

// snapshot returns the present state of the user partition, if reads may see it.
func (m *Manager) snapshot(tip *api.TopicIdPartition) (*index.Snapshot, error) {
	if i := m.lookup.get(tip); i != nil {
		if s := i.snapshot(); s != nil {
			return s, nil
		}
	}
	p, err := m.partitionFor(*tip)
	if err != nil {
		return nil, err
	}
	return p.snapshot(tip)
}

// partitionFor returns the view that holds the user partition.
func (m *Manager) partitionFor(tip api.TopicIdPartition) (*partition, error) {
	if err := tip.Validate(); err != nil {
		return nil, err
	}
	number := m.partitionOf(tip)
	p, ok := m.assigned(number)
	if !ok {
		return nil, notAssigned(number)
	}
	return p, nil
}

func notAssigned(number int32) error {
	return &api.NotReadyError{MetadataPartition: number, Applied: -1, Target: -1}
}

func (m *Manager) partitionOf(tip api.TopicIdPartition) int32 {
	return codec.MetadataPartition(tip, m.partitions)
}

// UserPartition is a user partition that has segments, and what it has.
type UserPartition struct {
	TopicIdPartition  api.TopicIdPartition
	MetadataPartition int32
	// Segments counts what ListRemoteLogSegments lists.
	Segments int
	// Bytes is the size of the finished ones among them.
	Bytes int64
}

// UserPartitions lists the user partitions with segments in all assigned metadata
// partitions, by metadata partition, then by key. It reads every row. ErrNotReady when
// one of the metadata partitions is not ready.
func (m *Manager) UserPartitions(ctx context.Context) ([]UserPartition, error) {
	var all []UserPartition
	for _, number := range m.AssignedMetadataPartitions() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, ok := m.assigned(number)
		if !ok {
			return nil, notAssigned(number)
		}
		found, err := p.userPartitions()
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (p *partition) userPartitions() ([]UserPartition, error) {
	var found []UserPartition
	var deleted identity // the partition whose deletion is finished: its own row comes first
	for row, err := range p.rows(nil, nil) {
		if err != nil {
			return nil, err
		}
		switch row.Kind {
		case codec.RowPartition:
			if row.Delete.State == api.DeletePartitionFinished {
				deleted = identityOf(row.Delete.TopicIdPartition)
			}
		case codec.RowSegment:
			if tip := row.Segment.ID.TopicIdPartition; identityOf(tip) != deleted {
				found = p.count(found, row.Segment)
			}
		}
	}
	return found, nil
}

// count adds a segment to the last user partition, or begins another.
func (p *partition) count(found []UserPartition, segment api.RemoteLogSegmentMetadata) []UserPartition {
	tip := segment.ID.TopicIdPartition
	if n := len(found); n == 0 || identityOf(found[n-1].TopicIdPartition) != identityOf(tip) {
		found = append(found, UserPartition{TopicIdPartition: tip, MetadataPartition: p.number})
	}
	last := &found[len(found)-1]
	last.Segments++
	if segment.State == api.CopySegmentFinished {
		last.Bytes += int64(segment.SegmentSizeInBytes)
	}
	return found
}
