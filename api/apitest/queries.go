package apitest

import (
	"cmp"
	"context"
	"slices"

	"github.com/tieredlog/rlmm/api"
)

// RemoteLogSegmentMetadata implements [api.RemoteLogMetadataManager].
func (m *Manager) RemoteLogSegmentMetadata(_ context.Context, tip api.TopicIdPartition, leaderEpoch int32, offset int64) (api.RemoteLogSegmentMetadata, bool, error) {
	if offset < 0 {
		return api.RemoteLogSegmentMetadata{}, false, negative(offset)
	}
	containing, err := m.listed(tip, func(s segment) bool {
		first, last, _ := s.EpochRange(leaderEpoch)
		return finishedIn(leaderEpoch)(s) && first <= offset && offset <= last
	})
	return least(containing, err, func(a, b segment) int {
		return cmp.Or(compareFirst(b, a, leaderEpoch), cmp.Compare(b.finished, a.finished))
	})
}

// NextSegmentWithTxnIndex implements [api.RemoteLogMetadataManager]. A segment within
// which the epoch is empty is none of its segments.
func (m *Manager) NextSegmentWithTxnIndex(_ context.Context, tip api.TopicIdPartition, leaderEpoch int32, offset int64) (api.RemoteLogSegmentMetadata, bool, error) {
	if offset < 0 {
		return api.RemoteLogSegmentMetadata{}, false, negative(offset)
	}
	ending, err := m.listed(tip, func(s segment) bool {
		first, last, _ := s.EpochRange(leaderEpoch)
		return finishedIn(leaderEpoch)(s) && !s.TxnIndexEmpty && first <= last && offset <= last
	})
	return least(ending, err, func(a, b segment) int {
		return cmp.Or(compareFirst(a, b, leaderEpoch), a.ID.ID.Compare(b.ID.ID))
	})
}

// compareFirst compares where two segments begin within the epoch.
func compareFirst(a, b segment, epoch int32) int {
	first, _, _ := a.EpochRange(epoch)
	other, _, _ := b.EpochRange(epoch)
	return cmp.Compare(first, other)
}

func least(segments []segment, err error, compare func(a, b segment) int) (api.RemoteLogSegmentMetadata, bool, error) {
	if len(segments) == 0 {
		return api.RemoteLogSegmentMetadata{}, false, err
	}
	return slices.MinFunc(segments, compare).RemoteLogSegmentMetadata, true, nil
}

// HighestOffsetForEpoch implements [api.RemoteLogMetadataManager]; see
// [WithEpochBounds].
func (m *Manager) HighestOffsetForEpoch(_ context.Context, tip api.TopicIdPartition, leaderEpoch int32) (int64, bool, error) {
	if m.bounded {
		return m.reachedIn(tip, leaderEpoch)
	}
	finished, err := m.listed(tip, finishedIn(leaderEpoch))
	highest := int64(0)
	for _, s := range finished {
		highest = max(highest, s.EndOffset)
	}
	return highest, len(finished) > 0, err
}

func (m *Manager) reachedIn(tip api.TopicIdPartition, epoch int32) (int64, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.reads(tip); err != nil {
		return 0, false, err
	}
	p := m.partition(tip)
	if p.deletion == api.DeletePartitionFinished {
		return 0, false, nil
	}
	offset, ok := p.reached[epoch]
	return offset, ok, nil
}

// ListRemoteLogSegments implements [api.RemoteLogMetadataManager].
func (m *Manager) ListRemoteLogSegments(_ context.Context, tip api.TopicIdPartition) ([]api.RemoteLogSegmentMetadata, error) {
	return m.list(tip, func(segment) bool { return true })
}

// ListRemoteLogSegmentsByEpoch implements [api.RemoteLogMetadataManager].
func (m *Manager) ListRemoteLogSegmentsByEpoch(_ context.Context, tip api.TopicIdPartition, leaderEpoch int32) ([]api.RemoteLogSegmentMetadata, error) {
	return m.list(tip, carries(leaderEpoch))
}

func (m *Manager) list(tip api.TopicIdPartition, keep func(segment) bool) ([]api.RemoteLogSegmentMetadata, error) {
	segments, err := m.listed(tip, keep)
	var list []api.RemoteLogSegmentMetadata
	for _, s := range segments {
		list = append(list, s.RemoteLogSegmentMetadata)
	}
	return list, err
}

// RemoteLogSize implements [api.RemoteLogMetadataManager].
func (m *Manager) RemoteLogSize(_ context.Context, tip api.TopicIdPartition, leaderEpoch int32) (int64, error) {
	finished, err := m.listed(tip, finishedIn(leaderEpoch))
	size := int64(0)
	for _, s := range finished {
		size += int64(s.SegmentSizeInBytes)
	}
	return size, err
}

// CaughtUp implements [api.RemoteLogMetadataManager]: true wherever reads are answered.
func (m *Manager) CaughtUp(_ context.Context, tip api.TopicIdPartition) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := tip.Validate(); err != nil {
		return false, err
	}
	if !m.isAssigned(m.metadataPartition(tip)) {
		return false, nil
	}
	err := m.reads(tip)
	return err == nil, err
}

// IsReady implements [api.RemoteLogMetadataManager].
func (m *Manager) IsReady(_ context.Context, tip api.TopicIdPartition) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reads(tip) == nil
}
