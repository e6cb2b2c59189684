package check

import (
	"fmt"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// orphans finds the segments whose remote objects may be left, by key. Only what may still
// end by itself is given time: copies and deletions that have begun.
func (p *partition) orphans(deleted bool, now time.Time, age time.Duration) (found []Finding) {
	for i := range p.rows {
		row := &p.rows[i]
		last := time.UnixMilli(row.Segment.EventTimestampMs).UTC()
		old := now.Sub(last) >= max(0, age)
		if why := WhyOrphan(row, deleted, old); why != NoOrphan {
			f := p.finding(Orphan, "segment %s: %s (last event %s)", row.Segment.ID.ID, why.Text(row), last.Format(time.RFC3339))
			f.Key, f.Segments = codec.SegmentKey(row.Segment.ID), []api.UUID{row.Segment.ID.ID}
			found = append(found, f)
		}
	}
	return found
}

// Why says why a segment is an orphan.
type Why string

// The reasons.
const (
	// NoOrphan is what isn't one.
	NoOrphan Why = ""
	// Headless is a deletion that began of a segment that was never added.
	Headless Why = "headless"
	// PartitionDeleted is a segment that was left when its partition's deletion finished.
	PartitionDeleted Why = "partition_deleted"
	// CopyUnfinished is a copy that began long ago and never ended.
	CopyUnfinished Why = "copy_unfinished"
	// DeleteUnfinished is a deletion that began long ago and never ended.
	DeleteUnfinished Why = "delete_unfinished"
)

// WhyOrphan tells whether the row is of an orphan. Deleted says that the deletion of its
// partition is finished, old that its last event is as long ago as a copy or a deletion
// may take.
func WhyOrphan(row *codec.Row, deleted, old bool) Why {
	switch state := row.Segment.State; {
	case row.Kind == codec.RowHeadless:
		return Headless
	case row.Kind != codec.RowSegment:
		return NoOrphan
	case deleted:
		return PartitionDeleted
	case old && state == api.CopySegmentStarted:
		return CopyUnfinished
	case old && state == api.DeleteSegmentStarted:
		return DeleteUnfinished
	}
	return NoOrphan
}

// Text says it in words.
func (w Why) Text(row *codec.Row) string {
	switch w {
	case Headless:
		return "its deletion began, and it was never added"
	case PartitionDeleted:
		return fmt.Sprintf("it is in %s, and its partition's deletion is finished", row.Segment.State)
	case CopyUnfinished:
		return "its copy began and never ended"
	case DeleteUnfinished:
		return "its deletion began and never ended"
	}
	return string(w)
}
