package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/IBM/sarama"
)

// EndOffsets returns the end offsets of partitions of a topic, with one request to each
// of their leaders. It returns those that could be had, and an error for the others.
func (c *Cluster) EndOffsets(ctx context.Context, topic string, partitions []int32) (map[int32]int64, error) {
	leaders, err := call(ctx, func() (map[*sarama.Broker][]int32, error) { return c.leaders(topic, partitions) })
	ends, errs := make(map[int32]int64, len(partitions)), []error{err}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for leader, led := range leaders {
		asking.Go(func() {
			got, err := call(ctx, func() (*sarama.OffsetResponse, error) { return listEnds(leader, topic, led) })
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err, readEnds(ends, got, topic, led))
		})
	}
	asking.Wait()
	if err := errors.Join(errs...); err != nil {
		_, _ = call(ctx, func() (struct{}, error) { return struct{}{}, c.client.RefreshMetadata(topic) }) // a moved leader; the next look finds it
		return ends, fmt.Errorf("end offsets of %s: %w", topic, Denied(err, "Describe", OnTopic(topic)))
	}
	return ends, nil
}

// leaders sorts partitions by leader. Without any broker it doesn't ask for each.
func (c *Cluster) leaders(topic string, partitions []int32) (map[*sarama.Broker][]int32, error) {
	leaders := map[*sarama.Broker][]int32{}
	var errs []error
	for _, p := range partitions {
		leader, err := c.client.Leader(topic, p)
		switch {
		case errors.Is(err, sarama.ErrOutOfBrokers) || errors.Is(err, sarama.ErrClosedClient):
			return leaders, errors.Join(append(errs, err)...)
		case err != nil:
			errs = append(errs, fmt.Errorf("leader of %d: %w", p, err))
		default:
			leaders[leader] = append(leaders[leader], p)
		}
	}
	return leaders, errors.Join(errs...)
}

func listEnds(leader *sarama.Broker, topic string, partitions []int32) (*sarama.OffsetResponse, error) {
	req := sarama.NewOffsetRequest(Protocol)
	for _, p := range partitions {
		req.AddBlock(topic, p, sarama.OffsetNewest, 1)
	}
	resp, err := leader.GetAvailableOffsets(req)
	return resp, closeBroken(leader, err)
}

// readEnds adds a response's offsets to ends; without a response there is nothing to read.
func readEnds(ends map[int32]int64, resp *sarama.OffsetResponse, topic string, partitions []int32) error {
	if resp == nil {
		return nil
	}
	var errs []error
	for _, p := range partitions {
		block := resp.GetBlock(topic, p)
		switch {
		case block == nil || len(block.Offsets) != 1 && block.Err == sarama.ErrNoError:
			errs = append(errs, fmt.Errorf("partition %d: %w", p, sarama.ErrIncompleteResponse))
		case block.Err != sarama.ErrNoError:
			errs = append(errs, fmt.Errorf("partition %d: %w", p, block.Err))
		default:
			ends[p] = block.Offsets[0]
		}
	}
	return errors.Join(errs...)
}
