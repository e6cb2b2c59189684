package kafka

import (
	"context"
	"fmt"

	"github.com/IBM/sarama"
)

// fetchBytes is how much of a partition one look at its tail may bring.
const fetchBytes = 1 << 20

// FirstData returns the offset of the first data record at or after from and below
// end, and whether there is one. Control records, and offsets that retention or
// compaction took away, are no data: a reader can wait for them for ever.
func (c *Cluster) FirstData(ctx context.Context, topic string, partition int32, from, end int64) (int64, bool, error) {
	start, err := c.StartOffset(ctx, topic, partition)
	if err != nil {
		return 0, false, err
	}
	for from = max(from, start); from < end; {
		block, err := c.fetch(ctx, topic, partition, from)
		if err != nil {
			return 0, false, fmt.Errorf("look at the tail of %s/%d from %d: %w", topic, partition, from, err)
		}
		offset, found, next := firstData(block, from)
		if found {
			return offset, offset < end, nil
		}
		if next == from {
			return 0, false, nil // nothing lies between here and the end of the log
		}
		from = next
	}
	return 0, false, nil
}

// firstData looks for the first data record at or after from; without one, next is
// the offset behind what the block holds.
func firstData(block *sarama.FetchResponseBlock, from int64) (offset int64, found bool, next int64) {
	next = from
	for _, records := range block.RecordsSet {
		batch := records.RecordBatch
		if batch == nil {
			continue
		}
		if !batch.Control {
			for _, r := range batch.Records {
				if o := batch.FirstOffset + r.OffsetDelta; o >= from {
					return o, true, o
				}
			}
		}
		next = max(next, batch.LastOffset()+1)
	}
	return 0, false, next
}

func (c *Cluster) fetch(ctx context.Context, topic string, partition int32, from int64) (*sarama.FetchResponseBlock, error) {
	return call(ctx, func() (*sarama.FetchResponseBlock, error) {
		leader, err := c.client.Leader(topic, partition)
		if err != nil {
			return nil, err
		}
		req := &sarama.FetchRequest{Version: 4, MinBytes: 0, MaxWaitTime: 0, MaxBytes: fetchBytes}
		req.AddBlock(topic, partition, from, fetchBytes, -1)
		resp, err := leader.Fetch(req)
		if err != nil {
			return nil, closeBroken(leader, err)
		}
		block := resp.GetBlock(topic, partition)
		if block == nil {
			return nil, sarama.ErrIncompleteResponse
		}
		if block.Err != sarama.ErrNoError {
			_ = c.client.RefreshMetadata(topic) // a moved leader; the next try finds it
			return nil, block.Err
		}
		return block, nil
	})
}
