package index

import "github.com/tieredlog/rlmm/api"

// List is a list of segments as they were in one snapshot. It costs nothing until it
// is read.
type List struct{ segments tree[*Segment, struct{}] }

// Len returns the number of segments.
func (l List) Len() int { return l.segments.len }

// All iterates over the segments in order: for s := range list.All.
func (l List) All(yield func(*Segment) bool) { l.segments.all(yield) }

// Metadata returns the segments as the contract describes them, in order; empty, not
// nil, when there is none. The slice is the caller's.
func (l List) Metadata() []api.RemoteLogSegmentMetadata {
	all, n := make([]api.RemoteLogSegmentMetadata, l.Len()), 0
	for s := range l.All {
		s.Describe(&all[n])
		n++
	}
	return all
}
