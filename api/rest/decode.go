package rest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/tieredlog/rlmm/api"
)

// UnmarshalJSON reads an update as [Segment.UnmarshalJSON] reads a segment; topic and
// customMetadata may be left out.
func (u *SegmentUpdate) UnmarshalJSON(data []byte) error {
	return readInto(u, data, func(o *object) SegmentUpdate {
		return takeUpdate(o, takePartition(o), required[api.UUID](o, "segmentId"))
	})
}

// UnmarshalJSON reads a step of a deletion as [Segment.UnmarshalJSON] reads a segment;
// topic may be left out.
func (d *PartitionDelete) UnmarshalJSON(data []byte) error {
	return readInto(d, data, func(o *object) PartitionDelete { return takeDelete(o, takePartition(o)) })
}

func readInto[T any](into *T, data []byte, take func(*object) T) error {
	v, err := read(data, false, take)
	if err == nil {
		*into = v
	}
	return err
}

// read parses an object and takes its members.
func read[T any](data []byte, strict bool, take func(*object) T) (T, error) {
	var zero T
	o, err := parseObject("", data, strict)
	if err != nil {
		return zero, err
	}
	v := take(o)
	if err := o.finish(); err != nil {
		return zero, err
	}
	return v, nil
}

func takeSegment(o *object, tip api.TopicIdPartition) Segment {
	return Segment{
		SegmentID: required[api.UUID](o, "segmentId"), TopicID: tip.TopicID, Topic: tip.Topic, Partition: tip.Partition,
		StartOffset: required[int64](o, "startOffset"), EndOffset: required[int64](o, "endOffset"),
		BrokerID:       required[int32](o, "brokerId"),
		MaxTimestampMs: required[int64](o, "maxTimestampMs"), EventTimestampMs: required[int64](o, "eventTimestampMs"),
		SegmentLeaderEpochs: takeEpochs(o), SegmentSizeInBytes: required[int32](o, "segmentSizeInBytes"),
		CustomMetadata: takeCustomMetadata(o), State: required[api.RemoteLogSegmentState](o, "state"),
		TxnIndexEmpty: orZero[bool](o, "txnIndexEmpty"),
	}
}

func takeUpdate(o *object, tip api.TopicIdPartition, id api.UUID) SegmentUpdate {
	return SegmentUpdate{
		SegmentID: id, TopicID: tip.TopicID, Topic: tip.Topic, Partition: tip.Partition,
		BrokerID: required[int32](o, "brokerId"), EventTimestampMs: required[int64](o, "eventTimestampMs"),
		CustomMetadata: takeCustomMetadata(o), State: required[api.RemoteLogSegmentState](o, "state"),
	}
}

func takeDelete(o *object, tip api.TopicIdPartition) PartitionDelete {
	return PartitionDelete{
		TopicID: tip.TopicID, Topic: tip.Topic, Partition: tip.Partition,
		BrokerID: required[int32](o, "brokerId"), EventTimestampMs: required[int64](o, "eventTimestampMs"),
		State: required[api.RemotePartitionDeleteState](o, "state"),
	}
}

func takePosition(o *object) api.Position {
	return api.Position{MetadataPartition: required[int32](o, "metadataPartition"), Offset: required[int64](o, "offset")}
}

func takePartition(o *object) api.TopicIdPartition {
	return api.TopicIdPartition{
		TopicID: required[api.UUID](o, "topicId"), Topic: orZero[string](o, "topic"), Partition: required[int32](o, "partition"),
	}
}

// takePartitionOf is takePartition for a body under a path that names the partition:
// the body need not name it, and must agree when it does.
func takePartitionOf(o *object, path api.TopicIdPartition) api.TopicIdPartition {
	takeSame(o, "topicId", path.TopicID)
	takeSame(o, "partition", path.Partition)
	path.Topic = orZero[string](o, "topic")
	return path
}

// takeSame takes a member that the path says already.
func takeSame[T comparable](o *object, name string, path T) {
	if v, ok := optional[T](o, name); ok && v != path {
		o.fail(name, fmt.Sprintf("%v is not the path's %v", v, path))
	}
}

func takeEpochs(o *object) []LeaderEpoch {
	raw := required[[]json.RawMessage](o, "segmentLeaderEpochs")
	list, seen := make([]LeaderEpoch, 0, len(raw)), make(map[int32]bool, len(raw))
	for i, element := range raw {
		e, err := readEpoch(fmt.Sprintf("segmentLeaderEpochs[%d]", i), element, o.strict)
		if err == nil && seen[e.LeaderEpoch] {
			err = o.fault("segmentLeaderEpochs", fmt.Sprintf("epoch %d is there twice", e.LeaderEpoch))
		}
		if err != nil {
			o.failWith(err)
			return nil
		}
		seen[e.LeaderEpoch] = true
		list = append(list, e)
	}
	return list
}

func readEpoch(path string, data []byte, strict bool) (LeaderEpoch, error) {
	o, err := parseObject(path, data, strict)
	if err != nil {
		return LeaderEpoch{}, err
	}
	e := takeEpoch(o)
	return e, o.finish()
}

func takeEpoch(o *object) LeaderEpoch {
	return LeaderEpoch{required[int32](o, "leaderEpoch"), required[int64](o, "offset")}
}

func takeCustomMetadata(o *object) []byte {
	text, ok := optional[string](o, "customMetadata")
	if !ok {
		return nil
	}
	custom, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		o.fail("customMetadata", "is not standard base64: "+err.Error())
	}
	return custom
}
