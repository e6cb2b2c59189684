package codec

import (
	"math"

	"github.com/tieredlog/rlmm/api"
)

// A record's value is what Kafka's RemoteLogMetadataSerde writes: a frame and a
// message of Kafka's flexible form (KIP-482).
//
//	+---------------+---------------+---------------+---------+
//	| uvarint 1     | uvarint       | uvarint 0     | message |
//	| frame version | api key: kind | version       |         |
//	+---------------+---------------+---------------+---------+
//
//	0 segment   segment id · body
//	1 update    segment id · broker int32 · event timestamp int64 · custom · state int8 · tags
//	2 delete    partition · broker int32 · event timestamp int64 · state int8 · tags
//	3 snapshot  id 16 bytes · body
//
//	segment id  partition · id 16 bytes · tags
//	partition   topic's name (compact string) · topic id 16 bytes · partition int32 · tags
//	body        start int64 · end int64 · broker int32 · max timestamp int64 ·
//	            event timestamp int64 · epochs · size int32 · custom · state int8 · tags
//	epochs      uvarint count+1 · count × (epoch int32 · offset int64 · tags)
//	custom      uvarint 0, or uvarint length+1 · bytes
//
// The body's tag 0 is txnIndexEmpty, one byte, written only when true.
const (
	frameVersion   = 1
	messageVersion = 0

	kindSegment  = 0
	kindUpdate   = 1
	kindDelete   = 2
	kindSnapshot = 3

	tagTxnIndexEmpty = 0
)

// maxTopicBytes is the longest string that a message of Kafka's carries.
const maxTopicBytes = math.MaxInt16

// SegmentSnapshot is a segment as Kafka's RemoteLogSegmentMetadataSnapshot has it, in
// the snapshot files of its brokers: without its partition, so ID.TopicIdPartition
// is zero. Kafka checks neither of its offsets.
type SegmentSnapshot api.RemoteLogSegmentMetadata
