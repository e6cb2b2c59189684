package index

import (
	"iter"

	"github.com/tieredlog/rlmm/api"
)

// After iterates over the segments behind the place, in order; nil is all. To begin is
// O(log n), wherever that is.
func (l List) After(place *api.SegmentCursor) iter.Seq[*Segment] {
	if place == nil {
		return l.All
	}
	passed := func(s *Segment) bool {
		return api.SegmentCursor{StartOffset: s.start, ID: s.id}.Compare(*place) <= 0
	}
	return func(yield func(*Segment) bool) {
		if n := l.segments.root.node; n != nil {
			n.beyond(passed, yield)
		}
	}
}

// beyond iterates over the entries that aren't passed; those that are come first.
func (n *node[T, S]) beyond(passed func(T) bool, yield func(T) bool) bool {
	kids := n.branch()
	if kids == nil {
		rest := n.entries[below(n.entries, func(e *T) bool { return passed(*e) }):]
		return (&node[T, S]{entries: rest}).all(yield)
	}
	// All kids before the first that is partly passed are passed; all behind it aren't.
	first := max(0, below(kids, func(k *kid[T, S]) bool { return passed(k.least) })-1)
	if !kids[first].node.beyond(passed, yield) {
		return false
	}
	rest := kids[first+1:]
	return (&node[T, S]{kids: &rest}).all(yield)
}
