package index

import (
	"iter"
	"slices"
	"sync/atomic"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// Partition is the index of one TopicIdPartition. Put is for one
// goroutine at a time; Snapshot may be called from any.
type Partition struct {
	current atomic.Pointer[Snapshot]
}

// New returns the index of a partition without rows.
func New() *Partition {
	p := &Partition{}
	p.current.Store(empty())
	return p
}

func empty() *Snapshot {
	return &Snapshot{
		deletion: api.DeletePartitionNone,
		byStart:  tree[*Segment, struct{}]{order: byStart},
		epochs:   tree[numbered, struct{}]{order: byNumber},
	}
}

// Build returns the index of the newest rows of a partition's keys. They are put in the order
// of their offsets: a tree that grows at its end fills its nodes, and lies in memory as it
// is read.
func Build(rows iter.Seq[codec.Row]) *Partition {
	p := &Partition{}
	p.Build(rows)
	return p
}

// Build is [Build] into a Partition that lies in memory of the caller's, as a part of what
// a look-up finds, and that nobody has seen yet.
func (p *Partition) Build(rows iter.Seq[codec.Row]) {
	next, segments := *empty(), []*Segment(nil)
	for row := range rows {
		if row.Kind == codec.RowSegment {
			segments = append(segments, newSegment(&row))
			next.raise(row.Highest)
		} else {
			next.take(nil, &row)
		}
	}
	slices.SortFunc(segments, compareStarts)
	for _, s := range segments {
		next.put(nil, s)
	}
	p.current.Store(&next)
}

// Snapshot returns the present state. It stays as it is, whatever comes after.
func (p *Partition) Snapshot() *Snapshot { return p.current.Load() }

// Put takes in that the row of a table key was before and is after; nil is none, as with a
// tombstone. The keys may come in any order, and with the newest of their rows only: an index
// built from the rows answers as one that was kept up to date. A marker and a headless row take
// the segment away; what a row told of highest offsets stays when it goes: only a row that
// another outdoes is ever removed.
func (p *Partition) Put(before, after *codec.Row) {
	next := *p.current.Load()
	next.take(next.of(before), after)
	p.current.Store(&next)
}
