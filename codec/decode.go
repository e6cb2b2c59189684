package codec

import (
	"math"

	"github.com/tieredlog/rlmm/api"
)

// DecodeRecord reads the value of a record of the metadata topic. It takes exactly
// what Kafka's RemoteLogMetadataSerde takes for the topic's three kinds, and keeps
// nothing of value. A nil value is [ErrNullValue]; any other fault is a
// [DecodeError], a segment snapshot too: Kafka never writes one to the topic.
func DecodeRecord(value []byte) (api.RemoteLogMetadata, error) {
	if value == nil {
		return nil, ErrNullValue
	}
	r := newReader(value)
	var m api.RemoteLogMetadata
	kind, at := r.kind()
	switch kind {
	case kindSegment:
		m = r.segment()
	case kindUpdate:
		m = r.update()
	case kindDelete:
		m = r.partitionDelete()
	case kindSnapshot:
		r.failAt(at, ReasonKind, "api key", "a segment snapshot is never valid on the topic")
	}
	r.end()
	if err := r.result(); err != nil {
		return nil, err
	}
	return m, nil
}

// RecordKey is the key of the row that the record's event changes. It reads the front of the
// value only, and a fault there is an error: that DecodeRecord takes the rest isn't said.
func RecordKey(value []byte) (Key, error) {
	r := newReader(value)
	kind, at := r.kind()
	if kind == kindSnapshot {
		r.failAt(at, ReasonKind, "api key", "a segment snapshot has no row")
	}
	r.topic()
	k := Key{Kind: KeyPartition, ID: api.RemoteLogSegmentID{TopicIdPartition: r.nameless()}}
	if kind != kindDelete {
		k.Kind, k.ID.ID = KeySegment, r.uuid("segmentId")
	}
	if err := r.result(); err != nil {
		return Key{}, err
	}
	return k, nil
}

// DecodeSnapshot reads a segment snapshot, Kafka's api key 3, as RemoteLogMetadataSerde
// does. The faults are those of [DecodeRecord]; the topic's kinds are refused.
func DecodeSnapshot(value []byte) (SegmentSnapshot, error) {
	if value == nil {
		return SegmentSnapshot{}, ErrNullValue
	}
	r := newReader(value)
	if kind, at := r.kind(); kind != kindSnapshot {
		r.failAt(at, ReasonKind, "api key", "%d is not a segment snapshot", kind)
	}
	var m api.RemoteLogSegmentMetadata
	m.ID.ID = r.uuid("segmentId")
	r.body(&m)
	r.end()
	if err := r.result(); err != nil {
		return SegmentSnapshot{}, err
	}
	return SegmentSnapshot(m), nil
}

// kind reads the frame and returns the api key and where it is; −1 stands for a
// fault.
func (r *reader) kind() (kind int16, at int) {
	frame := r.short("frame version")
	if frame != frameVersion {
		r.fail(ReasonFrame, "frame version", "%d is not the known one, %d", frame, frameVersion)
	}
	kind = r.short("api key")
	at = r.at
	if kind < kindSegment || kind > kindSnapshot {
		r.fail(ReasonKind, "api key", "%d is not a kind of metadata", kind)
	}
	// Kafka's generated code asks only whether the version is above 0.
	if version := r.short("version"); version > messageVersion {
		r.fail(ReasonVersion, "version", "%d of api key %d is not known", version, kind)
	}
	if r.err != nil {
		return -1, at
	}
	return kind, at
}

// short reads a number of the frame as AbstractApiMessageSerde does: a varint that is
// negative as an int32 is cut to its low 16 bits.
func (r *reader) short(field string) int16 {
	u := int32(r.uvarint(field))
	if u > math.MaxInt16 {
		r.fail(ReasonLength, field, "%d is too large", u)
	}
	return int16(u)
}

func (r *reader) segment() api.RemoteLogSegmentMetadata {
	m := api.RemoteLogSegmentMetadata{ID: r.segmentID()}
	at := r.offset()
	r.body(&m)
	switch {
	case m.StartOffset < 0:
		r.failAt(at, ReasonValue, "startOffset", "%d is negative", m.StartOffset)
	case m.EndOffset < m.StartOffset:
		r.failAt(at+8, ReasonValue, "endOffset", "%d is less than startOffset %d", m.EndOffset, m.StartOffset)
	}
	return m
}

func (r *reader) update() api.RemoteLogSegmentMetadataUpdate {
	m := api.RemoteLogSegmentMetadataUpdate{ID: r.segmentID()}
	m.BrokerID = r.int32("brokerId")
	m.EventTimestampMs = r.int64("eventTimestampMs")
	m.CustomMetadata = r.customMetadata()
	m.State = r.segmentState()
	r.tags(nil)
	return m
}

func (r *reader) partitionDelete() api.RemotePartitionDeleteMetadata {
	m := api.RemotePartitionDeleteMetadata{TopicIdPartition: r.topicIDPartition()}
	m.BrokerID = r.int32("brokerId")
	m.EventTimestampMs = r.int64("eventTimestampMs")
	m.State = r.deleteState()
	r.tags(nil)
	return m
}

