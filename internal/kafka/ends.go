package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/IBM/sarama"
)

// EndOffsets returns the end offsets of partitions of a topic, with one request to each
// of their leaders. It returns those that could be had, and an error for the others.
func (c *Cluster) EndOffsets(ctx context.Context, topic string, partitions []int32) (map[int32]int64, error) {
	leaders, err := call(ctx, func() (map[int32][]int32, error) { return c.leaders(topic, partitions) })
	ends, errs := make(map[int32]int64, len(partitions)), []error{err}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for leader, led := range leaders {
		asking.Go(func() {
			found := map[int32]int64{}
			err := c.offsets.from(ctx, leader, topic, led, sarama.OffsetNewest, found)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			maps.Copy(ends, found)
		})
	}
	asking.Wait()
	if err := errors.Join(errs...); err != nil {
		_ = c.offsets.refresh(ctx, topic) // a moved leader; the next look finds it
		return ends, fmt.Errorf("end offsets of %s: %w", topic, Denied(err, "Describe", OnTopic(topic)))
	}
	return ends, nil
}

// leaders sorts partitions by leader. Without any broker it doesn't ask for each.
func (c *Cluster) leaders(topic string, partitions []int32) (map[int32][]int32, error) {
	leaders := map[int32][]int32{}
	var errs []error
	for _, p := range partitions {
		leader, err := c.client.Leader(topic, p)
		switch {
		case errors.Is(err, sarama.ErrOutOfBrokers) || errors.Is(err, sarama.ErrClosedClient):
			return leaders, errors.Join(append(errs, err)...)
		case err != nil:
			errs = append(errs, fmt.Errorf("leader of %d: %w", p, err))
		default:
			leaders[leader.ID()] = append(leaders[leader.ID()], p)
		}
	}
	return leaders, errors.Join(errs...)
}
