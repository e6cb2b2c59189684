package kafka

import (
	"context"
	"fmt"

	"github.com/IBM/sarama"
)

// CommittedOffset returns the offset that the group has committed for the partition, the
// next one that it would read; −1 is none.
func (c *Cluster) CommittedOffset(ctx context.Context, group, topic string, partition int32) (int64, error) {
	offset, err := call(ctx, func() (int64, error) {
		resp, err := c.admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {partition}})
		if err != nil {
			return 0, err
		}
		if resp.Err != sarama.ErrNoError {
			return 0, resp.Err
		}
		block := resp.GetBlock(topic, partition)
		if block == nil {
			return 0, sarama.ErrIncompleteResponse
		}
		if block.Err != sarama.ErrNoError {
			return 0, block.Err
		}
		return block.Offset, nil
	})
	if err != nil {
		return 0, fmt.Errorf("committed offset of group %s for %s/%d: %w", group, topic, partition, err)
	}
	return offset, nil
}
