package codec

import (
	"encoding/binary"

	"github.com/tieredlog/rlmm/api"
)

// RowKind says what a row of the table holds.
type RowKind uint8

// The kinds of rows. Their numbers are part of the row format.
const (
	// RowSegment is a segment in CopySegmentStarted, CopySegmentFinished or
	// DeleteSegmentStarted.
	RowSegment RowKind = 1
	// RowHeadless is a DeleteSegmentStarted for a segment that was never added here.
	// To queries, adds and updates it is no row; it tells where a remote object may be
	// left.
	RowHeadless RowKind = 2
	// RowMarker is what a finished deletion leaves of a segment: nothing to queries
	// but the highest offsets of its epochs, which never go down.
	RowMarker RowKind = 3
	// RowPartition is the deletion state of a partition, under the partition's own
	// key.
	RowPartition RowKind = 4
)

// Row is a value of the table: what the events of one key have come to.
type Row struct {
	Kind RowKind
	// Offset is the offset, on the metadata partition, of the last event that
	// changed the row.
	Offset int64
	// FinishedOffset is the offset of the event that first moved the segment to
	// CopySegmentFinished; −1 if none did. RowSegment and RowMarker only; 0 in the
	// others.
	FinishedOffset int64
	// Segment is the segment (RowSegment), or what a headless update or a finished
	// deletion said: ID, BrokerID, EventTimestampMs, State, and CustomMetadata of a
	// headless one (RowHeadless, RowMarker).
	Segment api.RemoteLogSegmentMetadata
	// Highest is, for each epoch that earlier lives of this segment id ever finished,
	// its highest offset bounded by the epoch (the offset field). RowMarker: the life
	// that ended included. RowSegment: those before this life, usually none.
	Highest api.LeaderEpochs
	// Delete is the partition's deletion. RowPartition only.
	Delete api.RemotePartitionDeleteMetadata
}

// Partition is the user partition that the row is about.
func (r *Row) Partition() api.TopicIdPartition {
	if r.Kind == RowPartition {
		return r.Delete.TopicIdPartition
	}
	return r.Segment.ID.TopicIdPartition
}

// A row's value, version 1. The ids are the key's. u is an unsigned number in 7-bit
// groups, the low one first (LEB128); z is a signed one in zigzag form, as such; both
// in their shortest form and up to 64 bits. Differences wrap. A row has one encoding
// only: a reader refuses any other, and bytes after the end.
//
//	 0         1                2
//	+---------+----------------+--------+-------------------+---------+--------+----------+
//	| version | flags │ kind   | offset | topic's name      | state   | broker | event    |
//	| 1 byte  | 4 bits│ 4 bits | u      | u length · bytes  | 1 byte  | z      | time z   |
//	+---------+----------------+--------+-------------------+---------+--------+----------+
//
// and then, by kind and flags:
//
//	segment    [finished] · life · [custom] · [highest]
//	headless   [custom]
//	marker     [finished] · [highest]
//	partition  nothing
//
//	0x10 txn index empty  segment: there certainly is none
//	0x20 custom           u length · bytes; without the flag it is absent, not empty
//	0x40 highest          epochs, from 0
//	0x80 finished         u: offset − offset of the finishing event; without the flag it is −1
//
//	life    u start offset · u end − start · z max time − event time · u size ·
//	        epochs, from the start offset
//	epochs  u count, not 0 · z first epoch · z offset − from ·
//	        (count−1) × (u epoch − the epoch before, not 0 · z offset − the offset before)
const (
	flagTxnIndexEmpty = 0x10
	flagCustom        = 0x20
	flagHighest       = 0x40
	flagFinished      = 0x80
	kindMask          = 0x0f
)

// allowedFlags are the flags that a row of each kind may have.
var allowedFlags = [...]byte{
	RowSegment:   flagTxnIndexEmpty | flagCustom | flagHighest | flagFinished,
	RowHeadless:  flagCustom,
	RowMarker:    flagHighest | flagFinished,
	RowPartition: 0,
}

// minRowEpochBytes is the least that an epoch takes in a row.
const minRowEpochBytes = 2

