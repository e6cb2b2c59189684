package codec

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/tieredlog/rlmm/api"
)

// EncodeRecord is [AppendRecord] to a new slice.
func EncodeRecord(m api.RemoteLogMetadata) ([]byte, error) { return AppendRecord(nil, m) }

// AppendRecord appends an event as Kafka's RemoteLogMetadataSerde writes it, byte for
// byte. It doesn't validate the event. What the format can't carry is an
// [api.InvalidArgumentError], and dst comes back as it was: a topic's name that is
// longer than 32767 bytes or isn't UTF-8, and a value that is none of the three
// kinds.
func AppendRecord(dst []byte, m api.RemoteLogMetadata) ([]byte, error) {
	switch m.(type) {
	case api.RemoteLogSegmentMetadata, api.RemoteLogSegmentMetadataUpdate, api.RemotePartitionDeleteMetadata:
	default:
		return dst, &api.InvalidArgumentError{Field: "metadata", Reason: fmt.Sprintf("%T is not a kind of record", m)}
	}
	if err := checkTopic(m.Partition().Topic); err != nil {
		return dst, err
	}
	switch m := m.(type) {
	case api.RemoteLogSegmentMetadata:
		dst = appendSegment(dst, &m)
	case api.RemoteLogSegmentMetadataUpdate:
		dst = appendUpdate(dst, &m)
	case api.RemotePartitionDeleteMetadata:
		dst = appendPartitionDelete(dst, &m)
	}
	return dst, nil
}

// AppendSnapshot appends a segment snapshot, Kafka's api key 3, as
// RemoteLogMetadataSerde writes it.
func AppendSnapshot(dst []byte, s SegmentSnapshot) []byte {
	m := api.RemoteLogSegmentMetadata(s)
	dst = slices.Grow(dst, sizeHint(&m))
	dst = appendFrame(dst, kindSnapshot)
	dst = kbin.AppendUuid(dst, m.ID.ID)
	return appendBody(dst, &m)
}

func checkTopic(topic string) error {
	switch {
	case len(topic) > maxTopicBytes:
		return &api.InvalidArgumentError{Field: "topic", Reason: fmt.Sprintf("%d bytes are more than %d", len(topic), maxTopicBytes)}
	case !utf8.ValidString(topic):
		return &api.InvalidArgumentError{Field: "topic", Reason: fmt.Sprintf("%.40q is not UTF-8", topic)}
	}
	return nil
}

func appendFrame(dst []byte, kind uint32) []byte {
	dst = kbin.AppendUvarint(dst, frameVersion)
	dst = kbin.AppendUvarint(dst, kind)
	return kbin.AppendUvarint(dst, messageVersion)
}

func appendSegment(dst []byte, m *api.RemoteLogSegmentMetadata) []byte {
	dst = slices.Grow(dst, sizeHint(m))
	dst = appendFrame(dst, kindSegment)
	dst = appendSegmentID(dst, m.ID)
	return appendBody(dst, m)
}

func appendUpdate(dst []byte, m *api.RemoteLogSegmentMetadataUpdate) []byte {
	dst = slices.Grow(dst, fixedBytes+len(m.ID.TopicIdPartition.Topic)+m.CustomMetadata.Len())
	dst = appendFrame(dst, kindUpdate)
	dst = appendSegmentID(dst, m.ID)
	dst = kbin.AppendInt32(dst, m.BrokerID)
	dst = kbin.AppendInt64(dst, m.EventTimestampMs)
	dst = appendCustomMetadata(dst, m.CustomMetadata)
	dst = kbin.AppendInt8(dst, int8(m.State))
	return appendNoTags(dst)
}

func appendPartitionDelete(dst []byte, m *api.RemotePartitionDeleteMetadata) []byte {
	dst = slices.Grow(dst, fixedBytes+len(m.TopicIdPartition.Topic))
	dst = appendFrame(dst, kindDelete)
	dst = appendTopicIDPartition(dst, m.TopicIdPartition)
	dst = kbin.AppendInt32(dst, m.BrokerID)
	dst = kbin.AppendInt64(dst, m.EventTimestampMs)
	dst = kbin.AppendInt8(dst, int8(m.State))
	return appendNoTags(dst)
}

// fixedBytes is no less than what a record takes without topic, epochs and custom
// metadata.
const fixedBytes = 128

func sizeHint(m *api.RemoteLogSegmentMetadata) int {
	return fixedBytes + len(m.ID.TopicIdPartition.Topic) + minEpochBytes*m.LeaderEpochs.Len() + m.CustomMetadata.Len()
}

// appendBody appends what a segment and a snapshot share.
func appendBody(dst []byte, m *api.RemoteLogSegmentMetadata) []byte {
	dst = kbin.AppendInt64(dst, m.StartOffset)
	dst = kbin.AppendInt64(dst, m.EndOffset)
	dst = kbin.AppendInt32(dst, m.BrokerID)
	dst = kbin.AppendInt64(dst, m.MaxTimestampMs)
	dst = kbin.AppendInt64(dst, m.EventTimestampMs)
	dst = appendLeaderEpochs(dst, m.LeaderEpochs)
	dst = kbin.AppendInt32(dst, m.SegmentSizeInBytes)
	dst = appendCustomMetadata(dst, m.CustomMetadata)
	dst = kbin.AppendInt8(dst, int8(m.State))
	if !m.TxnIndexEmpty {
		return appendNoTags(dst)
	}
	dst = kbin.AppendUvarint(dst, 1)
	dst = kbin.AppendUvarint(dst, tagTxnIndexEmpty)
	dst = kbin.AppendUvarint(dst, 1)
	return kbin.AppendBool(dst, true)
}

func appendSegmentID(dst []byte, id api.RemoteLogSegmentID) []byte {
	dst = appendTopicIDPartition(dst, id.TopicIdPartition)
	dst = kbin.AppendUuid(dst, id.ID)
	return appendNoTags(dst)
}

func appendTopicIDPartition(dst []byte, tip api.TopicIdPartition) []byte {
	dst = kbin.AppendCompactString(dst, tip.Topic)
	dst = kbin.AppendUuid(dst, tip.TopicID)
	dst = kbin.AppendInt32(dst, tip.Partition)
	return appendNoTags(dst)
}

func appendLeaderEpochs(dst []byte, epochs api.LeaderEpochs) []byte {
	dst = kbin.AppendCompactArrayLen(dst, epochs.Len())
	for i := range epochs.Len() {
		e := epochs.At(i)
		dst = kbin.AppendInt32(dst, e.LeaderEpoch)
		dst = kbin.AppendInt64(dst, e.Offset)
		dst = appendNoTags(dst)
	}
	return dst
}

func appendCustomMetadata(dst []byte, c api.CustomMetadata) []byte {
	if !c.Present() {
		return kbin.AppendUvarint(dst, 0)
	}
	dst = kbin.AppendUvarint(dst, uint32(c.Len())+1)
	return c.AppendTo(dst)
}

func appendNoTags(dst []byte) []byte { return kbin.AppendUvarint(dst, 0) }
