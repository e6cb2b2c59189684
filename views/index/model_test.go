package index_test

import (
	"cmp"
	"math"
	"slices"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// model is the contract said again, plainly: lists that are scanned for every answer. It
// shares no code with the fold or the index.
type model struct {
	segments []modelSegment
	reached  map[int32]int64 // the bounded highest offsets
	deletion api.RemotePartitionDeleteState
	offset   int64
}

type modelSegment struct {
	api.RemoteLogSegmentMetadata
	finished int64
}

func newModel() *model { return &model{reached: map[int32]int64{}, deletion: api.DeletePartitionNone} }

// apply takes in an event and says what became of it.
func (m *model) apply(event api.RemoteLogMetadata) codec.Outcome {
	m.offset++
	switch e := event.(type) {
	case api.RemoteLogSegmentMetadata:
		if m.find(e.ID.ID) != nil || e.State != api.CopySegmentStarted {
			return codec.OutcomeInvalidAdd
		}
		m.segments = append(m.segments, modelSegment{e, -1})
	case api.RemoteLogSegmentMetadataUpdate:
		return m.update(m.find(e.ID.ID), e)
	case api.RemotePartitionDeleteMetadata:
		if e.State != m.deletion && e.State != m.deletion+1 {
			return codec.OutcomeInvalidPartitionDeleteTransition
		}
		m.deletion = e.State
	}
	return codec.OutcomeApplied
}

func (m *model) update(s *modelSegment, u api.RemoteLogSegmentMetadataUpdate) codec.Outcome {
	if s == nil {
		return codec.OutcomeSegmentNotFound
	}
	type move struct{ from, to api.RemoteLogSegmentState }
	switch (move{s.State, u.State}) {
	case move{api.DeleteSegmentStarted, api.DeleteSegmentFinished}:
		m.segments = slices.DeleteFunc(m.segments, func(o modelSegment) bool { return o.ID.ID == u.ID.ID })
		return codec.OutcomeApplied
	case move{api.CopySegmentStarted, api.CopySegmentFinished}:
		s.finished = m.offset
		for epoch := range s.LeaderEpochs.All() {
			_, last := s.within(epoch)
			if old, known := m.reached[epoch]; !known || last > old {
				m.reached[epoch] = last
			}
		}
	case move{api.CopySegmentFinished, api.CopySegmentFinished}, move{api.CopySegmentStarted, api.DeleteSegmentStarted},
		move{api.CopySegmentFinished, api.DeleteSegmentStarted}, move{api.DeleteSegmentStarted, api.DeleteSegmentStarted}:
	default:
		return codec.OutcomeInvalidSegmentTransition
	}
	s.State, s.BrokerID, s.EventTimestampMs = u.State, u.BrokerID, u.EventTimestampMs
	if u.CustomMetadata.Present() {
		s.CustomMetadata = u.CustomMetadata
	}
	return codec.OutcomeApplied
}

func (m *model) find(id api.UUID) *modelSegment {
	for i := range m.segments {
		if m.segments[i].ID.ID == id {
			return &m.segments[i]
		}
	}
	return nil
}

// within is the first and last offset of the segment in an epoch that it carries.
func (s *modelSegment) within(epoch int32) (first, last int64) {
	next := int64(math.MaxInt64)
	for e, offset := range s.LeaderEpochs.All() {
		if e == epoch {
			first = max(offset, s.StartOffset)
		}
		if e > epoch && next == math.MaxInt64 {
			next = offset
		}
	}
	return first, min(s.EndOffset, next-1)
}

// visible are the segments that queries see, in the order of lists.
func (m *model) visible(keep func(*modelSegment) bool) (kept []modelSegment) {
	for _, s := range m.segments {
		if m.deletion != api.DeletePartitionFinished && keep(&s) {
			kept = append(kept, s)
		}
	}
	slices.SortFunc(kept, func(a, b modelSegment) int {
		return cmp.Or(cmp.Compare(a.StartOffset, b.StartOffset), a.ID.ID.Compare(b.ID.ID))
	})
	return kept
}

func carries(epoch int32) func(*modelSegment) bool {
	return func(s *modelSegment) bool { _, ok := s.LeaderEpochs.Find(epoch); return ok }
}

func (m *model) finished(epoch int32) []modelSegment {
	return m.visible(func(s *modelSegment) bool { return carries(epoch)(s) && s.State == api.CopySegmentFinished })
}

func (m *model) get(epoch int32, offset int64) (best *modelSegment) {
	for _, s := range m.finished(epoch) {
		first, last := s.within(epoch)
		if first <= offset && offset <= last && (best == nil || s.begins(best, epoch) > 0 || s.begins(best, epoch) == 0 && s.finished > best.finished) {
			best = &s
		}
	}
	return best
}

func (m *model) nextTxn(epoch int32, offset int64) (best *modelSegment) {
	for _, s := range m.finished(epoch) {
		first, last := s.within(epoch)
		if s.TxnIndexEmpty || last < offset || last < first {
			continue
		}
		if best == nil || s.begins(best, epoch) < 0 || s.begins(best, epoch) == 0 && s.ID.ID.Compare(best.ID.ID) < 0 {
			best = &s
		}
	}
	return best
}

// begins compares where two segments begin within an epoch.
func (s *modelSegment) begins(other *modelSegment, epoch int32) int {
	a, _ := s.within(epoch)
	b, _ := other.within(epoch)
	return cmp.Compare(a, b)
}
