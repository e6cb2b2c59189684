package index

import (
	"cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// Segment is a remote log segment as the index holds it: never changed, compact, safe
// to keep and to read from any goroutine. [Segment.Metadata] gives the contract's
// type; the other methods read one field of it at no cost.
type Segment struct {
	start, end                   int64 // first, with all that a search reads
	finished                     int64 // offset of the event that first finished it, −1 if none did
	epoch                        int32 // the only epoch, of a plain segment
	plain                        bool  // the segment's epochs are {epoch: start}
	state                        api.RemoteLogSegmentState
	txnIndexEmpty                bool
	rest                         *rest
	id                           api.UUID
	maxTimestamp, eventTimestamp int64
	broker, size                 int32
}

// rest is what most segments of a partition share: they are plain and carry no custom
// metadata.
type rest struct {
	partition api.TopicIdPartition
	epochs    api.LeaderEpochs // none for a plain segment
	custom    api.CustomMetadata
}

// newSegment compacts a row of kind RowSegment. Common is the rest of a plain segment
// of the same partition without custom metadata.
func newSegment(row *codec.Row, common *rest) *Segment {
	m := &row.Segment
	s := &Segment{
		id: m.ID.ID, start: m.StartOffset, end: m.EndOffset, maxTimestamp: m.MaxTimestampMs,
		eventTimestamp: m.EventTimestampMs, finished: row.FinishedOffset, broker: m.BrokerID,
		size: m.SegmentSizeInBytes, state: m.State, txnIndexEmpty: m.TxnIndexEmpty, rest: common,
	}
	own := rest{partition: m.ID.TopicIdPartition, epochs: m.LeaderEpochs, custom: m.CustomMetadata}
	if e := m.LeaderEpochs; e.Len() == 1 && e.At(0).Offset == m.StartOffset {
		s.plain, s.epoch, own.epochs = true, e.At(0).LeaderEpoch, api.LeaderEpochs{}
	}
	if own.epochs.Len() > 0 || own.custom.Present() {
		s.rest = &own
	}
	return s
}

// Metadata returns the segment as the contract describes it.
func (s *Segment) Metadata() (m api.RemoteLogSegmentMetadata) {
	s.Describe(&m)
	return m
}

// describe writes all fields of m, each to where it is wanted: lists are made of these, and
// a copy of the whole costs as much as all else.
func (s *Segment) Describe(m *api.RemoteLogSegmentMetadata) {
	m.ID.TopicIdPartition, m.ID.ID = s.rest.partition, s.id
	m.StartOffset, m.EndOffset = s.start, s.end
	m.MaxTimestampMs, m.EventTimestampMs = s.maxTimestamp, s.eventTimestamp
	m.BrokerID, m.SegmentSizeInBytes = s.broker, s.size
	if s.plain {
		m.LeaderEpochs = api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: s.epoch, Offset: s.start})
	} else {
		m.LeaderEpochs = s.rest.epochs
	}
	m.CustomMetadata = s.rest.custom
	m.State, m.TxnIndexEmpty = s.state, s.txnIndexEmpty
}

// ID returns the segment's id within its partition.
func (s *Segment) ID() api.UUID { return s.id }

// StartOffset returns the first offset of the segment.
func (s *Segment) StartOffset() int64 { return s.start }

// EndOffset returns the last offset of the segment, inclusive.
func (s *Segment) EndOffset() int64 { return s.end }

// MaxTimestampMs returns the greatest record timestamp in milliseconds since 1970; −1
// is unknown.
func (s *Segment) MaxTimestampMs() int64 { return s.maxTimestamp }

// EventTimestampMs returns when the last event was made, in milliseconds since 1970.
func (s *Segment) EventTimestampMs() int64 { return s.eventTimestamp }

// BrokerID returns the broker that wrote the last event.
func (s *Segment) BrokerID() int32 { return s.broker }

// SegmentSizeInBytes returns the size of the log file.
func (s *Segment) SegmentSizeInBytes() int32 { return s.size }

// State returns the segment's state, never DeleteSegmentFinished.
func (s *Segment) State() api.RemoteLogSegmentState { return s.state }

// TxnIndexEmpty tells whether the segment certainly has no transaction index.
func (s *Segment) TxnIndexEmpty() bool { return s.txnIndexEmpty }

// CustomMetadata returns the remote storage's own note.
func (s *Segment) CustomMetadata() api.CustomMetadata { return s.rest.custom }

// EpochCount returns the number of leader epochs.
func (s *Segment) EpochCount() int {
	if s.plain {
		return 1
	}
	return s.rest.epochs.Len()
}

// EpochAt returns the i-th leader epoch, in ascending order, with its first offset; it
// may panic out of range.
func (s *Segment) EpochAt(i int) api.EpochOffset {
	if s.plain {
		return api.EpochOffset{LeaderEpoch: s.epoch, Offset: s.start}
	}
	return s.rest.epochs.At(i)
}

// span is [api.RemoteLogSegmentMetadata.EpochRange] for an epoch that the segment
// carries.
func (s *Segment) span(epoch int32) (first, last int64) {
	if s.plain {
		return s.start, s.end
	}
	return s.spanOfSeveral(epoch)
}

func (s *Segment) spanOfSeveral(epoch int32) (first, last int64) {
	m := api.RemoteLogSegmentMetadata{StartOffset: s.start, EndOffset: s.end, LeaderEpochs: s.rest.epochs}
	first, last, _ = m.EpochRange(epoch)
	return first, last
}

// isFinished tells whether the queries by offset and epoch see the segment.
func (s *Segment) isFinished() bool { return s.state == api.CopySegmentFinished }

// inPlaceOf tells whether s has the place of old in every order, so that it can
// replace it there. It hasn't when the id was deleted and added again with another
// body; the rows in between may be compacted away.
func (s *Segment) inPlaceOf(old *Segment) bool {
	sameRange := s.start == old.start && s.end == old.end && s.txnIndexEmpty == old.txnIndexEmpty
	sameEpochs := s.plain == old.plain && s.epoch == old.epoch && s.rest.epochs.Equal(old.rest.epochs)
	refinished := old.finished >= 0 && old.finished != s.finished
	return sameRange && sameEpochs && !refinished
}

func compareIDs(a, b *Segment) int { return a.id.Compare(b.id) }

func compareStarts(a, b *Segment) int {
	return cmp.Or(cmp.Compare(a.start, b.start), compareIDs(a, b))
}
