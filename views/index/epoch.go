package index

import (
	"cmp"
	"math"
	"slices"
)

// epoch is what a partition holds of one leader epoch. Like all of a snapshot it is
// never changed, only replaced.
type epoch struct {
	number int32
	// known tells whether a segment was ever finished in the epoch. Highest is then
	// Kafka's highest offset: of all such segments, deleted ones too, bounded by the
	// epoch.
	known    bool
	highest  int64
	segments tree[*Segment, struct{}] // in every state, by start offset
	finished tree[*Segment, reach]    // by where they begin within the epoch
	bytes    int64                    // of the finished ones
	shared   []*rest                  // those that segments added later may share
}

// mostShared is more than an epoch needs: it has one leader, and few states at a time.
const mostShared = 8

// numbered is an epoch beside its number, so that a search needn't look into epochs.
type numbered struct {
	number int32
	epoch  *epoch
}

// reach sums up finished segments below a node: where the first begins within the
// epoch, and how far they reach at most. An epoch that is empty within its segment
// reaches nowhere.
type reach struct {
	first    int64
	last     int64 // within the epoch
	txnLast  int64 // the same of those that may have a transaction index
	end      int64 // the segments' own ends
	disjoint bool  // each begins behind all before it
}

const nowhere = math.MinInt64

