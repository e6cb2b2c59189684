package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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

// CheckGroup returns a [GroupTakenError] when the group has offsets or members for another
// topic and none for this one. Who has both is who was here before; what this client may
// not describe it doesn't see.
func (c *Cluster) CheckGroup(ctx context.Context, group, topic string) error {
	topics, err := c.committedTopics(ctx, group)
	if err != nil || slices.Contains(topics, topic) {
		return err
	}
	now, err := c.Group(ctx, group)
	if err != nil {
		return err
	}
	topics = append(topics, now.Topics...)
	if len(topics) == 0 || slices.Contains(topics, topic) {
		return nil
	}
	return &GroupTakenError{Group: group, Topic: topic, Other: topics[0]}
}

// committedTopics are the topics that the group has committed offsets for, sorted; none
// when there is no such group.
func (c *Cluster) committedTopics(ctx context.Context, group string) ([]string, error) {
	answer, err := call(ctx, func() (*sarama.OffsetFetchResponse, error) {
		return c.admin.ListConsumerGroupOffsets(group, nil)
	})
	if errors.Is(err, sarama.ErrGroupIDNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("committed offsets of group %s: %w", group, Denied(err, "Read", OnGroup(group)))
	}
	return slices.Sorted(maps.Keys(answer.Blocks)), nil
}
