package views

import (
	"errors"
	"fmt"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/internal/kafka"
)

// goka's view takes a whole topic. The two wrappers here show it one partition of the
// table as partition 0 of a topic with one partition, over a client that all share.

type singleTopicManager struct {
	kafka.TopicManager
	partition int32
	begins    func(start int64) error // is told where the table begins
}

func (m singleTopicManager) Partitions(string) ([]int32, error) { return []int32{0}, nil }

// GetOffset is asked where the table begins and ends before it is read.
func (m singleTopicManager) GetOffset(topic string, _ int32, at int64) (int64, error) {
	offset, err := m.TopicManager.GetOffset(topic, m.partition, at)
	if err == nil && at == sarama.OffsetOldest {
		err = m.begins(offset)
	}
	return offset, err
}

// singleConsumer is for one view. It has one reader at a time: goka leaves that of its recovery
// and begins one right behind it, which in sarama holds up all partitions of a connection for
// 100 ms, so it gets the same one again. Fifty views that recover at different times would
// stand still most of the time.
type singleConsumer struct {
	sarama.Consumer
	partition int32
	applied   func() int64 // offset of the last record that the view has handled
	reader    *reader
}

func (*singleConsumer) Partitions(string) ([]int32, error) { return []int32{0}, nil }

func (c *singleConsumer) ConsumePartition(topic string, partition int32, offset int64) (sarama.PartitionConsumer, error) {
	if partition != 0 {
		return nil, fmt.Errorf("a view of one partition asked for partition %d", partition)
	}
	if c.reader != nil && c.reader.left && offset == c.applied()+1 {
		c.reader.left = false
		return c.reader, nil
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	opened, err := c.Consumer.ConsumePartition(topic, c.partition, offset)
	if err != nil {
		return nil, err
	}
	c.reader = &reader{PartitionConsumer: opened}
	return c.reader, nil
}

// end is the partition's end as the newest fetch told it; what it brought may not be handed on yet.
func (c *singleConsumer) end() int64 { return c.reader.HighWaterMarkOffset() }

func (c *singleConsumer) HighWaterMarks() map[string]map[int32]int64 {
	marks := map[string]map[int32]int64{}
	for topic, partitions := range c.Consumer.HighWaterMarks() {
		if mark, ok := partitions[c.partition]; ok {
			marks[topic] = map[int32]int64{0: mark}
		}
	}
	return marks
}

// Close closes the reader, and leaves the consumer to the other views.
func (c *singleConsumer) Close() error {
	if c.reader == nil {
		return nil
	}
	err := c.reader.Close()
	c.reader = nil
	if each, ok := errors.AsType[sarama.ConsumerErrors](err); ok { // sarama's own text is how many there are
		err = errors.New(fmt.Sprint([]*sarama.ConsumerError(each)))
	}
	return err
}

// reader reads on when goka has closed it. Until goka gets it again it seems to be at its end.
type reader struct {
	sarama.PartitionConsumer
	left bool
}

var (
	noMessages = closed[*sarama.ConsumerMessage]()
	noErrors   = closed[*sarama.ConsumerError]()
)

func closed[T any]() <-chan T {
	c := make(chan T)
	close(c)
	return c
}

// AsyncClose is of sarama.PartitionConsumer, as all below.
func (r *reader) AsyncClose() { r.left = true }

func (r *reader) Messages() <-chan *sarama.ConsumerMessage {
	if r.left {
		return noMessages
	}
	return r.PartitionConsumer.Messages()
}

func (r *reader) Errors() <-chan *sarama.ConsumerError {
	if r.left {
		return noErrors
	}
	return r.PartitionConsumer.Errors()
}
