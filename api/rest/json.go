package rest

import (
	"github.com/tieredlog/rlmm/api"
)

// Segment is a segment in JSON, as a manager holds it or as the event that adds it.
// Broker and event time are those of its last event.
type Segment struct {
	SegmentID api.UUID `json:"segmentId"`
	TopicID   api.UUID `json:"topicId"`
	// Topic is empty when the name isn't known; a request may leave it out.
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	StartOffset int64  `json:"startOffset"`
	// EndOffset is inclusive.
	EndOffset int64 `json:"endOffset"`
	BrokerID  int32 `json:"brokerId"`
	// MaxTimestampMs is in milliseconds since 1970; −1 is unknown.
	MaxTimestampMs      int64         `json:"maxTimestampMs"`
	EventTimestampMs    int64         `json:"eventTimestampMs"`
	SegmentLeaderEpochs []LeaderEpoch `json:"segmentLeaderEpochs"`
	SegmentSizeInBytes  int32         `json:"segmentSizeInBytes"`
	// CustomMetadata is standard base64 in JSON; nil is null and means absent, which
	// isn't the same as empty.
	CustomMetadata []byte                    `json:"customMetadata"`
	State          api.RemoteLogSegmentState `json:"state"`
	// TxnIndexEmpty is false when a request leaves it out: there may be an index.
	TxnIndexEmpty bool `json:"txnIndexEmpty"`
}

// LeaderEpoch is a leader epoch and the first offset that it wrote in the segment.
type LeaderEpoch struct {
	LeaderEpoch int32 `json:"leaderEpoch"`
	Offset      int64 `json:"offset"`
}

// NewSegment returns the JSON shape of a segment.
func NewSegment(m api.RemoteLogSegmentMetadata) Segment {
	tip := m.Partition()
	return Segment{
		SegmentID: m.ID.ID, TopicID: tip.TopicID, Topic: tip.Topic, Partition: tip.Partition,
		StartOffset: m.StartOffset, EndOffset: m.EndOffset, BrokerID: m.BrokerID,
		MaxTimestampMs: m.MaxTimestampMs, EventTimestampMs: m.EventTimestampMs,
		SegmentLeaderEpochs: epochList(m.LeaderEpochs), SegmentSizeInBytes: m.SegmentSizeInBytes,
		CustomMetadata: m.CustomMetadata.Bytes(), State: m.State, TxnIndexEmpty: m.TxnIndexEmpty,
	}
}

func epochList(epochs api.LeaderEpochs) []LeaderEpoch {
	list := make([]LeaderEpoch, 0, epochs.Len())
	for epoch, offset := range epochs.All() {
		list = append(list, LeaderEpoch{epoch, offset})
	}
	return list
}

// Metadata returns the segment as the contract has it; [NewSegment] is the way back.
func (s Segment) Metadata() api.RemoteLogSegmentMetadata {
	epochs := make([]api.EpochOffset, len(s.SegmentLeaderEpochs))
	for i, e := range s.SegmentLeaderEpochs {
		epochs[i] = api.EpochOffset(e)
	}
	return api.RemoteLogSegmentMetadata{
		ID:          segmentID(s.TopicID, s.Topic, s.Partition, s.SegmentID),
		StartOffset: s.StartOffset, EndOffset: s.EndOffset, BrokerID: s.BrokerID,
		MaxTimestampMs: s.MaxTimestampMs, EventTimestampMs: s.EventTimestampMs,
		LeaderEpochs: api.NewLeaderEpochs(epochs...), SegmentSizeInBytes: s.SegmentSizeInBytes,
		CustomMetadata: customMetadata(s.CustomMetadata), State: s.State, TxnIndexEmpty: s.TxnIndexEmpty,
	}
}

func segmentID(topicID api.UUID, topic string, partition int32, id api.UUID) api.RemoteLogSegmentID {
	tip := api.TopicIdPartition{TopicID: topicID, Topic: topic, Partition: partition}
	return api.RemoteLogSegmentID{TopicIdPartition: tip, ID: id}
}

// customMetadata is nil for absent.
func customMetadata(b []byte) api.CustomMetadata {
	if b == nil {
		return api.CustomMetadata{}
	}
	return api.NewCustomMetadata(b)
}