// body reads what a segment and a snapshot share.
func (r *reader) body(m *api.RemoteLogSegmentMetadata) {
	m.StartOffset = r.int64("startOffset")
	m.EndOffset = r.int64("endOffset")
	m.BrokerID = r.int32("brokerId")
	m.MaxTimestampMs = r.int64("maxTimestampMs")
	m.EventTimestampMs = r.int64("eventTimestampMs")
	m.LeaderEpochs = r.leaderEpochs()
	m.SegmentSizeInBytes = r.int32("segmentSizeInBytes")
	m.CustomMetadata = r.customMetadata()
	m.State = r.segmentState()
	r.tags(&m.TxnIndexEmpty)
}

func (r *reader) segmentID() api.RemoteLogSegmentID {
	id := api.RemoteLogSegmentID{TopicIdPartition: r.topicIDPartition()}
	id.ID = r.uuid("segmentId")
	r.tags(nil)
	return id
}

func (r *reader) topicIDPartition() api.TopicIdPartition {
	topic := r.topic()
	tip := r.nameless()
	tip.Topic = javaString(topic)
	return tip
}

// nameless reads what follows the topic's name.
func (r *reader) nameless() (tip api.TopicIdPartition) {
	tip.TopicID = r.uuid("topicId")
	tip.Partition = r.int32("partition")
	r.tags(nil)
	return tip
}

func (r *reader) topic() []byte {
	n := r.length("topic")
	if n < 0 || n > maxTopicBytes {
		r.fail(ReasonLength, "topic", "length %d is not in 0…%d", n, maxTopicBytes)
		return nil
	}
	return r.span("topic", int(n))
}

// length reads a compact length or count; negative is null.
func (r *reader) length(field string) int32 { return int32(r.uvarint(field)) - 1 }

// minEpochBytes is the least that a leader epoch takes: 4, 8 and no tags.
const minEpochBytes = 4 + 8 + 1

// leaderEpochs reads the list as Kafka's map does: in any order, and of entries with
// one epoch the last stays.
func (r *reader) leaderEpochs() api.LeaderEpochs {
	const field = "segmentLeaderEpochs"
	n := max(0, r.length(field))
	if !r.fits(field, uint64(n), minEpochBytes) {
		return api.LeaderEpochs{}
	}
	var few [fewEpochs]api.EpochOffset
	entries := few[:0]
	if n > fewEpochs {
		entries = make([]api.EpochOffset, 0, n)
	}
	for range n {
		entries = append(entries, api.EpochOffset{LeaderEpoch: r.int32("leaderEpoch"), Offset: r.int64("offset")})
		r.tags(nil)
	}
	return api.NewLeaderEpochs(entries...)
}

// fits tells whether a list that must not be empty can be there; the list is asked
// for before room is made for it.
func (r *reader) fits(field string, n uint64, bytesEach int) bool {
	switch left := len(r.in.Src); {
	case n == 0:
		r.fail(ReasonValue, field, "there must be at least one")
		return false
	case n > uint64(left/bytesEach):
		r.fail(ReasonTruncated, field, "%d entries don't fit in %d bytes", n, left)
		return false
	}
	return true
}

// fewEpochs is how many leader epochs are read without an allocation of their own.
const fewEpochs = 8

func (r *reader) customMetadata() api.CustomMetadata {
	n := r.length("customMetadata")
	if n < 0 {
		return api.CustomMetadata{}
	}
	return api.NewCustomMetadata(r.span("customMetadata", int(n)))
}

func (r *reader) segmentState() api.RemoteLogSegmentState {
	s := api.RemoteLogSegmentState(r.int8("state"))
	if !s.Valid() {
		r.fail(ReasonValue, "state", "%d is not a segment's state", int8(s))
	}
	return s
}

func (r *reader) deleteState() api.RemotePartitionDeleteState {
	s := api.RemotePartitionDeleteState(r.int8("state"))
	if !s.Valid() {
		r.fail(ReasonValue, "state", "%d is not a state of a partition's deletion", int8(s))
	}
	return s
}

// tags skips tagged fields, but for the one that txnIndexEmpty asks for. Like
// Kafka's generated code it takes a count that is negative as an int32 for none, and
// doesn't look at the length of the field that it knows.
func (r *reader) tags(txnIndexEmpty *bool) {
	n := int32(r.uvarint("tagged fields"))
	for i := int32(0); i < n && r.err == nil; i++ {
		tag := r.uvarint("tag")
		size := int32(r.uvarint("tagged field"))
		switch {
		case tag == tagTxnIndexEmpty && txnIndexEmpty != nil:
			*txnIndexEmpty = r.int8("txnIndexEmpty") != 0
		case size < 0:
			r.fail(ReasonLength, "tagged field", "length %d is negative", size)
		default:
			r.span("tagged field", int(size))
		}
	}
}
