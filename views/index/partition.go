package index

import (
	"sync/atomic"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// Partition is the index of one TopicIdPartition. Put and Remove are for one
// goroutine at a time; Snapshot may be called from any.
type Partition struct {
	current atomic.Pointer[Snapshot]
}

// New returns the index of a partition without rows.
func New() *Partition {
	p := &Partition{}
	p.current.Store(&Snapshot{
		deletion: api.DeletePartitionNone,
		byID:     tree[*Segment, struct{}]{order: byID},
		byStart:  tree[*Segment, struct{}]{order: byStart},
		epochs:   tree[numbered, struct{}]{order: byNumber},
	})
	return p
}

// Snapshot returns the present state. It stays as it is, whatever comes after.
func (p *Partition) Snapshot() *Snapshot { return p.current.Load() }

// Put takes in a row of the partition, in the place of the one under the same table
// key. Rows may come in any order, each the newest of its key: an index built from the
// rows answers as one that was kept up to date. A marker and a headless row take the
// segment away; what a marker says of highest offsets stays.
func (p *Partition) Put(row *codec.Row) {
	next := *p.current.Load()
	switch row.Kind {
	case codec.RowPartition:
		next.deletion = row.Delete.State
	case codec.RowSegment:
		next.put(newSegment(row, next.shared))
	default:
		next.remove(row.Segment.ID.ID)
	}
	next.raise(row.Highest)
	p.current.Store(&next)
}

// Remove takes away the row of a segment, when its tombstone was read. The highest
// offsets that the row told stay: only a row that another outdoes is ever removed.
func (p *Partition) Remove(segmentID api.UUID) {
	next := *p.current.Load()
	next.remove(segmentID)
	p.current.Store(&next)
}
