package api

import (
	"cmp"
	"context"
	"iter"
	"slices"
)

// SegmentCursor is a place in a list of segments: behind the segment with this start
// offset and id, whether it is still there or not. So a list that changes meanwhile is
// gone through without seeing a segment twice and without missing one that stays.
type SegmentCursor struct {
	StartOffset int64
	ID          UUID
}

// Cursor is the place behind the segment.
func (m RemoteLogSegmentMetadata) Cursor() *SegmentCursor {
	return &SegmentCursor{StartOffset: m.StartOffset, ID: m.ID.ID}
}

// Compare orders places as lists are ordered: by start offset, then id.
func (c SegmentCursor) Compare(other SegmentCursor) int {
	return cmp.Or(cmp.Compare(c.StartOffset, other.StartOffset), c.ID.Compare(other.ID))
}

// SegmentIterator lists segments without building the list. A manager may implement it
// beside [RemoteLogMetadataManager]; [IteratorOf] works for all.
//
// The segments are those of the list methods, in their order: by start offset, then id.
// Each range over an iterator reads anew, and shows one state of the partition: the one
// at the time when it began. It waits for no update and holds up none, however long the
// loop takes. To stop early is free.
//
// An error is the last step, with a zero segment; of a manager with local state it is
// the only one. What came before an error is right, but not the whole: go on after the
// last segment's Cursor. The errors are those of reads.
//
// After is where to begin: nil is the first segment.
type SegmentIterator interface {
	// Segments iterates over what ListRemoteLogSegments lists.
	Segments(ctx context.Context, tip TopicIdPartition, after *SegmentCursor) iter.Seq2[RemoteLogSegmentMetadata, error]

	// SegmentsByEpoch iterates over what ListRemoteLogSegmentsByEpoch lists.
	SegmentsByEpoch(ctx context.Context, tip TopicIdPartition, leaderEpoch int32, after *SegmentCursor) iter.Seq2[RemoteLogSegmentMetadata, error]
}

// IteratorOf returns the manager itself when it is a [SegmentIterator], else one that
// goes through the manager's lists.
func IteratorOf(m RemoteLogMetadataManager) SegmentIterator {
	if i, ok := m.(SegmentIterator); ok {
		return i
	}
	return lists{m}
}

// lists is the iterator of a manager that has only lists.
type lists struct{ manager RemoteLogMetadataManager }

func (l lists) Segments(ctx context.Context, tip TopicIdPartition, after *SegmentCursor) iter.Seq2[RemoteLogSegmentMetadata, error] {
	return steps(after, func() ([]RemoteLogSegmentMetadata, error) {
		return l.manager.ListRemoteLogSegments(ctx, tip)
	})
}

func (l lists) SegmentsByEpoch(ctx context.Context, tip TopicIdPartition, leaderEpoch int32, after *SegmentCursor) iter.Seq2[RemoteLogSegmentMetadata, error] {
	return steps(after, func() ([]RemoteLogSegmentMetadata, error) {
		return l.manager.ListRemoteLogSegmentsByEpoch(ctx, tip, leaderEpoch)
	})
}

func steps(after *SegmentCursor, list func() ([]RemoteLogSegmentMetadata, error)) iter.Seq2[RemoteLogSegmentMetadata, error] {
	return func(yield func(RemoteLogSegmentMetadata, error) bool) {
		segments, err := list()
		if err != nil {
			yield(RemoteLogSegmentMetadata{}, err)
			return
		}
		for _, s := range segments[countUpTo(segments, after):] {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// countUpTo returns how many segments are not behind the place.
func countUpTo(segments []RemoteLogSegmentMetadata, place *SegmentCursor) int {
	if place == nil {
		return 0
	}
	n, found := slices.BinarySearchFunc(segments, *place, func(s RemoteLogSegmentMetadata, want SegmentCursor) int {
		return s.Cursor().Compare(want)
	})
	if found {
		n++
	}
	return n
}
