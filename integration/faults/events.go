package faults

import (
	"fmt"
	"math/rand/v2"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// loadPartitions is how many user partitions a load's events are about.
const loadPartitions = 40

// Events makes random events on few segments, so that most transitions are tried, and
// records that nobody can read.
type Events struct {
	random     *rand.Rand
	partitions int32
	segments   []api.RemoteLogSegmentMetadata
	time       int64
}

// NewEvents returns the events of a topic with that many partitions.
func NewEvents(random *rand.Rand, partitions int32) *Events {
	e := &Events{random: random, partitions: partitions}
	tips := LoadPartitions()
	for i := range 10 * len(tips) {
		start := int64(i/len(tips)) * 100
		e.segments = append(e.segments, api.RemoteLogSegmentMetadata{
			ID:          api.RemoteLogSegmentID{TopicIdPartition: tips[i%len(tips)], ID: api.UUIDFromBits(random.Uint64(), random.Uint64())},
			StartOffset: start, EndOffset: start + 99, SegmentSizeInBytes: 1000,
			LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: int32(i / 120), Offset: start}),
		})
	}
	return e
}

// LoadPartitions are the user partitions that events are about.
func LoadPartitions() []api.TopicIdPartition {
	tips := make([]api.TopicIdPartition, loadPartitions)
	for i := range tips {
		topic := i/10 + 1
		tips[i] = api.TopicIdPartition{TopicID: api.UUIDFromBits(7, uint64(topic)), Topic: fmt.Sprint("topic-", topic-1), Partition: int32(i % 10)}
	}
	return tips
}

// Next is the next record for the topic, on its partition.
func (e *Events) Next(topic string) *sarama.ProducerMessage {
	if e.random.IntN(50) == 0 {
		return e.poison(topic)
	}
	event := e.event()
	value, err := codec.EncodeRecord(event)
	if err != nil {
		panic(err)
	}
	return &sarama.ProducerMessage{
		Topic: topic, Partition: codec.MetadataPartition(event.Partition(), e.partitions), Value: sarama.ByteEncoder(value),
	}
}

func (e *Events) poison(topic string) *sarama.ProducerMessage {
	poison := [][]byte{nil, {}, {0}, {1, 0, 0}, {1, 42, 0}}
	m := &sarama.ProducerMessage{Topic: topic, Partition: e.random.Int32N(e.partitions)}
	if v := poison[e.random.IntN(len(poison))]; v != nil {
		m.Value = sarama.ByteEncoder(v)
	}
	return m
}

func (e *Events) event() api.RemoteLogMetadata {
	e.time++
	s := e.segments[e.random.IntN(len(e.segments))]
	s.EventTimestampMs = e.time
	switch roll := e.random.IntN(100); {
	case roll < 40:
		return s
	case roll < 99:
		return api.RemoteLogSegmentMetadataUpdate{
			ID: s.ID, State: api.RemoteLogSegmentState(e.random.IntN(4)), EventTimestampMs: e.time, BrokerID: 1,
		}
	}
	return api.RemotePartitionDeleteMetadata{
		TopicIdPartition: s.ID.TopicIdPartition, State: api.RemotePartitionDeleteState(e.random.IntN(2)), EventTimestampMs: e.time,
	}
}
