package transfer

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/source"
)

// An export begins with a head and ends with an end, so that a part isn't taken for the
// whole.
const (
	kindHead = "rlmmExport"
	kindEnd  = "end"
	version  = 1
)

type head struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
}

type end struct {
	Kind string `json:"kind"`
	Rows int    `json:"rows"`
}

// Export is the rows of an export: those of a partition lie together, its deletion first,
// then by start offset and segment id.
func Export(partitions []source.Partition) []rest.Row {
	all := []rest.Row{}
	for _, p := range partitions {
		all = append(all, exported(p)...)
	}
	return all
}

func exported(p source.Partition) (rows []rest.Row) {
	needed, order := neededMarkers(p.Rows), finishedOrder(p.Rows)
	for i := range p.Rows {
		row := &p.Rows[i]
		id := row.Segment.ID.ID
		if row.Kind == codec.RowMarker && !needed[id] {
			continue
		}
		shape := source.Shape(source.Row{MetadataPartition: -1, Row: *row})
		shape.Offset, shape.FinishedOffset = -1, -1
		if row.Kind == codec.RowSegment {
			shape.FinishedOrder = order[id]
		}
		rows = append(rows, shape)
	}
	slices.SortStableFunc(rows, func(a, b rest.Row) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Segment.StartOffset, b.Segment.StartOffset), a.Segment.ID.ID.Compare(b.Segment.ID.ID))
	})
	return rows
}

// rank puts a partition's deletion first, and then what isn't a segment.
func rank(r rest.Row) int {
	return slices.Index([]rest.RowKind{rest.RowPartitionDelete, rest.RowMarker, rest.RowHeadless, rest.RowSegment}, r.Kind)
}

// finishedOrder counts the segments that were ever finished, from 1, in that order.
func finishedOrder(rows []codec.Row) map[api.UUID]int64 {
	var finished []*codec.Row
	for i := range rows {
		if rows[i].Kind == codec.RowSegment && rows[i].FinishedOffset >= 0 {
			finished = append(finished, &rows[i])
		}
	}
	slices.SortFunc(finished, func(a, b *codec.Row) int { return cmp.Compare(a.FinishedOffset, b.FinishedOffset) })
	order := make(map[api.UUID]int64, len(finished))
	for i, row := range finished {
		order[row.Segment.ID.ID] = int64(i) + 1
	}
	return order
}

// holder is what holds an epoch's highest offset: a marker, or a segment for the zero id.
type holder struct {
	marker api.UUID
	offset int64
}

// neededMarkers are those that hold an epoch's highest offset and no segment does: of
// equals the first by key, as the table's purge keeps it. Of a partition whose deletion is
// finished none is needed.
func neededMarkers(rows []codec.Row) map[api.UUID]bool {
	holders := map[int32]holder{}
	hold := func(marker api.UUID, epoch int32, offset int64) {
		h, ok := holders[epoch]
		if better := offset > h.offset || offset == h.offset && marker.IsZero(); !ok || better {
			holders[epoch] = holder{marker, offset}
		}
	}
	for i := range rows {
		row := &rows[i]
		switch {
		case row.Kind == codec.RowPartition && row.Delete.State == api.DeletePartitionFinished:
			return nil
		case row.Kind == codec.RowMarker:
			holdAll(hold, row.Segment.ID.ID, row.Highest)
		case row.Kind == codec.RowSegment:
			holdAll(hold, api.UUID{}, row.Highest)
			holdAll(hold, api.UUID{}, reached(row))
		}
	}
	needed := map[api.UUID]bool{}
	for _, h := range holders {
		needed[h.marker] = true
	}
	return needed
}

func holdAll(hold func(api.UUID, int32, int64), marker api.UUID, highest api.LeaderEpochs) {
	for epoch, offset := range highest.All() {
		hold(marker, epoch, offset)
	}
}

// reached is how far a segment reaches in each epoch, once it was finished.
func reached(row *codec.Row) api.LeaderEpochs {
	var all []api.EpochOffset
	if row.FinishedOffset >= 0 {
		for epoch := range row.Segment.LeaderEpochs.All() {
			_, last, _ := row.Segment.EpochRange(epoch)
			all = append(all, api.EpochOffset{LeaderEpoch: epoch, Offset: last})
		}
	}
	return api.NewLeaderEpochs(all...)
}

// Write writes an export.
func Write(w io.Writer, rows []rest.Row) error {
	enc := json.NewEncoder(w)
	if err := enc.Encode(head{kindHead, version}); err != nil {
		return err
	}
	for _, row := range rows {
		if err := enc.Encode(row); err != nil {
			return err
		}
	}
	return enc.Encode(end{kindEnd, len(rows)})
}
