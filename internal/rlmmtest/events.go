package rlmmtest

import (
	"iter"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/recording"
)

// ID is the n-th of ids that differ.
func ID(n int) api.UUID { return api.UUIDFromBits(0x4000, uint64(n)) }

// PartitionOn returns the n-th user partition, of topic "orders", whose events lie on
// the metadata partition.
func (c *Cluster) PartitionOn(metadataPartition int32, n int) api.TopicIdPartition {
	for topic := 1; ; topic++ {
		tip := api.TopicIdPartition{TopicID: ID(topic), Topic: "orders"}
		if codec.MetadataPartition(tip, c.Partitions) != metadataPartition {
			continue
		}
		if n == 0 {
			return tip
		}
		n--
	}
}

// Segment is a segment of the partition whose copy has begun. Without epochs it is all
// of epoch 0.
func Segment(tip api.TopicIdPartition, n int, start, end int64, epochs ...api.EpochOffset) api.RemoteLogSegmentMetadata {
	if len(epochs) == 0 {
		epochs = []api.EpochOffset{{LeaderEpoch: 0, Offset: start}}
	}
	return api.RemoteLogSegmentMetadata{
		ID:          api.RemoteLogSegmentID{TopicIdPartition: tip, ID: ID(n)},
		StartOffset: start, EndOffset: end, MaxTimestampMs: 1000, BrokerID: 1, EventTimestampMs: 10,
		SegmentSizeInBytes: 100, LeaderEpochs: api.NewLeaderEpochs(epochs...),
	}
}

// Update moves the segment to the state.
func Update(s api.RemoteLogSegmentMetadata, state api.RemoteLogSegmentState) api.RemoteLogSegmentMetadataUpdate {
	return api.RemoteLogSegmentMetadataUpdate{ID: s.ID, EventTimestampMs: 20, State: state, BrokerID: 2}
}

// Delete moves the partition's deletion to the state.
func Delete(tip api.TopicIdPartition, state api.RemotePartitionDeleteState) api.RemotePartitionDeleteMetadata {
	return api.RemotePartitionDeleteMetadata{TopicIdPartition: tip, State: state, EventTimestampMs: 30, BrokerID: 3}
}

// Raw is a record without a key on the metadata partition; a nil value is null.
func Raw(metadataPartition int32, value []byte) recording.Event {
	return recording.Event{Partition: metadataPartition, Value: value}
}

// Record is the event as Kafka would publish it.
func (c *Cluster) Record(event api.RemoteLogMetadata) recording.Event {
	value, err := codec.EncodeRecord(event)
	c.must(err)
	return Raw(codec.MetadataPartition(event.Partition(), c.Partitions), value)
}

// Records are the events as Kafka would publish them.
func (c *Cluster) Records(events ...api.RemoteLogMetadata) []recording.Event {
	records := make([]recording.Event, len(events))
	for i, e := range events {
		records[i] = c.Record(e)
	}
	return records
}

// Publish appends records to the metadata topic.
func (c *Cluster) Publish(records ...recording.Event) {
	c.t.Helper()
	_, err := recording.Publish(c.ctx, c.Settings, MetadataTopic, each(records))
	c.must(err)
}

// PublishEvents appends the events to the metadata topic.
func (c *Cluster) PublishEvents(events ...api.RemoteLogMetadata) {
	c.t.Helper()
	c.Publish(c.Records(events...)...)
}

// PublishBundled publishes the bundled recording and returns how many records it has.
func (c *Cluster) PublishBundled() int {
	c.t.Helper()
	n, err := recording.Publish(c.ctx, c.Settings, MetadataTopic, recording.Read(recording.Bundled()))
	c.must(err)
	return n
}

func each(records []recording.Event) iter.Seq2[recording.Event, error] {
	return func(yield func(recording.Event, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}
