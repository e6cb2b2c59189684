package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"golang.org/x/sync/errgroup"
)

// Record is a data record of a topic.
type Record struct {
	Partition int32
	Offset    int64
	// Value is nil for a null one.
	Value []byte
	// Key, Time and Headers are those of records that were fetched, not of those that are
	// followed.
	Key     []byte
	Time    time.Time // Kafka's timestamp: the writer's, or the broker's
	Headers []*sarama.RecordHeader
	// Control is whether the record is no data but a transaction's marker; only [Cluster.All]
	// tells of those.
	Control bool
}

// Records iterates over the data records of a partition from an offset, or the first that
// is still there, to the end, exclusive. Control records and offsets that retention or
// compaction took away are passed over. An error is the last step.
func (c *Cluster) Records(ctx context.Context, topic string, partition int32, from, end int64) iter.Seq2[Record, error] {
	return data(c.all(ctx, topic, partition, from, end, fetchBytes))
}

// All is Records with the control records: an offset that is missing from it was taken by
// retention or compaction.
func (c *Cluster) All(ctx context.Context, topic string, partition int32, from, end int64) iter.Seq2[Record, error] {
	return c.all(ctx, topic, partition, from, end, fetchBytes)
}

func data(records iter.Seq2[Record, error]) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range records {
			if !r.Control && !yield(r, err) {
				return
			}
		}
	}
}

// all is All with fetches of most bytes.
func (c *Cluster) all(ctx context.Context, topic string, partition int32, from, end int64, most int32) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for from < end {
			block, at, err := c.fetchFrom(ctx, topic, partition, from, most)
			if err != nil {
				yield(Record{}, fmt.Errorf("read %s/%d from %d: %w", topic, partition, at, Denied(err, "Read", OnTopic(topic))))
				return
			}
			next, more := recordsOf(block, at, end, func(r Record) bool {
				r.Partition = partition
				return yield(r, nil)
			})
			if !more || next == at {
				return // nothing lies between here and the end of the log
			}
			from = next
		}
	}
}

// fetchFrom fetches from an offset, or the first that is still there, at.
func (c *Cluster) fetchFrom(ctx context.Context, topic string, partition int32, from int64, most int32) (block *sarama.FetchResponseBlock, at int64, err error) {
	block, err = c.fetch(ctx, topic, partition, from, most)
	if !errors.Is(err, sarama.ErrOffsetOutOfRange) {
		return block, from, err
	}
	start, startErr := c.StartOffset(ctx, topic, partition)
	if startErr != nil || start <= from {
		return nil, from, cmp.Or(startErr, err)
	}
	block, err = c.fetch(ctx, topic, partition, start, most)
	return block, start, err
}

// recordsOf iterates over the records of a block from an offset to the end; next is
// the offset behind what the block holds.
func recordsOf(block *sarama.FetchResponseBlock, from, end int64, yield func(Record) bool) (next int64, more bool) {
	next = from
	for _, records := range block.RecordsSet {
		batch := records.RecordBatch
		if batch == nil {
			continue
		}
		for _, r := range batch.Records {
			offset := batch.FirstOffset + r.OffsetDelta
			if offset < from || offset >= end {
				continue
			}
			at := batch.FirstTimestamp.Add(r.TimestampDelta)
			if batch.LogAppendTime {
				at = batch.MaxTimestamp
			}
			if !yield(Record{Offset: offset, Value: r.Value, Key: r.Key, Time: at, Headers: r.Headers, Control: batch.Control}) {
				return next, false
			}
		}
		next = max(next, batch.LastOffset()+1)
	}
	return next, true
}

// RecordAt returns the data record at an offset below the partition's end, and whether
// there is one: retention or compaction may have taken it.
func (c *Cluster) RecordAt(ctx context.Context, topic string, partition int32, offset int64) (Record, bool, error) {
	for r, err := range data(c.all(ctx, topic, partition, offset, offset+1, 1)) { // one batch
		return r, err == nil, err
	}
	return Record{}, false, nil
}

// OffsetAt returns the offset of the partition's first record whose timestamp is at or
// after the time, the end when there is none.
func (c *Cluster) OffsetAt(ctx context.Context, topic string, partition int32, at time.Time) (int64, error) {
	offset, err := c.offset(ctx, topic, partition, at.UnixMilli())
	if err != nil || offset >= 0 {
		return offset, err
	}
	return c.EndOffset(ctx, topic, partition)
}

// Follow hands each record that comes to the partitions of a topic to the function, one at
// a time, from the given offsets on. It ends without an error when the context does, and
// with the function's error or that of a partition which can't be read on.
func (c *Cluster) Follow(ctx context.Context, topic string, from map[int32]int64, take func(Record) error) error {
	consumer, err := c.NewConsumer(ctx)
	if err != nil {
		return err
	}
	defer consumer.Close() //nolint:errcheck // its partitions are closed
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for partition, offset := range from {
		group.Go(func() error {
			p, err := consumer.ConsumePartition(topic, partition, offset)
			if err == nil {
				err = forward(ctx, p, func(r Record) error {
					mu.Lock()
					defer mu.Unlock()
					return take(r)
				})
			}
			if err != nil {
				return fmt.Errorf("follow %s/%d: %w", topic, partition, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// forward reads a partition until the context ends. sarama tries again after an error by
// itself, but for one after which it closes the partition.
func forward(ctx context.Context, p sarama.PartitionConsumer, take func(Record) error) error {
	defer p.Close() //nolint:errcheck // what it still tells is of no use
	last := errors.New("closed")
	for {
		select {
		case m, ok := <-p.Messages():
			if !ok {
				return last
			}
			if err := take(Record{Partition: m.Partition, Offset: m.Offset, Value: m.Value}); err != nil {
				return err
			}
		case e, ok := <-p.Errors():
			if ok {
				last = e
			}
		case <-ctx.Done():
			return nil
		}
	}
}
