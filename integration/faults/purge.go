package faults

import (
	"github.com/IBM/sarama"
	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/table"
)

// CheckPurgedTable is CheckTable for a table whose markers are purged: records are all
// that was ever written to the partition, before compaction took any of it. What follows
// from a purge in later answers is taken into account, and each purge must be of a row
// that nothing needs any more.
func CheckPurgedTable(partition, partitions int32, records, input []*sarama.ConsumerMessage) (Replay, Findings) {
	c := purgedCheck{partition: partition, partitions: partitions, input: input, rows: map[string]*codec.Row{}, last: -1}
	c.replay.Rows = Rows{}
	for i, m := range records {
		if m.Offset != int64(i) {
			c.findings.add("table %d: the record at %d wasn't seen before it was compacted", partition, i)
			break
		}
		c.record(m)
	}
	if len(c.input) > 0 {
		c.findings.add("input %d isn't answered", c.input[0].Offset)
	}
	return c.replay, c.findings
}

type purgedCheck struct {
	partition, partitions int32
	input                 []*sarama.ConsumerMessage // what isn't answered yet
	rows                  map[string]*codec.Row
	last                  int64 // answered
	replay                Replay
	findings              Findings
}

func (c *purgedCheck) record(m *sarama.ConsumerMessage) {
	r, err := table.Parse(string(m.Key), m.Value, goka.HeadersFromSarama(m.Headers), m.Timestamp)
	if err != nil {
		c.findings.add("table %d/%d: %v", m.Partition, m.Offset, err)
		return
	}
	switch r.Kind {
	case table.Fence:
		c.replay.Fences++
		return
	case table.Progress:
		if r.Source != c.last {
			c.findings.add("table %d/%d: position %d, but %d was answered", m.Partition, m.Offset, r.Source, c.last)
		}
		return
	case table.Answer:
		c.answer(m, r)
	case table.Purge:
		c.purge(m, r)
	}
	c.replay.change(m.Offset, r)
}

func (c *purgedCheck) answer(m *sarama.ConsumerMessage, r table.Record) {
	c.replay.Answers++
	if len(c.input) == 0 || r.Source != c.input[0].Offset {
		c.findings.add("table %d/%d: answers %d after %d", m.Partition, m.Offset, r.Source, c.last)
		return
	}
	want, err := foldOne(c.rows, c.partition, c.partitions, c.input[0])
	if err != nil {
		c.findings.add("input %d: %v", r.Source, err)
	}
	c.input, c.last = c.input[1:], r.Source
	c.findings.compare(m, want, r)
}

func (c *purgedCheck) purge(m *sarama.ConsumerMessage, r table.Record) {
	c.replay.Purges++
	row := c.rows[r.Key]
	switch {
	case row == nil || row.Kind != codec.RowMarker || row.Offset != r.Source:
		c.findings.add("table %d/%d: purges %s as of %d, which is %+v", m.Partition, m.Offset, r.Key, r.Source, row)
	case c.needed(r.Key, row.Segment.ID.TopicIdPartition):
		c.findings.add("table %d/%d: purges %s, which holds the highest offset of an epoch", m.Partition, m.Offset, r.Key)
	}
	delete(c.rows, r.Key)
}

// needed tells whether an epoch's highest offset would go down without the row. It may
// once the partition's deletion is finished.
func (c *purgedCheck) needed(key string, tip api.TopicIdPartition) bool {
	if own := c.rows[codec.PartitionKey(tip)]; own != nil && own.Delete.State == api.DeletePartitionFinished {
		return false
	}
	with, without := map[int32]int64{}, map[int32]int64{}
	for k, row := range c.rows {
		if row == nil || row.Kind == codec.RowPartition || userPartitionOf(row.Segment.ID.TopicIdPartition) != userPartitionOf(tip) {
			continue
		}
		raise(with, row)
		if k != key {
			raise(without, row)
		}
	}
	for epoch, offset := range with {
		if reached, ok := without[epoch]; !ok || reached < offset {
			return true
		}
	}
	return false
}

// raise raises each epoch's highest offset to what the row tells of.
func raise(highest map[int32]int64, row *codec.Row) {
	reach := func(epoch int32, offset int64) {
		if old, ok := highest[epoch]; !ok || old < offset {
			highest[epoch] = offset
		}
	}
	for epoch, offset := range row.Highest.All() {
		reach(epoch, offset)
	}
	if row.Kind == codec.RowSegment && row.FinishedOffset >= 0 {
		for epoch := range row.Segment.LeaderEpochs.All() {
			_, last, _ := row.Segment.EpochRange(epoch)
			reach(epoch, last)
		}
	}
}

// RowsOf are the rows that a table partition comes to for a reader that knows nothing but
// keys and values.
func RowsOf(records []*sarama.ConsumerMessage) Rows {
	rows := Rows{}
	for _, m := range records {
		if !codec.IsHidden(string(m.Key)) {
			set(rows, string(m.Key), string(m.Value))
		}
	}
	return rows
}
