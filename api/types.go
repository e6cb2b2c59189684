package api

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// TopicIdPartition names a partition of a user's topic. Topic id and partition are
// its identity; the topic's name is carried along and may be empty in a query.
type TopicIdPartition struct {
	TopicID   UUID
	Topic     string
	Partition int32
}

// String returns Kafka's form, id:topic-partition.
func (t TopicIdPartition) String() string {
	return fmt.Sprintf("%s:%s-%d", t.TopicID, t.Topic, t.Partition)
}

// Validate returns an [InvalidArgumentError] for a zero topic id or a negative
// partition.
func (t TopicIdPartition) Validate() error {
	switch {
	case t.TopicID.IsZero():
		return &InvalidArgumentError{Field: "topicId", Reason: "must not be zero"}
	case t.Partition < 0:
		return &InvalidArgumentError{Field: "partition", Reason: fmt.Sprintf("must not be negative: %d", t.Partition)}
	}
	return nil
}

// RemoteLogSegmentID names a segment: its partition and an id of its own, unique
// for each upload.
type RemoteLogSegmentID struct {
	TopicIdPartition TopicIdPartition
	ID               UUID
}

// String returns partition and id for a message.
func (id RemoteLogSegmentID) String() string {
	return id.TopicIdPartition.String() + "/" + id.ID.String()
}

// Validate returns an [InvalidArgumentError] for a zero id or a bad partition.
func (id RemoteLogSegmentID) Validate() error {
	if id.ID.IsZero() {
		return &InvalidArgumentError{Field: "segmentId", Reason: "must not be zero"}
	}
	return id.TopicIdPartition.Validate()
}

// EpochOffset is a leader epoch and the first offset that it wrote in a segment.
type EpochOffset struct {
	LeaderEpoch int32
	Offset      int64
}

// LeaderEpochs is the leader epochs of a segment, ascending, each with its first
// offset. It can't be changed; the zero value is empty.
type LeaderEpochs struct {
	_ [0]func() // for == would compare rest by its address
	// The first epoch needs no memory of its own: most segments have no other. With at most
	// four fields and four words the compiler keeps the whole in registers, where lists are
	// made of them.
	some  bool
	first EpochOffset
	rest  *otherEpochs // nil when there is no other
}

// otherEpochs are the epochs behind the first, with room for the one that most have that
// have any: the slice and what it holds are one piece of memory then.
type otherEpochs struct {
	all []EpochOffset
	one [1]EpochOffset
}

// NewLeaderEpochs copies and sorts the entries. Of two entries with one epoch the
// later one in the arguments stays, as in Kafka's map.
func NewLeaderEpochs(entries ...EpochOffset) LeaderEpochs {
	if len(entries) == 1 { // nearly always, and inlined
		return LeaderEpochs{first: entries[0], some: true}
	}
	return severalEpochs(entries)
}

func severalEpochs(entries []EpochOffset) LeaderEpochs {
	if len(entries) == 0 {
		return LeaderEpochs{}
	}
	entries = ascending(entries)
	l := NewLeaderEpochs(entries[0])
	if len(entries) > 1 {
		l.rest = &otherEpochs{}
		l.rest.all = append(l.rest.one[:0], entries[1:]...)
	}
	return l
}

// ascending returns the entries by epoch, each epoch once: themselves if they are so.
func ascending(entries []EpochOffset) []EpochOffset {
	if slices.IsSortedFunc(entries, func(a, b EpochOffset) int {
		return cmp.Or(cmp.Compare(a.LeaderEpoch, b.LeaderEpoch), -1) // equal ones aren't sorted
	}) {
		return entries
	}
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(a, b EpochOffset) int { return cmp.Compare(a.LeaderEpoch, b.LeaderEpoch) })
	kept := sorted[:1]
	for _, e := range sorted[1:] {
		if last := &kept[len(kept)-1]; last.LeaderEpoch == e.LeaderEpoch {
			*last = e
		} else {
			kept = append(kept, e)
		}
	}
	return kept
}

// Len returns the number of epochs.
func (l LeaderEpochs) Len() int {
	if !l.some {
		return 0
	}
	return 1 + len(l.others())
}

// At returns the i-th epoch, in ascending order; it panics out of range.
func (l LeaderEpochs) At(i int) EpochOffset {
	if i == 0 && l.some {
		return l.first
	}
	return l.others()[i-1]
}

// All iterates over the epochs in ascending order.
func (l LeaderEpochs) All() iter.Seq2[int32, int64] {
	return func(yield func(int32, int64) bool) {
		if l.some && !yield(l.first.LeaderEpoch, l.first.Offset) {
			return
		}
		for _, e := range l.others() {
			if !yield(e.LeaderEpoch, e.Offset) {
				return
			}
		}
	}
}

