package kafka

import (
	"context"
	"errors"

	"github.com/IBM/sarama"
)

// fetchBytes is how much of a partition one look at its tail may bring.
const fetchBytes = 1 << 20

// FirstData returns the offset of the first data record at or after from and below
// end, and whether there is one. Control records, and offsets that retention or
// compaction took away, are no data: a reader can wait for them for ever.
func (c *Cluster) FirstData(ctx context.Context, topic string, partition int32, from, end int64) (int64, bool, error) {
	for r, err := range c.Records(ctx, topic, partition, from, end) {
		return r.Offset, err == nil, err
	}
	return 0, false, nil
}

// DataEnd returns the offset behind the last data record of a partition, where it begins
// when there is none. What follows up to the end offset, control records for one, a reader
// can wait for for ever.
func (c *Cluster) DataEnd(ctx context.Context, topic string, partition int32) (int64, error) {
	end, err := c.EndOffset(ctx, topic, partition)
	if err != nil {
		return 0, err
	}
	for tail := int64(1); tail < 16*end; tail *= 16 {
		from, behind := max(0, end-tail), int64(0)
		for r, err := range c.Records(ctx, topic, partition, from, end) {
			if err != nil {
				return 0, err
			}
			behind = r.Offset + 1
		}
		if behind > 0 {
			return behind, nil
		}
	}
	return c.StartOffset(ctx, topic, partition)
}

// MayRead returns a [DeniedError] when this client may not read the topic: sarama's
// consumers say so in a log only, and wait. Other errors show elsewhere.
func (c *Cluster) MayRead(ctx context.Context, topic string) error {
	_, err := c.fetch(ctx, topic, 0, 0, fetchBytes)
	if err = Denied(err, "Read", OnTopic(topic)); IsDenied(err) {
		return err
	}
	return nil
}

// fetch brings most bytes of a partition at most, or one batch when that is larger.
func (c *Cluster) fetch(ctx context.Context, topic string, partition int32, from int64, most int32) (*sarama.FetchResponseBlock, error) {
	block, err := c.fetches.get(ctx, fetchKey{topicPartition{topic, partition}, from, most})
	if errors.As(err, new(sarama.KError)) && !errors.Is(err, sarama.ErrOffsetOutOfRange) {
		_ = c.offsets.refresh(ctx, topic) // a moved leader; the next try finds it
	}
	return block, err
}
