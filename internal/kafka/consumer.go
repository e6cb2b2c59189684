package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/IBM/sarama"
)

// lanes is how many clients the partitions of a consumer are spread over. A client fetches
// from a broker when all that it fetched before is handed on: while one waits, the other one's
// records are applied. A view's first start on two cores takes 0.87 of the time that it takes
// with one.
const lanes = 2

// NewConsumer returns a consumer. All of them share connections, which are their own, since
// a broker answers the requests of one after the other: what waits for records would hold
// up every question. They are closed with the cluster. Partitions that are begun to be
// consumed together are asked about together.
func (c *Cluster) NewConsumer(ctx context.Context) (sarama.Consumer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.readers) < lanes {
		reader, err := callOr(ctx, c.connect, closeClient)
		if err != nil {
			return nil, fmt.Errorf("connect to consume: %w", err)
		}
		c.readers = append(c.readers, reader)
	}
	var all consumer
	for i, reader := range c.readers {
		lane, err := sarama.NewConsumerFromClient(sharingClient{reader, c.offsets})
		if err != nil {
			return nil, err
		}
		all[i] = lane
	}
	return all, nil
}

// sharingClient asks for offsets with others.
type sharingClient struct {
	sarama.Client
	offsets *offsets
}

func (c sharingClient) GetOffset(topic string, partition int32, at int64) (int64, error) {
	return c.offsets.of(context.Background(), topic, partition, at)
}

// consumer spreads partitions over lanes.
type consumer [lanes]sarama.Consumer

func (c consumer) of(partition int32) sarama.Consumer { return c[int(partition)%lanes] }

// ConsumePartition is of sarama.Consumer, as all below.
func (c consumer) ConsumePartition(topic string, partition int32, offset int64) (sarama.PartitionConsumer, error) {
	return c.of(partition).ConsumePartition(topic, partition, offset)
}

func (c consumer) Topics() ([]string, error) { return c[0].Topics() }

func (c consumer) Partitions(topic string) ([]int32, error) { return c[0].Partitions(topic) }

func (c consumer) HighWaterMarks() map[string]map[int32]int64 {
	all := map[string]map[int32]int64{}
	for _, lane := range c {
		for topic, marks := range lane.HighWaterMarks() {
			if all[topic] == nil {
				all[topic] = map[int32]int64{}
			}
			maps.Copy(all[topic], marks)
		}
	}
	return all
}

func (c consumer) Close() error {
	var errs []error
	for _, lane := range c {
		errs = append(errs, lane.Close())
	}
	return errors.Join(errs...)
}

func (c consumer) Pause(partitions map[string][]int32) { c.each(partitions, sarama.Consumer.Pause) }

func (c consumer) Resume(partitions map[string][]int32) { c.each(partitions, sarama.Consumer.Resume) }

func (c consumer) PauseAll() {
	for _, lane := range c {
		lane.PauseAll()
	}
}

func (c consumer) ResumeAll() {
	for _, lane := range c {
		lane.ResumeAll()
	}
}

// each does it in the lanes of the partitions.
func (c consumer) each(partitions map[string][]int32, do func(sarama.Consumer, map[string][]int32)) {
	for topic, numbers := range partitions {
		for _, number := range numbers {
			do(c.of(number), map[string][]int32{topic: {number}})
		}
	}
}