// appendRow1 appends the row in version 1.
func appendRow1(dst []byte, r Row) []byte {
	flags := r.flags()
	dst = append(dst, 1, flags|byte(r.Kind)&kindMask)
	dst = binary.AppendUvarint(dst, uint64(r.Offset))
	dst = appendBytes(dst, r.Partition().Topic)
	if r.Kind == RowPartition {
		return appendEvent(dst, int8(r.Delete.State), r.Delete.BrokerID, r.Delete.EventTimestampMs)
	}
	dst = appendEvent(dst, int8(r.Segment.State), r.Segment.BrokerID, r.Segment.EventTimestampMs)
	if flags&flagFinished != 0 {
		dst = binary.AppendUvarint(dst, uint64(r.Offset-r.FinishedOffset))
	}
	if r.Kind == RowSegment {
		dst = appendLife(dst, &r.Segment)
	}
	if flags&flagCustom != 0 {
		dst = binary.AppendUvarint(dst, uint64(r.Segment.CustomMetadata.Len()))
		dst = r.Segment.CustomMetadata.AppendTo(dst)
	}
	if flags&flagHighest != 0 {
		dst = appendEpochs(dst, r.Highest, 0)
	}
	return dst
}

// flags says which parts the row has, of those that its kind uses.
func (r *Row) flags() (flags byte) {
	for _, f := range [...]struct {
		flag byte
		on   bool
	}{
		{flagTxnIndexEmpty, r.Segment.TxnIndexEmpty},
		{flagCustom, r.Segment.CustomMetadata.Present()},
		{flagHighest, r.Highest.Len() > 0},
		{flagFinished, r.FinishedOffset != -1},
	} {
		if f.on {
			flags |= f.flag
		}
	}
	return flags & r.Kind.allowed()
}

// allowed is 0 for an unknown kind.
func (k RowKind) allowed() byte {
	if int(k) >= len(allowedFlags) {
		return 0
	}
	return allowedFlags[k]
}

func appendEvent(dst []byte, state int8, broker int32, timestamp int64) []byte {
	dst = append(dst, byte(state))
	dst = binary.AppendVarint(dst, int64(broker))
	return binary.AppendVarint(dst, timestamp)
}

func appendLife(dst []byte, m *api.RemoteLogSegmentMetadata) []byte {
	dst = binary.AppendUvarint(dst, uint64(m.StartOffset))
	dst = binary.AppendUvarint(dst, uint64(m.EndOffset-m.StartOffset))
	dst = binary.AppendVarint(dst, m.MaxTimestampMs-m.EventTimestampMs)
	dst = binary.AppendUvarint(dst, uint64(uint32(m.SegmentSizeInBytes)))
	return appendEpochs(dst, m.LeaderEpochs, m.StartOffset)
}

func appendEpochs(dst []byte, epochs api.LeaderEpochs, from int64) []byte {
	dst = binary.AppendUvarint(dst, uint64(epochs.Len()))
	for i := range epochs.Len() {
		e := epochs.At(i)
		if i == 0 {
			dst = binary.AppendVarint(dst, int64(e.LeaderEpoch))
		} else {
			dst = binary.AppendUvarint(dst, uint64(int64(e.LeaderEpoch)-int64(epochs.At(i-1).LeaderEpoch)))
		}
		dst = binary.AppendVarint(dst, e.Offset-from)
		from = e.Offset
	}
	return dst
}