var (
	byStart  = plainOrder(leafCap, compareStarts)
	byNumber = plainOrder(epochLeafCap, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
)

// newEpoch returns an epoch without segments.
func newEpoch(number int32) *epoch {
	return &epoch{
		number:   number,
		segments: tree[*Segment, struct{}]{order: byStart},
		finished: tree[*Segment, reach]{order: finishedOrder(number)},
	}
}

// finishedOrder sorts by first offset within the epoch; of those that begin together
// the one first finished last comes last, so that the right answer is the last in
// order that contains the offset.
func finishedOrder(epoch int32) *order[*Segment, reach] {
	return &order[*Segment, reach]{
		leafCap: leafCap,
		compare: func(a, b *Segment) int {
			first, _ := a.span(epoch)
			other, _ := b.span(epoch)
			return cmp.Or(cmp.Compare(first, other), cmp.Compare(a.finished, b.finished), compareIDs(a, b))
		},
		of:   func(s *Segment) reach { return reachOf(s, epoch) },
		join: reach.join,
	}
}

func reachOf(s *Segment, epoch int32) reach {
	first, last := s.span(epoch)
	r := reach{first: first, last: nowhere, txnLast: nowhere, end: s.end(), disjoint: true}
	if first <= last {
		r.last = last
		if !s.rest.txnIndexEmpty {
			r.txnLast = last
		}
	}
	return r
}

func (r reach) join(other reach) reach {
	return reach{
		first: min(r.first, other.first), last: max(r.last, other.last),
		txnLast: max(r.txnLast, other.txnLast), end: max(r.end, other.end),
		disjoint: r.disjoint && other.disjoint && r.last < other.first,
	}
}

// place is where, of n parts of equal length, the offset lies: a log's segments are about
// equally long. It may be any number, also for a node that reaches nowhere.
func (r reach) place(offset int64, n int) int {
	return int(float64(offset-r.first) / float64(r.last-r.first+1) * float64(n))
}

// with returns the epoch after old, which may be nil, became s.
func (e *epoch) with(old, s *Segment) *epoch {
	next := *e
	next.shared = e.sharing(s.rest)
	next.segments = e.segments.with(s)
	if old != nil && old.isFinished() {
		next.bytes -= int64(old.size)
	}
	switch {
	case s.isFinished():
		next.finished = e.finished.with(s)
		next.bytes += int64(s.size)
	case old != nil && old.isFinished():
		next.finished = e.finished.without(old)
	}
	if s.finished >= 0 {
		_, last := s.span(e.number)
		next.reached(last)
	}
	return &next
}

// sharing returns what can be shared from now on.
func (e *epoch) sharing(r *rest) []*rest {
	if !r.sharable() || slices.Contains(e.shared, r) {
		return e.shared
	}
	kept := e.shared[max(0, len(e.shared)+1-mostShared):]
	return append(slices.Clone(kept), r)
}

// without returns the epoch without the segment.
func (e *epoch) without(s *Segment) *epoch {
	next := *e
	next.segments = e.segments.without(s)
	if s.isFinished() {
		next.finished = e.finished.without(s)
		next.bytes -= int64(s.size)
	}
	return &next
}

// reached notes that a segment once finished had the offset in the epoch. It may only
// be called on an epoch that no snapshot holds yet.
func (e *epoch) reached(offset int64) {
	if !e.known || offset > e.highest {
		e.highest, e.known = offset, true
	}
}

// last returns the last in order that contains the offset: the answer of
// RemoteLogSegmentMetadata.
func (e *epoch) last(at *finishedKid, offset int64) *Segment {
	kids := at.node.branch()
	if kids == nil {
		return e.lastOf(at, offset)
	}
	// The last kid that begins in time holds ranges that begin after the offset too, so it
	// may reach far enough without containing it. All ranges below the kids before it begin
	// at or before the offset: the first of them that reaches far enough has the answer.
	for i := begunKids(at, offset) - 1; i >= 0; i-- {
		if kids[i].sum.last >= offset {
			if s := e.last(&kids[i], offset); s != nil {
				return s
			}
		}
	}
	return nil
}

func (e *epoch) lastOf(leaf *finishedKid, offset int64) *Segment {
	segments := leaf.node.entries
	for i := e.begun(leaf, offset) - 1; i >= 0; i-- {
		if _, last := segments[i].span(e.number); last >= offset {
			return segments[i]
		}
	}
	return nil
}

// finishedKid is a node of a tree of finished segments.
type finishedKid = kid[*Segment, reach]

// begunKids is how many of a branch's kids begin at or before the offset.
func begunKids(branch *finishedKid, offset int64) int {
	kids := branch.node.branch()
	return belowNear(kids, branch.sum.place(offset, len(kids)), func(k *finishedKid) bool { return k.sum.first <= offset })
}

// begun is how many of a leaf's segments begin at or before the offset, within the epoch.
func (e *epoch) begun(leaf *finishedKid, offset int64) int {
	segments := leaf.node.entries
	return belowNear(segments, leaf.sum.place(offset, len(segments)), func(s **Segment) bool {
		first, _ := (*s).span(e.number)
		return first <= offset
	})
}

// nextTxn returns, of the segments that may have a transaction index and reach the
// offset, the one that begins first, the least id among equals. Best is the answer of
// the nodes before. It is O(log n) beside the segments that begin where the answer
// does.
func (e *epoch) nextTxn(at *finishedKid, offset int64, best *Segment) *Segment {
	kids := at.node.branch()
	if kids == nil {
		return e.nextTxnOf(at, offset, best)
	}
	skipped := 0
	if at.sum.disjoint { // nothing before the last that begins in time reaches the offset
		skipped = max(0, begunKids(at, offset)-1)
	}
	for i := skipped; i < len(kids); i++ {
		k := &kids[i]
		if e.startsAfter(k.sum.first, best) {
			return best
		}
		if k.sum.txnLast >= offset {
			best = e.nextTxn(k, offset, best)
		}
	}
	return best
}

func (e *epoch) nextTxnOf(leaf *finishedKid, offset int64, best *Segment) *Segment {
	segments := leaf.node.entries
	if leaf.sum.disjoint {
		segments = segments[max(0, e.begun(leaf, offset)-1):]
	}
	for _, s := range segments {
		first, last := s.span(e.number)
		if e.startsAfter(first, best) {
			return best
		}
		if !s.rest.txnIndexEmpty && first <= last && last >= offset && (best == nil || compareIDs(s, best) < 0) {
			best = s
		}
	}
	return best
}

func (e *epoch) startsAfter(first int64, best *Segment) bool {
	if best == nil {
		return false
	}
	bestFirst, _ := best.span(e.number)
	return first > bestFirst
}

func (e *epoch) entry() numbered { return numbered{e.number, e} }

// isUnused tells whether nothing was ever finished in the epoch and no segment is
// left.
func (e *epoch) isUnused() bool { return e.segments.len == 0 && !e.known }
