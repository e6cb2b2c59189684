package index

import (
	"cmp"
	"math"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// Segment is a remote log segment as the index holds it: never changed, compact, safe
// to keep and to read from any goroutine. [Segment.Metadata] gives the contract's
// type; the other methods read one field of it at no cost.
//
// It takes 64 bytes, a cache line: what it may share with others of its partition and
// epoch is kept once.
type Segment struct {
	start, finished              int64 // offset of the event that first finished it, −1 if none did
	rest                         *rest
	id                           api.UUID
	maxTimestamp, eventTimestamp int64
	length                       uint32 // end − start, unless rest has the end
	size                         int32
}

// rest is what a segment may share with others.
type rest struct {
	partition     api.TopicIdPartition
	broker        int32
	state         api.RemoteLogSegmentState
	txnIndexEmpty bool
	plain         bool  // the epochs are {epoch: start}
	long          bool  // the end is here
	epoch         int32 // the only one, of a plain segment
	end           int64
	epochs        api.LeaderEpochs // none for a plain segment
	custom        api.CustomMetadata
}

// newSegment compacts a row of kind RowSegment. It shares nothing yet.
func newSegment(row *codec.Row) *Segment {
	m := &row.Segment
	return &Segment{
		start: m.StartOffset, finished: row.FinishedOffset, rest: restOf(m), id: m.ID.ID,
		maxTimestamp: m.MaxTimestampMs, eventTimestamp: m.EventTimestampMs,
		length: uint32(m.EndOffset - m.StartOffset), size: m.SegmentSizeInBytes,
	}
}

func restOf(m *api.RemoteLogSegmentMetadata) *rest {
	r := &rest{
		partition: m.ID.TopicIdPartition, broker: m.BrokerID, state: m.State, txnIndexEmpty: m.TxnIndexEmpty,
		epochs: m.LeaderEpochs, custom: m.CustomMetadata,
	}
	if e := m.LeaderEpochs; e.Len() == 1 && e.At(0).Offset == m.StartOffset {
		r.plain, r.epoch, r.epochs = true, e.At(0).LeaderEpoch, api.LeaderEpochs{}
	}
	if length := m.EndOffset - m.StartOffset; length < 0 || length > math.MaxUint32 {
		r.long, r.end = true, m.EndOffset
	}
	return r
}

// sharable tells whether others may have the same rest.
func (r *rest) sharable() bool { return r.plain && !r.long && !r.custom.Present() }

// same tells whether two that are sharable are the same.
func (r *rest) same(o *rest) bool {
	return r.epoch == o.epoch && r.broker == o.broker && r.state == o.state && r.txnIndexEmpty == o.txnIndexEmpty &&
		r.partition == o.partition
}

// Metadata returns the segment as the contract describes it.
func (s *Segment) Metadata() (m api.RemoteLogSegmentMetadata) {
	s.Describe(&m)
	return m
}

// Describe is Metadata into memory of the caller's: a copy of the whole costs as much as all
// else.
func (s *Segment) Describe(m *api.RemoteLogSegmentMetadata) {
	r := s.rest
	m.ID.TopicIdPartition, m.ID.ID = r.partition, s.id
	m.StartOffset, m.EndOffset = s.start, s.end()
	m.MaxTimestampMs, m.EventTimestampMs = s.maxTimestamp, s.eventTimestamp
	m.BrokerID, m.SegmentSizeInBytes = r.broker, s.size
	if r.plain {
		m.LeaderEpochs = api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: r.epoch, Offset: s.start})
	} else {
		m.LeaderEpochs = r.epochs
	}
	m.CustomMetadata = r.custom
	m.State, m.TxnIndexEmpty = r.state, r.txnIndexEmpty
}

func (s *Segment) end() int64 {
	if s.rest.long {
		return s.rest.end
	}
	return s.start + int64(s.length)
}

// ID returns the segment's id within its partition.
func (s *Segment) ID() api.UUID { return s.id }

// StartOffset returns the first offset of the segment.
func (s *Segment) StartOffset() int64 { return s.start }

// EndOffset returns the last offset of the segment, inclusive.
func (s *Segment) EndOffset() int64 { return s.end() }

// MaxTimestampMs returns the greatest record timestamp in milliseconds since 1970; −1
// is unknown.
func (s *Segment) MaxTimestampMs() int64 { return s.maxTimestamp }

// EventTimestampMs returns when the last event was made, in milliseconds since 1970.
func (s *Segment) EventTimestampMs() int64 { return s.eventTimestamp }

// BrokerID returns the broker that wrote the last event.
func (s *Segment) BrokerID() int32 { return s.rest.broker }

// SegmentSizeInBytes returns the size of the log file.
func (s *Segment) SegmentSizeInBytes() int32 { return s.size }

// State returns the segment's state, never DeleteSegmentFinished.
func (s *Segment) State() api.RemoteLogSegmentState { return s.rest.state }

// TxnIndexEmpty tells whether the segment certainly has no transaction index.
func (s *Segment) TxnIndexEmpty() bool { return s.rest.txnIndexEmpty }

// CustomMetadata returns the remote storage's own note.
func (s *Segment) CustomMetadata() api.CustomMetadata { return s.rest.custom }

// EpochCount returns the number of leader epochs.
func (s *Segment) EpochCount() int {
	if s.rest.plain {
		return 1
	}
	return s.rest.epochs.Len()
}

// EpochAt returns the i-th leader epoch, in ascending order, with its first offset; it
// may panic out of range.
func (s *Segment) EpochAt(i int) api.EpochOffset {
	if s.rest.plain {
		return api.EpochOffset{LeaderEpoch: s.rest.epoch, Offset: s.start}
	}
	return s.rest.epochs.At(i)
}

// span is [api.RemoteLogSegmentMetadata.EpochRange] for an epoch that the segment
// carries.
func (s *Segment) span(epoch int32) (first, last int64) {
	if s.rest.plain {
		return s.start, s.end()
	}
	return s.spanOfSeveral(epoch)
}

func (s *Segment) spanOfSeveral(epoch int32) (first, last int64) {
	m := api.RemoteLogSegmentMetadata{StartOffset: s.start, EndOffset: s.end(), LeaderEpochs: s.rest.epochs}
	first, last, _ = m.EpochRange(epoch)
	return first, last
}

// isFinished tells whether the queries by offset and epoch see the segment.
func (s *Segment) isFinished() bool { return s.rest.state == api.CopySegmentFinished }

// inPlaceOf tells whether s has the place of old in every order, so that it can
// replace it there. It hasn't when the id was deleted and added again with another
// body; the rows in between may be compacted away.
func (s *Segment) inPlaceOf(old *Segment) bool {
	a, b := s.rest, old.rest
	sameRange := s.start == old.start && s.end() == old.end() && a.txnIndexEmpty == b.txnIndexEmpty
	sameEpochs := a.plain == b.plain && a.epoch == b.epoch && a.epochs.Equal(b.epochs)
	refinished := old.finished >= 0 && old.finished != s.finished
	return sameRange && sameEpochs && !refinished
}

func compareIDs(a, b *Segment) int { return a.id.Compare(b.id) }

func compareStarts(a, b *Segment) int {
	return cmp.Or(cmp.Compare(a.start, b.start), compareIDs(a, b))
}