// Find returns the position of an epoch, and whether it is there; of one that isn't,
// where it would be.
func (l LeaderEpochs) Find(epoch int32) (int, bool) {
	if !l.some || epoch <= l.first.LeaderEpoch {
		return 0, l.some && epoch == l.first.LeaderEpoch
	}
	i, found := slices.BinarySearchFunc(l.others(), epoch, func(e EpochOffset, want int32) int {
		return cmp.Compare(e.LeaderEpoch, want)
	})
	return 1 + i, found
}

// Equal tells whether both hold the same epochs with the same offsets.
func (l LeaderEpochs) Equal(other LeaderEpochs) bool {
	return l.some == other.some && l.first == other.first && slices.Equal(l.others(), other.others())
}

// others are the epochs behind the first.
func (l LeaderEpochs) others() []EpochOffset {
	if l.rest == nil {
		return nil
	}
	return l.rest.all
}

// String returns Kafka's form, {0=0, 1=50}.
func (l LeaderEpochs) String() string {
	b := []byte{'{'}
	for epoch, offset := range l.All() {
		if len(b) > 1 {
			b = append(b, ", "...)
		}
		b = fmt.Appendf(b, "%d=%d", epoch, offset)
	}
	return string(append(b, '}'))
}

// CustomMetadata is what the remote storage returned for a copied segment. Absent
// (the zero value) and present but empty differ. It can't be changed; values are
// comparable.
type CustomMetadata struct {
	present bool
	bytes   string
}

// NewCustomMetadata copies b; a nil b is present and empty.
func NewCustomMetadata(b []byte) CustomMetadata {
	return CustomMetadata{present: true, bytes: string(b)}
}

// Present tells whether there is custom metadata, be it empty.
func (c CustomMetadata) Present() bool { return c.present }

// Len returns the number of bytes; 0 when absent.
func (c CustomMetadata) Len() int { return len(c.bytes) }

// Bytes returns a copy: nil when absent, not nil when present.
func (c CustomMetadata) Bytes() []byte {
	if !c.present {
		return nil
	}
	return append(make([]byte, 0, len(c.bytes)), c.bytes...)
}

// AppendTo appends the bytes to b.
func (c CustomMetadata) AppendTo(b []byte) []byte { return append(b, c.bytes...) }

// RemoteLogMetadata is an event of the metadata topic, Kafka's abstract class of that
// name: a [RemoteLogSegmentMetadata] that adds a segment, a
// [RemoteLogSegmentMetadataUpdate] or a [RemotePartitionDeleteMetadata].
type RemoteLogMetadata interface {
	// Partition is the partition that the event is about.
	Partition() TopicIdPartition
	// Validate returns an [InvalidArgumentError] for what can't be published.
	Validate() error
}

// RemoteLogSegmentMetadata describes a remote log segment: as the event that adds
// it, and as the state that a manager holds.
type RemoteLogSegmentMetadata struct {
	ID RemoteLogSegmentID
	// StartOffset is the first offset of the segment, not negative.
	StartOffset int64
	// EndOffset is the last offset of the segment, inclusive, not below StartOffset.
	EndOffset int64
	// MaxTimestampMs is the greatest record timestamp in milliseconds since 1970;
	// −1 is unknown.
	MaxTimestampMs int64
	// EventTimestampMs is when the last event was made, in milliseconds since 1970.
	EventTimestampMs int64
	// BrokerID is the broker that wrote the last event.
	BrokerID int32
	// SegmentSizeInBytes is the size of the log file.
	SegmentSizeInBytes int32
	// LeaderEpochs must not be empty.
	LeaderEpochs LeaderEpochs
	// CustomMetadata is the remote storage's own note; absent until it gave one.
	CustomMetadata CustomMetadata
	State          RemoteLogSegmentState
	// TxnIndexEmpty is true when the segment certainly has no transaction index.
	// False means that it may have one: records before Kafka 4.0 don't say.
	TxnIndexEmpty bool
}

// Partition is the partition that the segment belongs to.
func (m RemoteLogSegmentMetadata) Partition() TopicIdPartition { return m.ID.TopicIdPartition }

// Equal tells whether all fields are the same.
func (m RemoteLogSegmentMetadata) Equal(o RemoteLogSegmentMetadata) bool {
	epochs := m.LeaderEpochs.Equal(o.LeaderEpochs)
	return epochs && m.comparable() == o.comparable()
}