func appendBytes(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// decodeRow1 reads a row of version 1.
func decodeRow1(key Key, value []byte) (Row, error) {
	r := newReader(value)
	if r.int8("version") == 0 {
		r.fail(ReasonVersion, "version", "there is no row version 0")
	}
	row := r.row(key)
	r.end()
	if err := r.result(); err != nil {
		return Row{}, err
	}
	return row, nil
}

// row reads what follows the version.
func (r *reader) row(key Key) (row Row) {
	flags := r.rowHead(key, &row)
	row.Offset = int64(r.uvarlong("offset"))
	topic := string(r.block("topic"))
	if row.Kind == RowPartition {
		row.Delete = r.rowDelete(key, topic)
		return row
	}
	m := &row.Segment
	m.ID = key.ID
	m.ID.TopicIdPartition.Topic = topic
	m.State = r.segmentState()
	m.BrokerID = r.narrow("broker")
	m.EventTimestampMs = r.varlong("event time")
	r.rowFinished(flags, &row)
	if row.Kind == RowSegment {
		r.life(flags, m)
	}
	if flags&flagCustom != 0 {
		m.CustomMetadata = api.NewCustomMetadata(r.block("custom metadata"))
	}
	if flags&flagHighest != 0 {
		row.Highest = r.rowEpochs("highest", 0)
	}
	return row
}

// rowHead reads kind and flags.
func (r *reader) rowHead(key Key, row *Row) (flags byte) {
	head := byte(r.int8("kind"))
	row.Kind, flags = RowKind(head&kindMask), head&^kindMask
	want := KeySegment
	if row.Kind == RowPartition {
		want = KeyPartition
	}
	switch {
	case row.Kind < RowSegment || row.Kind > RowPartition:
		r.fail(ReasonKind, "kind", "%d is not a kind of row", row.Kind)
	case key.Kind != want:
		r.fail(ReasonKind, "kind", "a row of kind %d doesn't belong under the key %q", row.Kind, key)
	case flags&^row.Kind.allowed() != 0:
		r.fail(ReasonValue, "flags", "%#x are not those of a row of kind %d", flags, row.Kind)
	}
	return flags
}

func (r *reader) rowDelete(key Key, topic string) api.RemotePartitionDeleteMetadata {
	m := api.RemotePartitionDeleteMetadata{TopicIdPartition: key.ID.TopicIdPartition}
	m.TopicIdPartition.Topic = topic
	m.State = r.deleteState()
	m.BrokerID = r.narrow("broker")
	m.EventTimestampMs = r.varlong("event time")
	return m
}

func (r *reader) rowFinished(flags byte, row *Row) {
	switch {
	case flags&flagFinished != 0:
		row.FinishedOffset = row.Offset - int64(r.uvarlong("finished offset"))
		if row.FinishedOffset == -1 {
			r.fail(ReasonValue, "finished offset", "−1 is told by the flag alone")
		}
	case row.Kind.allowed()&flagFinished != 0:
		row.FinishedOffset = -1
	}
}

func (r *reader) life(flags byte, m *api.RemoteLogSegmentMetadata) {
	m.TxnIndexEmpty = flags&flagTxnIndexEmpty != 0
	m.StartOffset = int64(r.uvarlong("start offset"))
	if m.StartOffset < 0 {
		r.fail(ReasonValue, "start offset", "%d is negative", m.StartOffset)
	}
	m.EndOffset = m.StartOffset + int64(r.uvarlong("end offset"))
	if m.EndOffset < m.StartOffset {
		r.fail(ReasonValue, "end offset", "%d is less than start offset %d", m.EndOffset, m.StartOffset)
	}
	m.MaxTimestampMs = m.EventTimestampMs + r.varlong("max time")
	size := r.uvarlong("size")
	if size != uint64(uint32(size)) {
		r.fail(ReasonLength, "size", "%d has more than 32 bits", size)
	}
	m.SegmentSizeInBytes = int32(uint32(size))
	m.LeaderEpochs = r.rowEpochs("leader epochs", m.StartOffset)
}

func (r *reader) rowEpochs(field string, from int64) api.LeaderEpochs {
	n := r.uvarlong(field)
	if !r.fits(field, n, minRowEpochBytes) {
		return api.LeaderEpochs{}
	}
	var few [fewEpochs]api.EpochOffset
	entries := few[:0]
	if n > fewEpochs {
		entries = make([]api.EpochOffset, 0, n)
	}
	epoch := int64(r.narrow(field))
	for i := range n {
		if i > 0 {
			epoch = r.nextEpoch(field, epoch)
		}
		from += r.varlong(field)
		entries = append(entries, api.EpochOffset{LeaderEpoch: int32(epoch), Offset: from})
	}
	return api.NewLeaderEpochs(entries...)
}

func (r *reader) nextEpoch(field string, epoch int64) int64 {
	step := r.uvarlong(field)
	next := epoch + int64(step)
	if next <= epoch || next != int64(int32(next)) {
		r.fail(ReasonValue, field, "no epoch is %d after %d", step, epoch)
	}
	return next
}

// narrow reads a signed number of 32 bits.
func (r *reader) narrow(field string) int32 {
	n := r.varlong(field)
	if n != int64(int32(n)) {
		r.fail(ReasonLength, field, "%d has more than 32 bits", n)
	}
	return int32(n)
}

// block reads bytes with their length before them.
func (r *reader) block(field string) []byte {
	n := r.uvarlong(field)
	if n > uint64(len(r.in.Src)) {
		r.fail(ReasonTruncated, field, "needs %d bytes, %d are left", n, len(r.in.Src))
		return nil
	}
	return r.in.Span(int(n))
}
