package faults

import (
	"cmp"
	"slices"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// State is what a user partition has come to at one offset of the input. Its answers
// are the contract's, found by going through all rows: slow, and nothing is shared with
// the index that they are compared with.
type State struct {
	rows     []*codec.Row // in no order, of all kinds but RowPartition
	deletion *codec.Row   // nil is none
}

// segments are those that a query may see.
func (s State) segments(see func(api.RemoteLogSegmentMetadata) bool) []*codec.Row {
	if s.deletion != nil && s.deletion.Delete.State == api.DeletePartitionFinished {
		return nil
	}
	var seen []*codec.Row
	for _, r := range s.rows {
		if r.Kind == codec.RowSegment && see(r.Segment) {
			seen = append(seen, r)
		}
	}
	return seen
}

// finished are the finished segments that carry the epoch.
func (s State) finished(epoch int32) []*codec.Row {
	return s.segments(func(m api.RemoteLogSegmentMetadata) bool {
		return m.State == api.CopySegmentFinished && carries(m, epoch)
	})
}

func carries(m api.RemoteLogSegmentMetadata, epoch int32) bool {
	for e := range m.LeaderEpochs.All() {
		if e == epoch {
			return true
		}
	}
	return false
}

// within is the segment's range within an epoch that it carries; an empty one ends
// before it starts.
func within(m api.RemoteLogSegmentMetadata, epoch int32) (first, last int64) {
	last = m.EndOffset
	for e, offset := range m.LeaderEpochs.All() {
		if e == epoch {
			first = max(offset, m.StartOffset)
		}
	}
	for e, offset := range m.LeaderEpochs.All() {
		if e > epoch {
			return first, min(last, offset-1) // they ascend
		}
	}
	return first, last
}

// Find answers RemoteLogSegmentMetadata.
func (s State) Find(epoch int32, offset int64) (api.RemoteLogSegmentMetadata, bool) {
	var best *codec.Row
	for _, r := range s.finished(epoch) {
		first, last := within(r.Segment, epoch)
		if first <= offset && offset <= last && (best == nil || isLater(r, best, epoch)) {
			best = r
		}
	}
	return segmentOf(best)
}

// isLater tells whether a's range starts behind b's, or a finished last on a tie.
func isLater(a, b *codec.Row, epoch int32) bool {
	firstA, _ := within(a.Segment, epoch)
	firstB, _ := within(b.Segment, epoch)
	if firstA != firstB {
		return firstA > firstB
	}
	return a.FinishedOffset > b.FinishedOffset
}

// Next answers NextSegmentWithTxnIndex.
func (s State) Next(epoch int32, offset int64) (api.RemoteLogSegmentMetadata, bool) {
	var best *codec.Row
	for _, r := range s.finished(epoch) {
		first, last := within(r.Segment, epoch)
		if r.Segment.TxnIndexEmpty || last < offset || last < first {
			continue
		}
		if best == nil || isEarlier(r, best, epoch) {
			best = r
		}
	}
	return segmentOf(best)
}

// isEarlier tells whether a's range starts before b's, or a's id is less on a tie.
func isEarlier(a, b *codec.Row, epoch int32) bool {
	firstA, _ := within(a.Segment, epoch)
	firstB, _ := within(b.Segment, epoch)
	if firstA != firstB {
		return firstA < firstB
	}
	return a.Segment.ID.ID.Compare(b.Segment.ID.ID) < 0
}

func segmentOf(r *codec.Row) (api.RemoteLogSegmentMetadata, bool) {
	if r == nil {
		return api.RemoteLogSegmentMetadata{}, false
	}
	return r.Segment, true
}

// Highest answers HighestOffsetForEpoch, as the contract has it.
func (s State) Highest(epoch int32) (highest int64, found bool) {
	for _, r := range s.finished(epoch) {
		if !found || r.Segment.EndOffset > highest {
			highest, found = r.Segment.EndOffset, true
		}
	}
	return highest, found
}

// Size answers RemoteLogSize.
func (s State) Size(epoch int32) (bytes int64) {
	for _, r := range s.finished(epoch) {
		bytes += int64(r.Segment.SegmentSizeInBytes)
	}
	return bytes
}

// List answers ListRemoteLogSegments.
func (s State) List() []api.RemoteLogSegmentMetadata {
	return sorted(s.segments(func(api.RemoteLogSegmentMetadata) bool { return true }))
}

// ListByEpoch answers ListRemoteLogSegmentsByEpoch.
func (s State) ListByEpoch(epoch int32) []api.RemoteLogSegmentMetadata {
	return sorted(s.segments(func(m api.RemoteLogSegmentMetadata) bool { return carries(m, epoch) }))
}

func sorted(rows []*codec.Row) []api.RemoteLogSegmentMetadata {
	list := make([]api.RemoteLogSegmentMetadata, len(rows))
	for i, r := range rows {
		list[i] = r.Segment
	}
	slices.SortFunc(list, func(a, b api.RemoteLogSegmentMetadata) int {
		return cmp.Or(cmp.Compare(a.StartOffset, b.StartOffset), a.ID.ID.Compare(b.ID.ID))
	})
	return list
}

// row is the row that an event of the partition meets; nil is none.
func (s State) row(event api.RemoteLogMetadata) *codec.Row {
	var id api.UUID
	switch e := event.(type) {
	case api.RemotePartitionDeleteMetadata:
		return s.deletion
	case api.RemoteLogSegmentMetadata:
		id = e.ID.ID
	case api.RemoteLogSegmentMetadataUpdate:
		id = e.ID.ID
	}
	return s.byID(id)
}

func (s State) byID(id api.UUID) *codec.Row {
	for _, r := range s.rows {
		if r.Segment.ID.ID == id {
			return r
		}
	}
	return nil
}

func (s State) has(key codec.Key) bool {
	if key.Kind == codec.KeyPartition {
		return s.deletion != nil
	}
	return s.byID(key.ID.ID) != nil
}

// with is the state after a row has changed; a nil row is a removed one.
func (s State) with(key codec.Key, row *codec.Row) State {
	if key.Kind == codec.KeyPartition {
		return State{s.rows, row}
	}
	rows := make([]*codec.Row, 0, len(s.rows)+1)
	for _, r := range s.rows {
		if r.Segment.ID.ID != key.ID.ID {
			rows = append(rows, r)
		}
	}
	if row != nil {
		rows = append(rows, row)
	}
	return State{rows, s.deletion}
}
