package check

import (
	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// Counts is what a list of partitions tells of one.
type Counts struct {
	// Segments counts those that aren't deleted, Bytes is the size of the finished ones.
	Segments int
	Bytes    int64
}

// CountsOf counts a user partition's rows.
func CountsOf(rows []codec.Row) (c Counts) {
	for _, row := range newScan(rows).visible() {
		c.Segments++
		if row.Segment.State == api.CopySegmentFinished {
			c.Bytes += int64(row.Segment.SegmentSizeInBytes)
		}
	}
	return c
}

// CompareCounts returns a finding of kind [Counter] when what was told of the partition
// isn't what its rows come to.
func CompareCounts(tip api.TopicIdPartition, told, rows Counts) []Finding {
	if told == rows {
		return nil
	}
	p := &partition{tip: tip}
	return []Finding{p.finding(Counter, "%d segments of %d bytes are told, the rows say %d of %d", told.Segments, told.Bytes, rows.Segments, rows.Bytes)}
}
