package rest

import (
	"encoding/json"
	"math"

	"github.com/tieredlog/rlmm/api"
)

// Lists have a great many segments, and reading a member at a time is slow. So a segment
// is first read as encoding/json does by itself, into a value whose required members
// are what no answer gives. When one still is, or the text is bad, it is read again
// exactly, which says what is wrong, or that an odd value is meant.

type plainEpoch LeaderEpoch

var (
	unsetID      = api.UUIDFromBits(math.MaxUint64, math.MaxUint64)
	unsetEpoch   = LeaderEpoch{math.MinInt32, math.MinInt64}
	unsetSegment = Segment{
		SegmentID: unsetID, TopicID: unsetID, Partition: math.MinInt32, StartOffset: math.MinInt64, EndOffset: math.MinInt64,
		BrokerID: math.MinInt32, MaxTimestampMs: math.MinInt64, EventTimestampMs: math.MinInt64,
		SegmentSizeInBytes: math.MinInt32, State: -1,
	}
)

// UnmarshalJSON reads a segment. All members but topic, customMetadata and
// txnIndexEmpty are required; the error is an [api.InvalidArgumentError] that names
// the first bad one. Members that aren't known are passed over, so that the answer of
// a newer server can be read. Whether the values make a segment is for
// [api.RemoteLogSegmentMetadata.Validate].
func (s *Segment) UnmarshalJSON(data []byte) error {
	lean := unsetSegment
	if json.Unmarshal(data, (*plainSegment)(&lean)) == nil && lean.isSet() {
		*s = lean
		return nil
	}
	return readInto(s, data, func(o *object) Segment { return takeSegment(o, takePartition(o)) })
}

// isSet tells whether every required member was there for sure.
func (s *Segment) isSet() bool {
	u := &unsetSegment
	ids := s.SegmentID != u.SegmentID && s.TopicID != u.TopicID && s.Partition != u.Partition
	offsets := s.StartOffset != u.StartOffset && s.EndOffset != u.EndOffset && s.SegmentLeaderEpochs != nil
	event := s.BrokerID != u.BrokerID && s.EventTimestampMs != u.EventTimestampMs && s.State != u.State
	return ids && offsets && event && s.MaxTimestampMs != u.MaxTimestampMs && s.SegmentSizeInBytes != u.SegmentSizeInBytes
}

// UnmarshalJSON reads an epoch as [Segment.UnmarshalJSON] reads a segment; both members
// are required.
func (e *LeaderEpoch) UnmarshalJSON(data []byte) error {
	lean := unsetEpoch
	if json.Unmarshal(data, (*plainEpoch)(&lean)) == nil && lean.LeaderEpoch != unsetEpoch.LeaderEpoch && lean.Offset != unsetEpoch.Offset {
		*e = lean
		return nil
	}
	return readInto(e, data, takeEpoch)
}