// SegmentUpdate is the event that moves a segment to its next state, in JSON.
type SegmentUpdate struct {
	SegmentID api.UUID `json:"segmentId"`
	TopicID   api.UUID `json:"topicId"`
	// Topic is empty when the name isn't known; a request may leave it out.
	Topic            string `json:"topic"`
	Partition        int32  `json:"partition"`
	BrokerID         int32  `json:"brokerId"`
	EventTimestampMs int64  `json:"eventTimestampMs"`
	// CustomMetadata is standard base64 in JSON; nil is null and leaves the segment's
	// as it was, empty replaces it.
	CustomMetadata []byte                    `json:"customMetadata"`
	State          api.RemoteLogSegmentState `json:"state"`
}

// NewSegmentUpdate returns the JSON shape of an update.
func NewSegmentUpdate(u api.RemoteLogSegmentMetadataUpdate) SegmentUpdate {
	tip := u.Partition()
	return SegmentUpdate{
		SegmentID: u.ID.ID, TopicID: tip.TopicID, Topic: tip.Topic, Partition: tip.Partition,
		BrokerID: u.BrokerID, EventTimestampMs: u.EventTimestampMs,
		CustomMetadata: u.CustomMetadata.Bytes(), State: u.State,
	}
}

// Metadata returns the update as the contract has it; [NewSegmentUpdate] is the way
// back.
func (u SegmentUpdate) Metadata() api.RemoteLogSegmentMetadataUpdate {
	return api.RemoteLogSegmentMetadataUpdate{
		ID:       segmentID(u.TopicID, u.Topic, u.Partition, u.SegmentID),
		BrokerID: u.BrokerID, EventTimestampMs: u.EventTimestampMs,
		CustomMetadata: customMetadata(u.CustomMetadata), State: u.State,
	}
}

// PartitionDelete is a step of a partition's deletion, in JSON.
type PartitionDelete struct {
	TopicID api.UUID `json:"topicId"`
	// Topic is empty when the name isn't known; a request may leave it out.
	Topic            string                         `json:"topic"`
	Partition        int32                          `json:"partition"`
	BrokerID         int32                          `json:"brokerId"`
	EventTimestampMs int64                          `json:"eventTimestampMs"`
	State            api.RemotePartitionDeleteState `json:"state"`
}

// NewPartitionDelete returns the JSON shape of a step of a deletion.
func NewPartitionDelete(d api.RemotePartitionDeleteMetadata) PartitionDelete {
	tip := d.TopicIdPartition
	return PartitionDelete{
		TopicID: tip.TopicID, Topic: tip.Topic, Partition: tip.Partition,
		BrokerID: d.BrokerID, EventTimestampMs: d.EventTimestampMs, State: d.State,
	}
}

// Metadata returns the step as the contract has it; [NewPartitionDelete] is the way
// back.
func (d PartitionDelete) Metadata() api.RemotePartitionDeleteMetadata {
	tip := api.TopicIdPartition{TopicID: d.TopicID, Topic: d.Topic, Partition: d.Partition}
	return api.RemotePartitionDeleteMetadata{
		TopicIdPartition: tip, BrokerID: d.BrokerID, EventTimestampMs: d.EventTimestampMs, State: d.State,
	}
}

// Partition is a row of GET /v1/partitions.
type Partition struct {
	TopicID           api.UUID `json:"topicId"`
	Topic             string   `json:"topic"`
	Partition         int32    `json:"partition"`
	MetadataPartition int32    `json:"metadataPartition"`
	// Segments is how many ListRemoteLogSegments returns.
	Segments int `json:"segments"`
	// Bytes is the size of the finished ones, each counted once.
	Bytes int64 `json:"bytes"`
}

// Info is the answer of GET /, in the manner of Kafka Connect.
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	// KafkaClusterID is empty when it isn't known.
	KafkaClusterID string `json:"kafka_cluster_id,omitempty"`
}

// The small answers.
type (
	position struct {
		MetadataPartition int32 `json:"metadataPartition"`
		Offset            int64 `json:"offset"`
	}
	highestOffset struct {
		HighestOffset int64 `json:"highestOffset"`
	}
	size struct {
		Bytes int64 `json:"bytes"`
	}
	caughtUp struct {
		CaughtUp bool `json:"caughtUp"`
	}
	health struct {
		Status string `json:"status"`
	}
)
