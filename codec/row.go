package codec

import "github.com/tieredlog/rlmm/api"

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
	// CopySegmentFinished; −1 if none did. RowSegment and RowMarker only.
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
