package index

import (
	"iter"

	"github.com/tieredlog/rlmm/api"
)

// MetadataAfter iterates over the segments behind the place, in order, as the contract
// describes them; nil is all. The errors are nil: it is what an [api.SegmentIterator] yields.
// To begin is O(log n), wherever that is.
func (l List) MetadataAfter(place *api.SegmentCursor) iter.Seq2[api.RemoteLogSegmentMetadata, error] {
	passed := func(s *Segment) bool {
		return place != nil && api.SegmentCursor{StartOffset: s.start, ID: s.id}.Compare(*place) <= 0
	}
	return func(yield func(api.RemoteLogSegmentMetadata, error) bool) {
		if n := l.segments.root.node; n != nil {
			n.beyond(passed, func(segments []*Segment) bool { return describeAll(segments, yield) })
		}
	}
}

// describeAll describes segments in twos: a processor stalls that copies in words of 16
// bytes, as is done to yield it, what it wrote in words of 8 just before. And it describes
// them in memory of its own, since what any other function can see is copied twice. Together
// that was half of a list's time.
func describeAll(segments []*Segment, yield func(api.RemoteLogSegmentMetadata, error) bool) bool {
	var a, b api.RemoteLogSegmentMetadata
	for ; len(segments) > 1; segments = segments[2:] {
		segments[0].Describe(&a)
		segments[1].Describe(&b)
		if !yield(a, nil) || !yield(b, nil) {
			return false
		}
	}
	if len(segments) == 0 {
		return true
	}
	segments[0].Describe(&a)
	return yield(a, nil)
}

// beyond iterates over the leaves' entries that aren't passed; those that are come first.
func (n *node[T, S]) beyond(passed func(T) bool, yield func([]T) bool) bool {
	kids := n.branch()
	if kids == nil {
		return yield(n.entries[below(n.entries, func(e *T) bool { return passed(*e) }):])
	}
	// All kids before the first that is partly passed are passed; all behind it aren't.
	first := max(0, below(kids, func(k *kid[T, S]) bool { return passed(k.least) })-1)
	if !kids[first].node.beyond(passed, yield) {
		return false
	}
	rest := kids[first+1:]
	return (&node[T, S]{kids: &rest}).leaves(yield)
}
