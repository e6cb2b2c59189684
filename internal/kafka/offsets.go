package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/IBM/sarama"
)

// offsets asks the leaders of partitions for offsets, with one request to each for all
// that is asked at a time.
type offsets struct {
	client sarama.Client

	mu    sync.Mutex
	looks map[lookKey]*shared[topicPartition, offsetsAnswer]
}

// lookKey is what goes in one request: a partition can't be asked for two offsets there.
type lookKey struct {
	leader int32
	at     int64 // sarama's OffsetNewest or OffsetOldest
}

type topicPartition struct {
	topic     string
	partition int32
}

type offsetsAnswer struct {
	response *sarama.OffsetResponse
	err      error
}

func newOffsets(client sarama.Client) *offsets {
	return &offsets{client: client, looks: map[lookKey]*shared[topicPartition, offsetsAnswer]{}}
}

// of returns an offset of a partition. A failure may be that of a leader that has moved,
// so it looks for that and tries once more.
func (o *offsets) of(ctx context.Context, topic string, partition int32, at int64) (int64, error) {
	offset, err := o.once(ctx, topic, partition, at)
	if err == nil || ctx.Err() != nil {
		return offset, err
	}
	if err := o.refresh(ctx, topic); err != nil {
		return 0, err
	}
	return o.once(ctx, topic, partition, at)
}

func (o *offsets) refresh(ctx context.Context, topic string) error {
	_, err := call(ctx, func() (struct{}, error) { return struct{}{}, o.client.RefreshMetadata(topic) })
	return err
}

func (o *offsets) once(ctx context.Context, topic string, partition int32, at int64) (int64, error) {
	leader, err := call(ctx, func() (*sarama.Broker, error) { return o.client.Leader(topic, partition) })
	if err != nil {
		return 0, err
	}
	found := map[int32]int64{}
	err = o.from(ctx, leader.ID(), topic, []int32{partition}, at, found)
	return found[partition], err
}

// from adds the offsets that the leader tells of the partitions to found, and returns an
// error for the others.
func (o *offsets) from(ctx context.Context, leader int32, topic string, partitions []int32, at int64, found map[int32]int64) error {
	asked := make([]topicPartition, len(partitions))
	for i, p := range partitions {
		asked[i] = topicPartition{topic, p}
	}
	answer, err := o.look(leader, at).get(ctx, asked...)
	if err = errors.Join(err, answer.err); err != nil {
		return err
	}
	return readOffsets(found, answer.response, topic, partitions)
}

func (o *offsets) look(leader int32, at int64) *shared[topicPartition, offsetsAnswer] {
	if at >= 0 {
		return o.newLook(leader, at) // a time, which hardly anybody else asks for
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := lookKey{leader, at}
	if o.looks[key] == nil {
		o.looks[key] = o.newLook(leader, at)
	}
	return o.looks[key]
}

func (o *offsets) newLook(leader int32, at int64) *shared[topicPartition, offsetsAnswer] {
	return &shared[topicPartition, offsetsAnswer]{ask: func(asked []topicPartition) (a offsetsAnswer) {
		a.response, a.err = listOffsets(o.client, leader, at, asked)
		return a
	}}
}

func listOffsets(client sarama.Client, leader int32, at int64, asked []topicPartition) (*sarama.OffsetResponse, error) {
	broker, err := client.Broker(leader)
	if err != nil {
		return nil, err
	}
	req := sarama.NewOffsetRequest(Protocol)
	for _, p := range asked {
		req.AddBlock(p.topic, p.partition, at, 1)
	}
	resp, err := broker.GetAvailableOffsets(req)
	return resp, closeBroken(broker, err)
}

// readOffsets adds a response's offsets to found.
func readOffsets(found map[int32]int64, resp *sarama.OffsetResponse, topic string, partitions []int32) error {
	var errs []error
	for _, p := range partitions {
		block := resp.GetBlock(topic, p)
		switch {
		case block == nil || len(block.Offsets) != 1 && block.Err == sarama.ErrNoError:
			errs = append(errs, fmt.Errorf("partition %d: %w", p, sarama.ErrIncompleteResponse))
		case block.Err != sarama.ErrNoError:
			errs = append(errs, fmt.Errorf("partition %d: %w", p, block.Err))
		default:
			found[p] = block.Offsets[0]
		}
	}
	return errors.Join(errs...)
}
