// Package fold is the rule by which an event of the metadata topic changes a row of
// the table. It is pure: it reads no clock, does no I/O, and the same log folded from
// its start gives the same rows.
//
// Kafka's counterpart is RemoteLogMetadataCache. Where that ignores, logs or throws,
// an event here has an outcome; and unlike there a second add of a known segment is
// refused, and an update without custom metadata keeps what the segment has.
package fold

import (
	"fmt"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// Fold applies an event to the row of its table key and returns the row that follows
// and what became of the event. A nil row is no row. The offset is the event's on the
// metadata partition; it becomes the Offset of a row that changed.
//
// The given row is never modified. When nothing changes, it is itself the next row; a
// rejected event changes a row only where it makes, replaces or removes a headless
// one. Fold panics on an event of a type that package api doesn't define.
func Fold(row *codec.Row, event api.RemoteLogMetadata, offset int64) (next *codec.Row, outcome codec.Outcome) {
	switch e := event.(type) {
	case api.RemoteLogSegmentMetadata:
		return add(row, e, offset)
	case api.RemoteLogSegmentMetadataUpdate:
		return update(row, e, offset)
	case api.RemotePartitionDeleteMetadata:
		return deletePartition(row, e, offset)
	}
	panic(fmt.Sprintf("fold: unexpected event %T", event))
}

func add(row *codec.Row, segment api.RemoteLogSegmentMetadata, offset int64) (*codec.Row, codec.Outcome) {
	if segment.State != api.CopySegmentStarted || is(row, codec.RowSegment) {
		return row, codec.OutcomeInvalidAdd
	}
	next := &codec.Row{Kind: codec.RowSegment, Offset: offset, FinishedOffset: -1, Segment: segment}
	if is(row, codec.RowMarker) {
		next.Highest = row.Highest
	}
	return next, codec.OutcomeApplied
}

func update(row *codec.Row, u api.RemoteLogSegmentMetadataUpdate, offset int64) (*codec.Row, codec.Outcome) {
	if !is(row, codec.RowSegment) {
		return updateUnknown(row, u, offset), codec.OutcomeSegmentNotFound
	}
	if u.State == api.CopySegmentStarted || !row.Segment.State.CanBecome(u.State) {
		return row, codec.OutcomeInvalidSegmentTransition
	}
	if u.State == api.DeleteSegmentFinished {
		return marker(row, u, offset), codec.OutcomeApplied
	}
	return updated(row, u, offset), codec.OutcomeApplied
}

// updateUnknown keeps a started deletion of an unknown segment, so that its remote
// object can still be found, until that deletion is finished.
func updateUnknown(row *codec.Row, u api.RemoteLogSegmentMetadataUpdate, offset int64) *codec.Row {
	switch {
	case is(row, codec.RowMarker):
		return row
	case u.State == api.DeleteSegmentStarted:
		segment := bodiless(u)
		segment.CustomMetadata = u.CustomMetadata
		return &codec.Row{Kind: codec.RowHeadless, Offset: offset, Segment: segment}
	case u.State == api.DeleteSegmentFinished:
		return nil
	}
	return row
}

func updated(row *codec.Row, u api.RemoteLogSegmentMetadataUpdate, offset int64) *codec.Row {
	next := *row
	next.Offset = offset
	next.Segment.State = u.State
	next.Segment.BrokerID = u.BrokerID
	next.Segment.EventTimestampMs = u.EventTimestampMs
	if u.CustomMetadata.Present() {
		next.Segment.CustomMetadata = u.CustomMetadata
	}
	if u.State == api.CopySegmentFinished && row.FinishedOffset < 0 {
		next.FinishedOffset = offset
	}
	return &next
}

func marker(row *codec.Row, u api.RemoteLogSegmentMetadataUpdate, offset int64) *codec.Row {
	return &codec.Row{
		Kind: codec.RowMarker, Offset: offset, FinishedOffset: row.FinishedOffset,
		Segment: bodiless(u), Highest: highest(row),
	}
}

// highest is what all lives of the segment id, the present one included, have reached
// in each epoch. An epoch that is empty within the segment counts with the offset
// before its first, as in Kafka's cache.
func highest(row *codec.Row) api.LeaderEpochs {
	if row.FinishedOffset < 0 {
		return row.Highest
	}
	var reached []api.EpochOffset
	for epoch, offset := range row.Highest.All() {
		reached = append(reached, api.EpochOffset{LeaderEpoch: epoch, Offset: offset})
	}
	for epoch := range row.Segment.LeaderEpochs.All() {
		_, last, _ := row.Segment.EpochRange(epoch)
		if i, ok := row.Highest.Find(epoch); ok {
			last = max(last, row.Highest.At(i).Offset)
		}
		reached = append(reached, api.EpochOffset{LeaderEpoch: epoch, Offset: last})
	}
	return api.NewLeaderEpochs(reached...)
}

func deletePartition(row *codec.Row, d api.RemotePartitionDeleteMetadata, offset int64) (*codec.Row, codec.Outcome) {
	state := api.DeletePartitionNone
	if is(row, codec.RowPartition) {
		state = row.Delete.State
	}
	if !state.CanBecome(d.State) {
		return row, codec.OutcomeInvalidPartitionDeleteTransition
	}
	return &codec.Row{Kind: codec.RowPartition, Offset: offset, Delete: d}, codec.OutcomeApplied
}

func bodiless(u api.RemoteLogSegmentMetadataUpdate) api.RemoteLogSegmentMetadata {
	return api.RemoteLogSegmentMetadata{
		ID: u.ID, State: u.State, BrokerID: u.BrokerID, EventTimestampMs: u.EventTimestampMs,
	}
}

func is(row *codec.Row, kind codec.RowKind) bool { return row != nil && row.Kind == kind }
