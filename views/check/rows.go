package check

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/views/index"
)

// StoredRow is a key of the table and its value.
type StoredRow = store.Row

// Options say what rows must fit.
type Options struct {
	// MetadataPartition is the metadata partition that the rows are of, one of
	// MetadataPartitions. When that is 0 or less, no row is misplaced.
	MetadataPartition, MetadataPartitions int32
	// Now is what ages are taken at; the zero value is the time of the call.
	Now time.Time
	// OrphanAge is how long ago, by its event timestamp, a copy or a deletion that didn't
	// end must have begun to be an Orphan. 0 or less is any time up to now.
	OrphanAge time.Duration
}

// Rows checks all rows of a store, in the order of their keys, as store.Rows gives them. An
// error is that of the iteration, or says that the rows aren't in order; what is wrong with
// a row is a finding. It takes memory for the rows of one user partition at a time, and
// n·log n time for n segments.
func Rows(rows iter.Seq2[StoredRow, error], o Options) (Report, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	c := checker{options: o}
	for r, err := range rows {
		if err != nil {
			return Report{}, err
		}
		if key := string(r.Key); c.report.Rows > 0 && key <= c.last {
			return Report{}, fmt.Errorf("rows out of order: %q after %q", key, c.last)
		}
		c.add(string(r.Key), r.Value)
	}
	c.endPartition()
	return c.report, nil
}

// Partition checks the rows of one user partition that are decoded already.
func Partition(rows []codec.Row, o Options) Report {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	c := checker{options: o}
	for i := range rows {
		row := &rows[i]
		c.report.Rows++
		key, k := keyOf(row)
		c.take(key, k, row, invalid(row))
	}
	c.endPartition()
	return c.report
}

// keyOf is the key that the row has in the table.
func keyOf(row *codec.Row) (string, codec.Key) {
	if row.Kind == codec.RowPartition {
		tip := row.Delete.TopicIdPartition
		return codec.PartitionKey(tip), codec.Key{Kind: codec.KeyPartition, ID: api.RemoteLogSegmentID{TopicIdPartition: tip}}
	}
	return codec.SegmentKey(row.Segment.ID), codec.Key{Kind: codec.KeySegment, ID: row.Segment.ID}
}

// InOrder iterates over rows, by key, as store.Dump gives them.
func InOrder(rows map[string]string) iter.Seq2[StoredRow, error] {
	return func(yield func(StoredRow, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(rows)) {
			if !yield(StoredRow{Key: []byte(key), Value: []byte(rows[key])}, nil) {
				return
			}
		}
	}
}

// checker goes through the rows and keeps those of one user partition.
type checker struct {
	options Options
	report  Report
	last    string // the key before
	current *partition
}

// partition is a user partition and its rows, in the order of their keys.
type partition struct {
	tip  api.TopicIdPartition // with the name that its first row has
	rows []codec.Row
}

// is tells whether the partition is this one, whatever its name.
func (p *partition) is(tip api.TopicIdPartition) bool {
	return p.tip.TopicID == tip.TopicID && p.tip.Partition == tip.Partition
}

// add takes in the next row. The rows of a partition lie together.
func (c *checker) add(key string, value []byte) {
	c.report.Rows++
	c.last = key
	k, err := codec.ParseKey(key)
	if err != nil {
		c.found(Finding{Kind: Row, Key: key, Message: err.Error()})
		return
	}
	tip := k.ID.TopicIdPartition
	if c.current != nil && !c.current.is(tip) {
		c.endPartition()
	}
	row, err := codec.DecodeRow(k, value)
	if err == nil {
		err = invalid(&row)
	}
	c.take(key, k, &row, err)
}

// take keeps a row, unless an error says that it is none.
func (c *checker) take(key string, k codec.Key, row *codec.Row, err error) {
	tip := k.ID.TopicIdPartition
	if err != nil {
		c.found(Finding{Kind: Row, Key: key, Partition: tip, Segments: segmentOf(k), Message: err.Error()})
		return
	}
	c.checkPlace(key, k)
	c.in(tip, row)
}

// in keeps the row with those of its partition.
func (c *checker) in(tip api.TopicIdPartition, row *codec.Row) {
	if c.current == nil {
		tip.Topic = nameOf(row)
		c.current = &partition{tip: tip}
		c.report.Partitions++
	}
	if row.Kind == codec.RowSegment {
		c.report.Segments++
	}
	c.current.rows = append(c.current.rows, *row)
}

func (c *checker) checkPlace(key string, k codec.Key) {
	o, tip := c.options, k.ID.TopicIdPartition
	if o.MetadataPartitions <= 0 {
		return
	}
	if home := codec.MetadataPartition(tip, o.MetadataPartitions); home != o.MetadataPartition {
		c.found(Finding{
			Kind: Misplaced, Key: key, Partition: tip, Segments: segmentOf(k),
			Message: fmt.Sprintf("lies in metadata partition %d, belongs in %d of %d", o.MetadataPartition, home, o.MetadataPartitions),
		})
	}
}

// endPartition checks the partition whose rows are complete.
func (c *checker) endPartition() {
	p := c.current
	if p == nil {
		return
	}
	c.current = nil
	s := newScan(p.rows)
	c.found(p.compare(index.Build(slices.Values(p.rows)).Snapshot(), s)...)
	c.found(p.ranges(s)...)
	c.found(p.orphans(s.isDeleted(), c.options.Now, c.options.OrphanAge)...)
}

func (c *checker) found(findings ...Finding) {
	c.report.Findings = append(c.report.Findings, findings...)
}

func (p *partition) finding(kind Kind, format string, args ...any) Finding {
	return Finding{Kind: kind, Key: codec.PartitionKey(p.tip), Partition: p.tip, Message: fmt.Sprintf(format, args...)}
}

func segmentOf(k codec.Key) []api.UUID {
	if k.Kind != codec.KeySegment {
		return nil
	}
	return []api.UUID{k.ID.ID}
}

func nameOf(row *codec.Row) string {
	if row.Kind == codec.RowPartition {
		return row.Delete.TopicIdPartition.Topic
	}
	return row.Segment.ID.TopicIdPartition.Topic
}
