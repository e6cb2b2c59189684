package check

import (
	"fmt"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/views/index"
)

// Snapshot compares the answers of a user partition's index with those of a scan of the
// partition's rows: the lists, totals and highest offsets of every epoch and of those next
// to it, and both look-ups at every offset where an answer may change. Every finding is of
// kind [Index]; of each query and epoch the first difference is told.
func Snapshot(tip api.TopicIdPartition, s *index.Snapshot, rows []codec.Row) []Finding {
	p := &partition{tip: tip}
	return p.compare(s, newScan(rows))
}

func (p *partition) compare(snapshot *index.Snapshot, s *scan) []Finding {
	c := comparison{partition: p, index: snapshot, scan: s}
	c.whole()
	for _, number := range s.epochs() {
		c.epoch(number)
	}
	return c.findings
}

// comparison is of one partition.
type comparison struct {
	partition *partition
	index     *index.Snapshot
	scan      *scan
	findings  []Finding
}

// differ is a finding: what was asked, and both answers.
func (c *comparison) differ(query string, index, scan any) {
	c.findings = append(c.findings, c.partition.finding(Index, "%s: the index says %v, the rows say %v", query, index, scan))
}

// whole compares what isn't of one epoch.
func (c *comparison) whole() {
	if got := c.index.Deletion(); got != c.scan.deletion {
		c.differ("state of the partition's deletion", got, c.scan.deletion)
	}
	c.list("list of all", c.index.ListRemoteLogSegments(), c.scan.visible())
	var orphans []*codec.Row
	if c.scan.isDeleted() {
		orphans = c.scan.segments
	}
	c.list("segments left over", c.index.Orphans(), orphans)
	c.byID()
	c.totals()
}

func (c *comparison) byID() {
	for _, row := range c.scan.segments {
		want := row
		if c.scan.isDeleted() {
			want = nil
		}
		if got, _ := c.index.Segment(row.Segment.StartOffset, row.Segment.ID.ID); !same(got, want) {
			c.differ("segment "+row.Segment.ID.ID.String(), named(got), rowName(want))
			return
		}
	}
}

func (c *comparison) totals() {
	for state := api.CopySegmentStarted; state <= api.DeleteSegmentFinished; state++ {
		var want index.Totals
		for _, row := range c.scan.visible() {
			if row.Segment.State == state {
				want.Segments++
				want.Bytes += int64(row.Segment.SegmentSizeInBytes)
			}
		}
		if got := c.index.Totals(state); got != want {
			c.differ("totals of "+state.String(), got, want)
		}
	}
}

func (c *comparison) epoch(number int32) {
	e := c.scan.byEpoch[number]
	c.list(fmt.Sprintf("list of epoch %d", number), c.index.ListRemoteLogSegmentsByEpoch(number), e.segments)
	if got, want := c.index.RemoteLogSize(number), e.size(); got != want {
		c.differ(fmt.Sprintf("size of epoch %d", number), got, want)
	}
	c.highest(number, e)
	offsets := e.offsets(number)
	c.lookUp("segment of epoch", number, offsets, c.index.RemoteLogSegmentMetadata, e.get())
	c.lookUp("next segment with a transaction index of epoch", number, offsets, c.index.NextSegmentWithTxnIndex, e.nextTxn())
}

func (c *comparison) highest(number int32, e epochScan) {
	want, wanted := e.highest()
	if got, ok := c.index.HighestOffsetForEpoch(number); ok != wanted || got != want {
		c.differ(fmt.Sprintf("highest offset of epoch %d", number), optional(got, ok), optional(want, wanted))
	}
	want, wanted = c.scan.reached[number]
	if c.scan.isDeleted() {
		want, wanted = 0, false
	}
	if got, ok := c.index.BoundedHighestOffsetForEpoch(number); ok != wanted || got != want {
		c.differ(fmt.Sprintf("highest offset within epoch %d", number), optional(got, ok), optional(want, wanted))
	}
}

// lookUp compares a look-up at all offsets, which ascend.
func (c *comparison) lookUp(
	query string, number int32, offsets []int64,
	ask func(int32, int64) (*index.Segment, bool), look func(int64) *codec.Row,
) {
	for _, offset := range offsets {
		got, ok := ask(number, offset)
		if want := look(offset); ok != (got != nil) || !same(got, want) {
			c.differ(fmt.Sprintf("%s %d at %d", query, number, offset), named(got), rowName(want))
			return
		}
	}
}

func (c *comparison) list(query string, got index.List, want []*codec.Row) {
	if got.Len() != len(want) {
		c.differ(query, fmt.Sprint(got.Len(), " segments"), fmt.Sprint(len(want), " segments"))
		return
	}
	i := 0
	for s := range got.All {
		if i == len(want) || !same(s, want[i]) {
			break
		}
		i++
	}
	if i < len(want) {
		c.differ(fmt.Sprintf("%s, place %d", query, i), "another segment", rowName(want[i]))
	}
}

// same tells whether both are the same segment in every field, or both none.
func same(s *index.Segment, row *codec.Row) bool {
	if s == nil || row == nil {
		return s == nil && row == nil
	}
	return s.ID() == row.Segment.ID.ID && s.Metadata().Equal(row.Segment)
}

func named(s *index.Segment) string {
	if s == nil {
		return none
	}
	return fmt.Sprintf("%s in %s", s.ID(), s.State())
}

func rowName(row *codec.Row) string {
	if row == nil {
		return none
	}
	return fmt.Sprintf("%s in %s", row.Segment.ID.ID, row.Segment.State)
}

func optional(offset int64, ok bool) string {
	if !ok {
		return none
	}
	return fmt.Sprint(offset)
}

const none = "none"
