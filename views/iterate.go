package views

import (
	"context"
	"iter"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/views/index"
)

var _ api.SegmentIterator = (*Manager)(nil)

// Segments implements [api.SegmentIterator].
func (m *Manager) Segments(_ context.Context, tip api.TopicIdPartition, after *api.SegmentCursor) iter.Seq2[api.RemoteLogSegmentMetadata, error] {
	return m.iterate(tip, after, (*index.Snapshot).ListRemoteLogSegments)
}

// SegmentsByEpoch implements [api.SegmentIterator].
func (m *Manager) SegmentsByEpoch(_ context.Context, tip api.TopicIdPartition, leaderEpoch int32, after *api.SegmentCursor) iter.Seq2[api.RemoteLogSegmentMetadata, error] {
	return m.iterate(tip, after, func(s *index.Snapshot) index.List {
		return s.ListRemoteLogSegmentsByEpoch(leaderEpoch)
	})
}

func (m *Manager) iterate(tip api.TopicIdPartition, after *api.SegmentCursor, list func(*index.Snapshot) index.List) iter.Seq2[api.RemoteLogSegmentMetadata, error] {
	return func(yield func(api.RemoteLogSegmentMetadata, error) bool) {
		s, err := m.snapshot(&tip)
		if err != nil {
			yield(api.RemoteLogSegmentMetadata{}, err)
			return
		}
		list(s).MetadataAfter(after)(yield)
	}
}
