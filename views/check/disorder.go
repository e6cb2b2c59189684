package check

import (
	"slices"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// disorder finds epochs that don't ascend with the offsets: within segments, by start
// offset, and then between them, by epoch.
func (p *partition) disorder(s *scan) (found []Finding) {
	for _, row := range s.visible() {
		found = append(found, p.within(row)...)
	}
	return append(found, p.between(s)...)
}

// within tells of a segment the first epoch that begins before a lower one does.
func (p *partition) within(row *codec.Row) []Finding {
	before := int64(-1)
	for epoch, offset := range row.Segment.LeaderEpochs.All() {
		if offset < before {
			id := row.Segment.ID.ID
			return []Finding{p.disordered(Span{epoch, offset, before}, id,
				"epoch %d: segment %s says that it begins at %d, and a lower one at %d", epoch, id, offset, before)}
		}
		before = offset
	}
	return nil
}

// between tells of each epoch how far it reaches into higher ones that segments hold, of
// several the one that begins first.
func (p *partition) between(s *scan) (found []Finding) {
	var higher held // of all epochs above, what begins first
	numbers := s.epochs()
	for _, number := range slices.Backward(numbers) {
		first, far := extent(s.byEpoch[number].finished)
		if far.row == nil {
			continue
		}
		if higher.row != nil && far.last >= higher.first {
			a, b := far.row.Segment.ID.ID, higher.row.Segment.ID.ID
			f := p.disordered(Span{number, higher.first, far.last}, a,
				"epoch %d: segment %s holds it up to %d, and segment %s a higher one from %d", number, a, far.last, b, higher.first)
			f.Segments = append(f.Segments, b)
			found = append(found, f)
		}
		if higher.row == nil || first.first < higher.first {
			higher = first
		}
	}
	slices.Reverse(found)
	return found
}

// extent is the ranges that begin first and that reach farthest; empty ones don't count.
func extent(ranges []held) (first, far held) {
	for _, h := range ranges {
		if h.isEmpty() {
			continue
		}
		if first.row == nil || h.first < first.first {
			first = h
		}
		if far.row == nil || h.last > far.last {
			far = h
		}
	}
	return first, far
}

func (p *partition) disordered(span Span, segment api.UUID, format string, args ...any) Finding {
	f := p.finding(EpochOrder, format, args...)
	f.Span, f.Segments = &span, []api.UUID{segment}
	return f
}
