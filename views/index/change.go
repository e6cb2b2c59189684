package index

import (
	"slices"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// The methods here change a snapshot that nobody else has seen yet.

// of returns the segment of a row, nil when there is none.
func (s *Snapshot) of(row *codec.Row) *Segment {
	if row == nil || row.Kind != codec.RowSegment {
		return nil
	}
	segment, _ := s.segment(row.Segment.StartOffset, row.Segment.ID.ID)
	return segment
}

// take takes in what is under a key that had the segment, or none.
func (s *Snapshot) take(old *Segment, row *codec.Row) {
	switch {
	case row != nil && row.Kind == codec.RowPartition:
		s.deletion = row.Delete.State
	case row != nil && row.Kind == codec.RowSegment:
		s.put(old, newSegment(row))
	default:
		s.remove(old)
	}
	if row != nil {
		s.raise(row.Highest)
	}
}

// put adds the segment, which nobody has seen yet, or puts it in the place of the old one.
func (s *Snapshot) put(old, segment *Segment) {
	if old != nil && !segment.inPlaceOf(old) {
		s.remove(old)
		old = nil
	}
	segment.rest = s.shared(segment.rest)
	s.byStart = s.byStart.with(segment)
	for i := range segment.EpochCount() {
		e := s.epochOrNew(segment.EpochAt(i).LeaderEpoch)
		s.epochs = s.epochs.with(e.with(old, segment).entry())
	}
	if old != nil {
		s.count(old, -1)
	}
	s.count(segment, 1)
}

// remove takes the segment away, if there is one.
func (s *Snapshot) remove(old *Segment) {
	if old == nil {
		return
	}
	s.byStart = s.byStart.without(old)
	for i := range old.EpochCount() {
		e := s.epochOrNew(old.EpochAt(i).LeaderEpoch).without(old)
		if e.isUnused() {
			s.epochs = s.epochs.without(e.entry())
		} else {
			s.epochs = s.epochs.with(e.entry())
		}
	}
	s.count(old, -1)
}

// raise takes in the highest offsets of segments that are gone.
func (s *Snapshot) raise(highest api.LeaderEpochs) {
	for number, offset := range highest.All() {
		e := *s.epochOrNew(number)
		e.reached(offset)
		s.epochs = s.epochs.with(e.entry())
	}
}

func (s *Snapshot) epochOrNew(number int32) *epoch {
	if e := s.stored(number); e != nil {
		return e
	}
	return newEpoch(number)
}

func (s *Snapshot) count(segment *Segment, sign int) {
	t := &s.totals[segment.rest.state]
	t.Segments += sign
	t.Bytes += int64(sign) * int64(segment.size)
}

// shared returns the same rest of another segment of the epoch, if one shares it.
func (s *Snapshot) shared(own *rest) *rest {
	if e := s.stored(own.epoch); e != nil && own.sharable() {
		if i := slices.IndexFunc(e.shared, own.same); i >= 0 {
			return e.shared[i]
		}
	}
	return own
}
