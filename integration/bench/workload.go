package bench

import (
	"fmt"
	"iter"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/recording"
)

const (
	// MetadataPartitions is how many partitions the metadata topic has.
	MetadataPartitions = 50
	// SegmentBytes is the size of every segment.
	SegmentBytes = 1 << 20

	segmentOffsets    = 100 // of every segment
	segmentsPerEpoch  = 100
	partitionsOfTopic = 10
	brokerID          = 101
	startTimeMs       = 1_700_000_000_000
)

// TopicIdPartition is the i-th partition of a workload's topics, which have ten each.
// Workloads with different seeds share none.
func TopicIdPartition(seed int64, i int) api.TopicIdPartition {
	topic := i / partitionsOfTopic
	return api.TopicIdPartition{
		TopicID:   api.UUIDFromBits(uint64(seed*1_000_003+17), uint64(topic+1)),
		Topic:     fmt.Sprint("topic-", topic),
		Partition: int32(i % partitionsOfTopic),
	}
}

// UserPartitions is the first n partitions of the workload.
func UserPartitions(seed int64, n int) []api.TopicIdPartition {
	all := make([]api.TopicIdPartition, n)
	for i := range all {
		all[i] = TopicIdPartition(seed, i)
	}
	return all
}

// EpochOf is the leader epoch of a partition's i-th segment when epochs change.
func EpochOf(i int) int32 { return int32(i / segmentsPerEpoch) }

// Segment is the event that adds a partition's i-th segment. One in ten has a
// transaction index.
func Segment(tip api.TopicIdPartition, id api.UUID, i int, epoch int32) api.RemoteLogSegmentMetadata {
	start := int64(i) * segmentOffsets
	return api.RemoteLogSegmentMetadata{
		ID:          api.RemoteLogSegmentID{TopicIdPartition: tip, ID: id},
		StartOffset: start, EndOffset: start + segmentOffsets - 1,
		MaxTimestampMs: startTimeMs + int64(i), EventTimestampMs: startTimeMs + int64(i),
		BrokerID: brokerID, SegmentSizeInBytes: SegmentBytes,
		LeaderEpochs:  api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: epoch, Offset: start}),
		TxnIndexEmpty: i%10 != 0,
	}
}

// Finish is the event that ends the copy of the segment.
func Finish(s api.RemoteLogSegmentMetadata) api.RemoteLogSegmentMetadataUpdate {
	return api.RemoteLogSegmentMetadataUpdate{
		ID: s.ID, EventTimestampMs: s.EventTimestampMs + 1, State: api.CopySegmentFinished, BrokerID: brokerID,
	}
}

// Segments iterates over n segments dealt out to the partitions in turn. Their ids are
// the same each time.
func Segments(seed int64, partitions, n int) iter.Seq[api.RemoteLogSegmentMetadata] {
	return func(yield func(api.RemoteLogSegmentMetadata) bool) {
		for i := range n {
			of := i / partitions
			if !yield(Segment(TopicIdPartition(seed, i%partitions), segmentID(seed, i), of, EpochOf(of))) {
				return
			}
		}
	}
}

// QuerySegments iterates over n segments of one epoch in the workload's first partition,
// and n that change epochs in the second.
func QuerySegments(seed int64, n int) iter.Seq[api.RemoteLogSegmentMetadata] {
	return func(yield func(api.RemoteLogSegmentMetadata) bool) {
		for i := range n {
			one := Segment(TopicIdPartition(seed, 0), segmentID(seed, 2*i), i, 0)
			many := Segment(TopicIdPartition(seed, 1), segmentID(seed, 2*i+1), i, EpochOf(i))
			if !yield(one) || !yield(many) {
				return
			}
		}
	}
}

// segmentID spreads the ids as random ones would be spread.
func segmentID(seed int64, i int) api.UUID {
	const golden = 0x9E3779B97F4A7C15
	return api.UUIDFromBits(uint64(seed)+(uint64(i)+1)*golden, uint64(i)+1)
}

// Finished iterates over the records that add and finish each segment, on their
// metadata partitions.
func Finished(segments iter.Seq[api.RemoteLogSegmentMetadata]) iter.Seq2[recording.Event, error] {
	return func(yield func(recording.Event, error) bool) {
		for s := range segments {
			if !yield(record(s)) || !yield(record(Finish(s))) {
				return
			}
		}
	}
}

// Added iterates over the records that add each segment.
func Added(segments iter.Seq[api.RemoteLogSegmentMetadata]) iter.Seq2[recording.Event, error] {
	return func(yield func(recording.Event, error) bool) {
		for s := range segments {
			if !yield(record(s)) {
				return
			}
		}
	}
}

func record(event api.RemoteLogMetadata) (recording.Event, error) {
	value, err := codec.EncodeRecord(event)
	return recording.Event{Partition: codec.MetadataPartition(event.Partition(), MetadataPartitions), Value: value}, err
}
