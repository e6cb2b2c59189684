package check

import (
	"iter"
	"math"
	"slices"

	"github.com/tieredlog/rlmm/api"
)

// ranges finds the gaps, the overlaps and what is out of order, of all epochs. A deleted
// partition has none.
func (p *partition) ranges(s *scan) []Finding {
	var gaps, overlaps []Finding
	for _, number := range s.epochs() {
		inOrder := slices.DeleteFunc(slices.Clone(s.byEpoch[number].finished), held.isEmpty)
		slices.SortFunc(inOrder, byFirst)
		gaps = append(gaps, p.gaps(number, inOrder)...)
		overlaps = append(overlaps, p.overlaps(number, inOrder)...)
	}
	return slices.Concat(gaps, overlaps, p.disorder(s))
}

func (p *partition) gaps(epoch int32, inOrder []held) (found []Finding) {
	for i, far := range farthest(inOrder) {
		if next := inOrder[i]; next.first-1 > far.last {
			f := p.finding(Gap, "epoch %d: no finished segment holds %d to %d", epoch, far.last+1, next.first-1)
			f.Span = &Span{epoch, far.last + 1, next.first - 1}
			found = append(found, f)
		}
	}
	return found
}

// overlaps tells of each segment that begins within others only the one of them that
// reaches farthest: there may be as many as there are segments.
func (p *partition) overlaps(epoch int32, inOrder []held) (found []Finding) {
	for i, far := range farthest(inOrder) {
		if next := inOrder[i]; next.first <= far.last {
			last := min(next.last, far.last)
			a, b := far.row.Segment.ID.ID, next.row.Segment.ID.ID
			f := p.finding(Overlap, "epoch %d: segments %s and %s both hold %d to %d", epoch, a, b, next.first, last)
			f.Span, f.Segments = &Span{epoch, next.first, last}, []api.UUID{a, b}
			found = append(found, f)
		}
	}
	return found
}

// farthest gives, for each segment but the first, the one before it that reaches
// farthest.
func farthest(inOrder []held) iter.Seq2[int, held] {
	return func(yield func(int, held) bool) {
		far := held{last: math.MinInt64}
		for i, h := range inOrder {
			if i > 0 && !yield(i, far) {
				return
			}
			if h.last > far.last {
				far = h
			}
		}
	}
}
