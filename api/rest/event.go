package rest

import (
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
// it. A record that can't be decoded has, instead of a kind and a shape, the member
// error; a snapshot has all three, without a partition: it is never valid on the topic.
type Event struct {
	// MetadataPartition and Offset are where the record lies; −1 is unknown.
	MetadataPartition int32
	Offset            int64
	// Metadata is what the record says, nil when it can't be decoded.
	Metadata api.RemoteLogMetadata
	// Snapshot is a segment snapshot, read only when Metadata is nil.
	Snapshot *api.RemoteLogSegmentMetadata
	// Err is why not; it is read only when Metadata is nil.
	Err error
}

type (
	eventHead struct {
		Kind              string `json:"kind,omitempty"`
		MetadataPartition int32  `json:"metadataPartition"`
		Offset            int64  `json:"offset"`
	}
	// The shapes without their methods, which would hide the head's members.
	plainSegment Segment
	plainUpdate  SegmentUpdate
	plainDelete  PartitionDelete
)

// MarshalJSON writes the row. It fails for a state that Kafka doesn't know.
func (e Event) MarshalJSON() ([]byte, error) {
	head := eventHead{MetadataPartition: e.MetadataPartition, Offset: e.Offset}
	switch m := e.Metadata.(type) {
	case api.RemoteLogSegmentMetadata:
		head.Kind = kindSegment
		return json.Marshal(struct {
			eventHead
			plainSegment
		}{head, plainSegment(NewSegment(m))})
	case api.RemoteLogSegmentMetadataUpdate:
		head.Kind = kindSegmentUpdate
		return json.Marshal(struct {
			eventHead
			plainUpdate
		}{head, plainUpdate(NewSegmentUpdate(m))})
	case api.RemotePartitionDeleteMetadata:
		head.Kind = kindPartitionDelete
		return json.Marshal(struct {
			eventHead
			plainDelete
		}{head, plainDelete(NewPartitionDelete(m))})
	}
	return e.marshalBad(head)
}

// marshalBad writes a record that has no place on the topic.
func (e Event) marshalBad(head eventHead) ([]byte, error) {
	if e.Snapshot == nil {
		return json.Marshal(struct {
			eventHead
			Error string `json:"error"`
		}{head, fmt.Sprint(e.Err)})
	}
	head.Kind = kindSegmentSnapshot
	return json.Marshal(struct {
		eventHead
		plainSegment
		Error string `json:"error"`
	}{head, plainSegment(NewSegment(*e.Snapshot)), fmt.Sprint(e.Err)})
}
