package rest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/tieredlog/rlmm/api"
)

// The kinds of an [Event] in JSON.
const (
	kindSegment         = "segment"
	kindSegmentUpdate   = "segmentUpdate"
	kindPartitionDelete = "partitionDelete"
	kindSegmentSnapshot = "segmentSnapshot"
)

// Event is a record of the metadata topic as a row for people: in JSON it is its
// metadata's shape ([Segment], [SegmentUpdate] or [PartitionDelete]) with the members
// kind (segment, segmentUpdate, partitionDelete, segmentSnapshot), metadataPartition and offset before
// it. A record that can't be decoded has, instead of a kind and a shape, the members error
// and value, its bytes in hex; a snapshot has all, without a partition: it is never valid
// on the topic. One that no row takes for where it lies has an error behind its shape.
type Event struct {
	// MetadataPartition and Offset are where the record lies; −1 is unknown.
	MetadataPartition int32
	Offset            int64
	// Metadata is what the record says, nil when it can't be decoded.
	Metadata api.RemoteLogMetadata
	// Snapshot is a segment snapshot, read only when Metadata is nil.
	Snapshot *api.RemoteLogSegmentMetadata
	// Err is why not, or why no row takes it.
	Err error
	// Value is the record's bytes, shown only when Metadata is nil; nil isn't shown.
	Value []byte
	// Outcome is what became of it, empty and left out when that isn't known.
	Outcome string
}

type (
	eventHead struct {
		Kind              string `json:"kind,omitempty"`
		MetadataPartition int32  `json:"metadataPartition"`
		Offset            int64  `json:"offset"`
	}
	eventTail struct {
		Error   string `json:"error,omitempty"`
		Value   string `json:"value,omitempty"`
		Outcome string `json:"outcome,omitempty"`
	}
	// The shapes without their methods, which would hide the head's members.
	plainSegment Segment
	plainUpdate  SegmentUpdate
	plainDelete  PartitionDelete
)

// MarshalJSON writes the row. It fails for a state that Kafka doesn't know.
func (e Event) MarshalJSON() ([]byte, error) {
	head := eventHead{MetadataPartition: e.MetadataPartition, Offset: e.Offset}
	tail := eventTail{Outcome: e.Outcome}
	if e.Err != nil {
		tail.Error = e.Err.Error()
	}
	switch m := e.Metadata.(type) {
	case api.RemoteLogSegmentMetadata:
		head.Kind = kindSegment
		return marshalSegment(head, m, tail)
	case api.RemoteLogSegmentMetadataUpdate:
		head.Kind = kindSegmentUpdate
		return json.Marshal(struct {
			eventHead
			plainUpdate
			eventTail
		}{head, plainUpdate(NewSegmentUpdate(m)), tail})
	case api.RemotePartitionDeleteMetadata:
		head.Kind = kindPartitionDelete
		return json.Marshal(struct {
			eventHead
			plainDelete
			eventTail
		}{head, plainDelete(NewPartitionDelete(m)), tail})
	}
	return e.marshalBad(head, tail)
}

func marshalSegment(head eventHead, m api.RemoteLogSegmentMetadata, tail eventTail) ([]byte, error) {
	return json.Marshal(struct {
		eventHead
		plainSegment
		eventTail
	}{head, plainSegment(NewSegment(m)), tail})
}

// marshalBad writes a record that has no place on the topic.
func (e Event) marshalBad(head eventHead, tail eventTail) ([]byte, error) {
	tail.Error, tail.Value = fmt.Sprint(e.Err), hex.EncodeToString(e.Value)
	if e.Snapshot != nil {
		head.Kind = kindSegmentSnapshot
		return marshalSegment(head, *e.Snapshot, tail)
	}
	return json.Marshal(struct {
		eventHead
		eventTail
	}{head, tail})
}
