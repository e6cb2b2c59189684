package index

import "github.com/tieredlog/rlmm/api"

// Snapshot is the state of a partition after some row. It never changes; all its
// methods are safe for any number of goroutines. After the partition's deletion is
// finished, every query answers as for a partition without segments.
type Snapshot struct {
	deletion api.RemotePartitionDeleteState
	byStart  tree[*Segment, struct{}]
	epochs   tree[numbered, struct{}]
	totals   [api.DeleteSegmentFinished + 1]Totals // by state
}

// Totals counts segments.
type Totals struct {
	Segments int
	Bytes    int64 // the sum of SegmentSizeInBytes
}

// RemoteLogSegmentMetadata finds the finished segment that carries the epoch and
// contains the offset within it: of several the one whose range within the epoch starts
// last, and of those the one first finished last.
func (s *Snapshot) RemoteLogSegmentMetadata(leaderEpoch int32, offset int64) (*Segment, bool) {
	e := s.finishedIn(leaderEpoch)
	if e == nil {
		return nil, false
	}
	segment := e.last(&e.finished.root, offset)
	return segment, segment != nil
}

// HighestOffsetForEpoch returns the greatest end offset of the finished segments that
// carry the epoch.
func (s *Snapshot) HighestOffsetForEpoch(leaderEpoch int32) (int64, bool) {
	e := s.finishedIn(leaderEpoch)
	if e == nil {
		return 0, false
	}
	return e.finished.root.sum.end, true
}

// BoundedHighestOffsetForEpoch returns the highest offset as Kafka's own manager gives
// it: the greatest last offset, within the epoch, of all segments that were ever
// finished. It doesn't go down when segments are deleted. An epoch that is empty within
// its segment counts with the offset before its first.
func (s *Snapshot) BoundedHighestOffsetForEpoch(leaderEpoch int32) (int64, bool) {
	e := s.epoch(leaderEpoch)
	if e == nil || !e.known {
		return 0, false
	}
	return e.highest, true
}

// ListRemoteLogSegments returns the segments in states CopySegmentStarted,
// CopySegmentFinished and DeleteSegmentStarted, by start offset, then id.
func (s *Snapshot) ListRemoteLogSegments() List {
	if s.isDeleted() {
		return List{}
	}
	return List{s.byStart}
}

// ListRemoteLogSegmentsByEpoch returns those of ListRemoteLogSegments that carry the
// epoch, in the same order.
func (s *Snapshot) ListRemoteLogSegmentsByEpoch(leaderEpoch int32) List {
	if e := s.epoch(leaderEpoch); e != nil {
		return List{e.segments}
	}
	return List{}
}

// RemoteLogSize returns the bytes of the finished segments that carry the epoch.
func (s *Snapshot) RemoteLogSize(leaderEpoch int32) int64 {
	if e := s.epoch(leaderEpoch); e != nil {
		return e.bytes
	}
	return 0
}

// NextSegmentWithTxnIndex finds, among the finished segments that carry the epoch, may
// have a transaction index and hold, within the epoch, the offset or a later one, the
// one whose range within the epoch starts first, then by id.
func (s *Snapshot) NextSegmentWithTxnIndex(leaderEpoch int32, offset int64) (*Segment, bool) {
	e := s.finishedIn(leaderEpoch)
	if e == nil {
		return nil, false
	}
	segment := e.nextTxn(&e.finished.root, offset, nil)
	return segment, segment != nil
}

// Segment returns the segment that begins at the offset and has the id.
func (s *Snapshot) Segment(start int64, id api.UUID) (*Segment, bool) {
	if s.isDeleted() {
		return nil, false
	}
	return s.segment(start, id)
}

// Totals counts the segments in a state; none in DeleteSegmentFinished.
func (s *Snapshot) Totals(state api.RemoteLogSegmentState) Totals {
	if s.isDeleted() || state < 0 || int(state) >= len(s.totals) {
		return Totals{}
	}
	return s.totals[state]
}

// Deletion returns how far the partition's deletion is, DeletePartitionNone when none
// has begun.
func (s *Snapshot) Deletion() api.RemotePartitionDeleteState { return s.deletion }

// Orphans returns the segments that were left when the partition's deletion finished,
// in the order of lists; none before. Queries don't see them, but their remote objects
// may still be there.
func (s *Snapshot) Orphans() List {
	if s.isDeleted() {
		return List{s.byStart}
	}
	return List{}
}

func (s *Snapshot) isDeleted() bool { return s.deletion == api.DeletePartitionFinished }

// epoch returns what queries may see of the epoch, nil when that is nothing.
func (s *Snapshot) epoch(number int32) *epoch {
	if s.isDeleted() {
		return nil
	}
	return s.stored(number)
}

// finishedIn returns the epoch if it has finished segments that queries may see.
func (s *Snapshot) finishedIn(number int32) *epoch {
	if e := s.epoch(number); e != nil && e.finished.len > 0 {
		return e
	}
	return nil
}

// stored returns the epoch, nil when nothing is known of it. Most leaves hold every number
// from their first on, so the search begins where the epoch would lie there.
func (s *Snapshot) stored(number int32) *epoch {
	leaf := s.leafOf(number)
	if len(leaf) == 0 {
		return nil
	}
	i := int(number) - int(leaf[0].number)
	if uint(i) >= uint(len(leaf)) || leaf[i].number != number {
		i = below(leaf, func(e *numbered) bool { return e.number < number })
	}
	if i == len(leaf) || leaf[i].number != number {
		return nil
	}
	return leaf[i].epoch
}

// leafOf is tree.leaf for an epoch, as a search that the compiler can inline.
func (s *Snapshot) leafOf(number int32) []numbered {
	n := s.epochs.root.node
	if n == nil {
		return nil
	}
	for kids := n.branch(); kids != nil; kids = n.branch() {
		n = kids[max(0, below(kids, func(k *kid[numbered, struct{}]) bool { return k.least.number <= number })-1)].node
	}
	return n.entries
}

func (s *Snapshot) segment(start int64, id api.UUID) (*Segment, bool) {
	want := &Segment{start: start, id: id}
	leaf := s.byStart.leaf(func(segment *Segment) bool { return compareStarts(segment, want) <= 0 })
	i := below(leaf, func(segment **Segment) bool { return compareStarts(*segment, want) < 0 })
	if i == len(leaf) || compareStarts(leaf[i], want) != 0 {
		return nil, false
	}
	return leaf[i], true
}

// Epochs returns the leader epochs that something is known of, ascending: those that a
// segment carries, and those that deleted ones reached.
func (s *Snapshot) Epochs() []int32 {
	var numbers []int32
	if !s.isDeleted() {
		s.epochs.all(func(e numbered) bool {
			numbers = append(numbers, e.number)
			return true
		})
	}
	return numbers
}
