package index

import (
	"slices"

	"github.com/tieredlog/rlmm/api"
)

// The methods here change a snapshot that nobody else has seen yet.

// put adds the segment, or puts it in the place of the one with its id.
func (s *Snapshot) put(segment *Segment) {
	old, found := s.segment(segment.id)
	if found && !segment.inPlaceOf(old) {
		s.remove(segment.id)
		old, found = nil, false
	}
	s.byID = s.byID.with(segment)
	s.byStart = s.byStart.with(segment)
	for i := range segment.EpochCount() {
		e := s.epochOrNew(segment.EpochAt(i).LeaderEpoch)
		s.epochs = s.epochs.with(e.with(old, segment).entry())
	}
	if found {
		s.count(old, -1)
	}
	s.count(segment, 1)
}

// remove takes the segment with the id away, if there is one.
func (s *Snapshot) remove(id api.UUID) {
	old, found := s.segment(id)
	if !found {
		return
	}
	s.byID = s.byID.without(old)
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

// shared returns the same rest of another segment of the epoch, if one shares it; else a copy.
func (s *Snapshot) shared(own *rest) *rest {
	if own.sharable() {
		if e := s.stored(own.epoch); e != nil {
			if i := slices.IndexFunc(e.shared, own.same); i >= 0 {
				return e.shared[i]
			}
		}
	}
	r := *own
	return &r
}
