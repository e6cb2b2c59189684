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
		if why := whyOrphan(row, deleted, old); why != "" {
			f := p.finding(Orphan, "segment %s: %s (last event %s)", row.Segment.ID.ID, why, last.Format(time.RFC3339))
			f.Key, f.Segments = codec.SegmentKey(row.Segment.ID), []api.UUID{row.Segment.ID.ID}
			found = append(found, f)
		}
	}
	return found
}

// whyOrphan is empty for what isn't one.
func whyOrphan(row *codec.Row, deleted, old bool) string {
	switch state := row.Segment.State; {
	case row.Kind == codec.RowHeadless:
		return "its deletion began, and it was never added"
	case row.Kind != codec.RowSegment:
		return ""
	case deleted:
		return fmt.Sprintf("it is in %s, and its partition's deletion is finished", state)
	case old && state == api.CopySegmentStarted:
		return "its copy began and never ended"
	case old && state == api.DeleteSegmentStarted:
		return "its deletion began and never ended"
	}
	return ""
}
