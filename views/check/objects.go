package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// Objects compares the rows of all partitions with the segments of which a listing of the
// remote storage has objects. The listing must have been made before the rows were read: a
// segment is added before its first object is written. The zero value isn't usable.
type Objects struct {
	options Options
	names   map[api.UUID]string // of those that no row has told of yet
}

// NewObjects returns the comparison with a listing: by segment, an object's name. The map is
// used up. What a finished segment lacks is told once its last event is OrphanAge ago.
func NewObjects(names map[api.UUID]string, o Options) *Objects {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	return &Objects{o, names}
}

// Partition compares the rows of one user partition, and returns what is missing and what
// should be gone, in the order of the rows.
func (o *Objects) Partition(tip api.TopicIdPartition, rows []codec.Row) (found []Finding) {
	p := &partition{tip: tip}
	for i := range rows {
		row := &rows[i]
		if row.Kind == codec.RowPartition {
			continue
		}
		id := row.Segment.ID.ID
		name, there := o.names[id]
		delete(o.names, id)
		switch {
		case there && row.Kind == codec.RowMarker:
			f := p.finding(DeletedObject, "segment %s is deleted, and its object is there", id)
			f.Key, f.Segments = name, []api.UUID{id}
			found = append(found, f)
		case !there && o.needsObject(row):
			f := p.finding(MissingObject, "segment %s is finished, and no object of the listing has its id", id)
			f.Key, f.Segments = codec.SegmentKey(row.Segment.ID), []api.UUID{id}
			found = append(found, f)
		}
	}
	return found
}

func (o *Objects) needsObject(row *codec.Row) bool {
	last := time.UnixMilli(row.Segment.EventTimestampMs)
	return row.Kind == codec.RowSegment && row.Segment.State == api.CopySegmentFinished && o.options.Now.Sub(last) >= max(0, o.options.OrphanAge)
}

// Unknown returns, once all partitions were compared, the objects that no row told of, by
// name.
func (o *Objects) Unknown() (found []Finding) {
	for id, name := range o.names {
		found = append(found, Finding{
			Kind: UnknownObject, Key: name, Segments: []api.UUID{id},
			Message: fmt.Sprintf("no event tells of segment %s", id),
		})
	}
	slices.SortFunc(found, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Key, b.Key), a.Segments[0].Compare(b.Segments[0])) })
	return found
}
