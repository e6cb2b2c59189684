package codec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tieredlog/rlmm/api"
)

// The keys of the table, with ids in Kafka's base64 and numbers in decimal:
//
//	<topicId>:<partition>              a partition's own row
//	<topicId>:<partition>/<segmentId>  a segment's row
//	!<metadata partition>              rejected events and fences
//	!<metadata partition>/position     where the processor is
const (
	hiddenMark   = "!"
	positionTail = "position"
)

// KeyKind says what a key of the table is of.
type KeyKind uint8

// The kinds of keys. The zero KeyKind is none.
const (
	// KeyPartition is that of a partition's own row, see [PartitionKey].
	KeyPartition KeyKind = iota + 1
	// KeySegment is that of a segment's row, see [SegmentKey].
	KeySegment
	// KeyRejected is hidden, see [RejectedKey].
	KeyRejected
	// KeyPosition is hidden, see [PositionKey].
	KeyPosition
)

// Key is a key of the table, taken apart.
type Key struct {
	Kind KeyKind
	// ID is the segment (KeySegment) or holds the partition alone (KeyPartition). The
	// topic's name is not part of a key.
	ID api.RemoteLogSegmentID
	// MetadataPartition is the partition of a hidden key (KeyRejected, KeyPosition).
	MetadataPartition int32
}

// PartitionKey is the key of the partition's own row.
func PartitionKey(tip api.TopicIdPartition) string {
	return Key{Kind: KeyPartition, ID: api.RemoteLogSegmentID{TopicIdPartition: tip}}.String()
}

// SegmentKey is the key of the segment's row.
func SegmentKey(id api.RemoteLogSegmentID) string { return Key{Kind: KeySegment, ID: id}.String() }

// RejectedKey is the hidden key of what a metadata partition holds and no row takes:
// events that are rejected before they are read, and fences.
func RejectedKey(metadataPartition int32) string {
	return Key{Kind: KeyRejected, MetadataPartition: metadataPartition}.String()
}

// PositionKey is the hidden key of the processor's position on a metadata partition.
func PositionKey(metadataPartition int32) string {
	return Key{Kind: KeyPosition, MetadataPartition: metadataPartition}.String()
}

// EventKey is the key of the row that the event changes; RecordKey is that of a record.
func EventKey(m api.RemoteLogMetadata) string {
	switch m := m.(type) {
	case api.RemoteLogSegmentMetadata:
		return SegmentKey(m.ID)
	case api.RemoteLogSegmentMetadataUpdate:
		return SegmentKey(m.ID)
	}
	return PartitionKey(m.Partition())
}

// IsHidden tells whether the key is one that is never shown: no row of a user's
// partition.
func IsHidden(key string) bool { return strings.HasPrefix(key, hiddenMark) }

// PartitionRange bounds the keys of a partition: start is its own row, its segments
// follow, and limit is the first key after them. Nothing else lies between, other
// partitions of the topic included.
func PartitionRange(tip api.TopicIdPartition) (start, limit []byte) {
	start = appendPartitionKey(make([]byte, 0, maxKeyLen), tip)
	// After the number comes nothing or a slash, and 0 is the byte after the slash.
	return start, append(append(make([]byte, 0, maxKeyLen), start...), '/'+1)
}

// maxKeyLen is no less than the length of a key: two ids of 22, a partition of up to
// 11 and two separators.
const maxKeyLen = 64

// idLen is the length of an id in a key.
const idLen = 22

// Bytes returns the key as it is in the table.
func (k Key) Bytes() []byte { return k.appendTo(make([]byte, 0, maxKeyLen)) }

// String returns the key as it is in the table.
func (k Key) String() string {
	var buf [maxKeyLen]byte
	return string(k.appendTo(buf[:0]))
}

func (k Key) appendTo(b []byte) []byte {
	switch k.Kind {
	case KeyPartition:
		return appendPartitionKey(b, k.ID.TopicIdPartition)
	case KeySegment:
		return appendID(append(appendPartitionKey(b, k.ID.TopicIdPartition), '/'), k.ID.ID)
	case KeyRejected:
		return appendHidden(b, k.MetadataPartition)
	case KeyPosition:
		return append(append(appendHidden(b, k.MetadataPartition), '/'), positionTail...)
	}
	return b
}

func appendPartitionKey(b []byte, tip api.TopicIdPartition) []byte {
	return strconv.AppendInt(append(appendID(b, tip.TopicID), ':'), int64(tip.Partition), 10)
}

func appendHidden(b []byte, metadataPartition int32) []byte {
	return strconv.AppendInt(append(b, hiddenMark...), int64(metadataPartition), 10)
}

func appendID(b []byte, id api.UUID) []byte {
	b, _ = id.AppendText(b) // never fails
	return b
}

// Partition is that of the table's n, and of the metadata topic's, that the key belongs to.
func (k Key) Partition(n int32) int32 {
	switch k.Kind {
	case KeyRejected, KeyPosition:
		return k.MetadataPartition % n
	}
	return MetadataPartition(k.ID.TopicIdPartition, n)
}

// ParseKey takes a key of the table apart. Anything that isn't one, letter for
// letter, is an [api.InvalidArgumentError].
func ParseKey(s string) (Key, error) {
	k, ok := parseKey(s)
	if !ok {
		return Key{}, &api.InvalidArgumentError{Field: "key", Reason: fmt.Sprintf("%.80q is not a key of the table", s)}
	}
	return k, nil
}

func parseKey(s string) (Key, bool) {
	head, tail, slash := strings.Cut(s, "/")
	if IsHidden(s) {
		k, ok := parseHidden(head, slash)
		return k, ok && (!slash || tail == positionTail)
	}
	tip, ok := parsePartition(head)
	k := Key{Kind: KeyPartition, ID: api.RemoteLogSegmentID{TopicIdPartition: tip}}
	if !slash || !ok {
		return k, ok
	}
	k.Kind = KeySegment
	k.ID.ID, ok = parseID(tail)
	return k, ok
}

func parseHidden(head string, slash bool) (Key, bool) {
	p, ok := parseNumber(strings.TrimPrefix(head, hiddenMark))
	k := Key{Kind: KeyRejected, MetadataPartition: p}
	if slash {
		k.Kind = KeyPosition
	}
	return k, ok && p >= 0
}

func parsePartition(head string) (tip api.TopicIdPartition, ok bool) {
	text, number, _ := strings.Cut(head, ":")
	if tip.Partition, ok = parseNumber(number); !ok {
		return api.TopicIdPartition{}, false
	}
	tip.TopicID, ok = parseID(text)
	return tip, ok
}

// parseID reads an id as appendID writes it.
func parseID(s string) (api.UUID, bool) {
	id, err := api.ParseUUID(s)
	return id, err == nil && len(s) == idLen
}

// parseNumber reads a number as strconv.AppendInt writes it.
func parseNumber(s string) (int32, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	digits := strings.TrimPrefix(s, "-")
	spelled := s == "0" || digits != "" && digits[0] >= '1' && digits[0] <= '9'
	return int32(n), err == nil && spelled
}
