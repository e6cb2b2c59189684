package kafkatest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/tieredlog/rlmm/api"
)

// Hex is bytes that are written as hexadecimal text; nil is written as null and differs
// from empty.
type Hex []byte

// MarshalJSON writes the text, or null.
func (h Hex) MarshalJSON() ([]byte, error) {
	if h == nil {
		return []byte("null"), nil
	}
	return json.Marshal(hex.EncodeToString(h))
}

// UnmarshalText reads hexadecimal text; the result isn't nil.
func (h *Hex) UnmarshalText(text []byte) error {
	b, err := hex.AppendDecode([]byte{}, text)
	if err != nil {
		return fmt.Errorf("hex value: %w", err)
	}
	*h = b
	return nil
}

// The kinds of [Metadata].
const (
	KindSegment         = "segment"
	KindSegmentUpdate   = "segmentUpdate"
	KindPartitionDelete = "partitionDelete"
)

// Metadata is an event of the metadata topic, or a segment that a manager holds, as the
// Java peer and the recordings write it. Fields that the kind doesn't have are zero.
type Metadata struct {
	Kind      string   `json:"kind"`
	Topic     string   `json:"topic"`
	Partition int32    `json:"partition"`
	TopicID   api.UUID `json:"topicId"`
	SegmentID api.UUID `json:"segmentId"`

	StartOffset        int64 `json:"startOffset"`
	EndOffset          int64 `json:"endOffset"` // inclusive
	MaxTimestampMs     int64 `json:"maxTimestampMs"`
	BrokerID           int32 `json:"brokerId"`
	EventTimestampMs   int64 `json:"eventTimestampMs"`
	SegmentSizeInBytes int32 `json:"segmentSizeInBytes"`
	// Epochs is the leader epochs, ascending, each with its first offset.
	Epochs [][2]int64 `json:"epochs"`
	// State is Kafka's name, COPY_SEGMENT_FINISHED for one; StateID its number.
	State   string `json:"state"`
	StateID int8   `json:"stateId"`
	// TxnIdxEmpty is true when the segment has no transaction index.
	TxnIdxEmpty bool `json:"txnIdxEmpty"`
	// CustomMetadata is nil when absent.
	CustomMetadata Hex `json:"customMetadata"`
}

// MetadataOf returns the event, or the segment, in the form of the recordings.
func MetadataOf(event api.RemoteLogMetadata) Metadata {
	switch e := event.(type) {
	case api.RemoteLogSegmentMetadata:
		return segmentMetadata(e)
	case api.RemoteLogSegmentMetadataUpdate:
		return updateMetadata(e)
	case api.RemotePartitionDeleteMetadata:
		return deleteMetadata(e)
	}
	panic(fmt.Sprintf("kafkatest: no kind of metadata: %T", event))
}

func segmentMetadata(s api.RemoteLogSegmentMetadata) Metadata {
	m := partitionMetadata(KindSegment, s.ID.TopicIdPartition)
	m.SegmentID = s.ID.ID
	m.StartOffset, m.EndOffset = s.StartOffset, s.EndOffset
	m.MaxTimestampMs, m.EventTimestampMs = s.MaxTimestampMs, s.EventTimestampMs
	m.BrokerID, m.SegmentSizeInBytes = s.BrokerID, s.SegmentSizeInBytes
	for epoch, offset := range s.LeaderEpochs.All() {
		m.Epochs = append(m.Epochs, [2]int64{int64(epoch), offset})
	}
	m.State, m.StateID = s.State.String(), int8(s.State)
	m.TxnIdxEmpty, m.CustomMetadata = s.TxnIndexEmpty, s.CustomMetadata.Bytes()
	return m
}

func updateMetadata(u api.RemoteLogSegmentMetadataUpdate) Metadata {
	m := partitionMetadata(KindSegmentUpdate, u.ID.TopicIdPartition)
	m.SegmentID = u.ID.ID
	m.BrokerID, m.EventTimestampMs = u.BrokerID, u.EventTimestampMs
	m.State, m.StateID = u.State.String(), int8(u.State)
	m.CustomMetadata = u.CustomMetadata.Bytes()
	return m
}

func deleteMetadata(d api.RemotePartitionDeleteMetadata) Metadata {
	m := partitionMetadata(KindPartitionDelete, d.TopicIdPartition)
	m.BrokerID, m.EventTimestampMs = d.BrokerID, d.EventTimestampMs
	m.State, m.StateID = d.State.String(), int8(d.State)
	return m
}

func partitionMetadata(kind string, p api.TopicIdPartition) Metadata {
	return Metadata{Kind: kind, Topic: p.Topic, Partition: p.Partition, TopicID: p.TopicID}
}