// comparableMetadata is every field but the epochs, which == can't compare.
type comparableMetadata struct {
	id                                       RemoteLogSegmentID
	start, end, maxTimestamp, eventTimestamp int64
	broker, size                             int32
	custom                                   CustomMetadata
	state                                    RemoteLogSegmentState
	txnIndexEmpty                            bool
}

func (m RemoteLogSegmentMetadata) comparable() comparableMetadata {
	return comparableMetadata{
		m.ID, m.StartOffset, m.EndOffset, m.MaxTimestampMs, m.EventTimestampMs,
		m.BrokerID, m.SegmentSizeInBytes, m.CustomMetadata, m.State, m.TxnIndexEmpty,
	}
}

// Validate returns an [InvalidArgumentError] for what the constructor of Kafka's
// class refuses (a negative start, an end before the start, no leader epoch), for a
// zero id and for an unknown state.
func (m RemoteLogSegmentMetadata) Validate() error {
	switch {
	case m.StartOffset < 0:
		return &InvalidArgumentError{Field: "startOffset", Reason: fmt.Sprintf("must not be negative: %d", m.StartOffset)}
	case m.EndOffset < m.StartOffset:
		return &InvalidArgumentError{Field: "endOffset", Reason: fmt.Sprintf("%d is less than startOffset %d", m.EndOffset, m.StartOffset)}
	case m.LeaderEpochs.Len() == 0:
		return &InvalidArgumentError{Field: "segmentLeaderEpochs", Reason: "must not be empty"}
	case !m.State.Valid():
		return &InvalidArgumentError{Field: "state", Reason: m.State.String()}
	}
	return m.ID.Validate()
}

// EpochRange returns the first and last offset that the segment holds for the
// epoch: from the epoch's first offset, not below the segment's start, to the
// lesser of the segment's end and the next higher epoch's first offset − 1. ok is
// false when the segment doesn't carry the epoch; a carried epoch may be empty
// (last < first).
func (m RemoteLogSegmentMetadata) EpochRange(epoch int32) (first, last int64, ok bool) {
	i, ok := m.LeaderEpochs.Find(epoch)
	if !ok {
		return 0, 0, false
	}
	first, last = max(m.LeaderEpochs.At(i).Offset, m.StartOffset), m.EndOffset
	if i+1 < m.LeaderEpochs.Len() {
		last = min(last, m.LeaderEpochs.At(i+1).Offset-1)
	}
	return first, last, true
}

// RemoteLogSegmentMetadataUpdate is the event that moves a segment to its next
// state.
type RemoteLogSegmentMetadataUpdate struct {
	ID RemoteLogSegmentID
	// EventTimestampMs is when the event was made, in milliseconds since 1970.
	EventTimestampMs int64
	// CustomMetadata replaces the segment's when present; absent leaves it as it was.
	CustomMetadata CustomMetadata
	State          RemoteLogSegmentState
	BrokerID       int32
}

// Partition is the partition that the segment belongs to.
func (u RemoteLogSegmentMetadataUpdate) Partition() TopicIdPartition { return u.ID.TopicIdPartition }

// Validate returns an [InvalidArgumentError] for a zero id or an unknown state.
func (u RemoteLogSegmentMetadataUpdate) Validate() error {
	if !u.State.Valid() {
		return &InvalidArgumentError{Field: "state", Reason: u.State.String()}
	}
	return u.ID.Validate()
}

// RemotePartitionDeleteMetadata is the event that moves a partition's deletion to
// its next state.
type RemotePartitionDeleteMetadata struct {
	TopicIdPartition TopicIdPartition
	State            RemotePartitionDeleteState
	// EventTimestampMs is when the event was made, in milliseconds since 1970.
	EventTimestampMs int64
	BrokerID         int32
}

// Partition is the partition that is being deleted.
func (d RemotePartitionDeleteMetadata) Partition() TopicIdPartition { return d.TopicIdPartition }

// Validate returns an [InvalidArgumentError] for a bad partition or a state that no
// record may carry.
func (d RemotePartitionDeleteMetadata) Validate() error {
	if !d.State.Valid() {
		return &InvalidArgumentError{Field: "state", Reason: d.State.String()}
	}
	return d.TopicIdPartition.Validate()
}

// Position is where a record lies in the metadata topic.
type Position struct {
	MetadataPartition int32
	// Offset is −1 when nothing was published.
	Offset int64
}

// NotPublished is the position of an event that isn't on the topic.
var NotPublished = Position{MetadataPartition: -1, Offset: -1}

// String returns partition/offset.
func (p Position) String() string { return fmt.Sprintf("%d/%d", p.MetadataPartition, p.Offset) }
