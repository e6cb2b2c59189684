package check

import (
	"cmp"
	"iter"
	"slices"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/views/index"
)

// Held is the ranges of offsets of a leader epoch that finished segments hold, ascending
// and apart: between two of them is a gap. Overlaps are joined.
func Held(segments iter.Seq[*index.Segment], epoch int32) []Span {
	var spans []Span
	for s := range segments {
		m := s.Metadata()
		if first, last, ok := m.EpochRange(epoch); ok && m.State == api.CopySegmentFinished && first <= last {
			spans = append(spans, Span{epoch, first, last})
		}
	}
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.First, b.First) })
	var joined []Span
	for _, s := range spans {
		if n := len(joined); n > 0 && s.First-1 <= joined[n-1].Last {
			joined[n-1].Last = max(joined[n-1].Last, s.Last)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// Between is the gaps between ranges as Held gives them.
func Between(held []Span) []Span {
	var gaps []Span
	for i := 1; i < len(held); i++ {
		gaps = append(gaps, Span{held[i].LeaderEpoch, held[i-1].Last + 1, held[i].First - 1})
	}
	return gaps
}
