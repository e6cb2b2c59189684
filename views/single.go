package views

import (
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

type singleConsumer struct {
	sarama.Consumer
	partition int32
	begins    func(sarama.PartitionConsumer) // is told what reads the partition
}

func (singleConsumer) Partitions(string) ([]int32, error) { return []int32{0}, nil }

func (c singleConsumer) ConsumePartition(topic string, partition int32, offset int64) (sarama.PartitionConsumer, error) {
	if partition != 0 {
		return nil, fmt.Errorf("a view of one partition asked for partition %d", partition)
	}
	reader, err := c.Consumer.ConsumePartition(topic, c.partition, offset)
	if err == nil {
		c.begins(reader)
	}
	return reader, err
}

func (c singleConsumer) HighWaterMarks() map[string]map[int32]int64 {
	marks := map[string]map[int32]int64{}
	for topic, partitions := range c.Consumer.HighWaterMarks() {
		if mark, ok := partitions[c.partition]; ok {
			marks[topic] = map[int32]int64{0: mark}
		}
	}
	return marks
}

// Close leaves the consumer to the other views.
func (singleConsumer) Close() error { return nil }
