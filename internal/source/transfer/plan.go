package transfer

import (
	"cmp"
	"math"
	"slices"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// Plan is the events that make the rows of an export on an empty topic, when those of each
// user partition are published in this order. All are accepted, but for headless
// deletions, which are what they are. A segment's events all have the broker and the time
// of its last one.
//
// A marker is made by short lives of its id, of segments without bytes that reach its
// highest offsets: they are added, finished and deleted.
func Plan(rows []rest.Row) []api.RemoteLogMetadata {
	var order []api.TopicIdPartition
	byPartition := map[api.TopicIdPartition][]rest.Row{}
	for _, row := range rows {
		tip := row.Partition()
		tip.Topic = ""
		if byPartition[tip] == nil {
			order = append(order, tip)
		}
		byPartition[tip] = append(byPartition[tip], row)
	}
	var events []api.RemoteLogMetadata
	for _, tip := range order {
		events = append(events, planOf(byPartition[tip])...)
	}
	return events
}

// planOf makes a user partition: its segments in the order in which they were finished,
// and its deletion last.
func planOf(rows []rest.Row) (events []api.RemoteLogMetadata) {
	inOrder := slices.Clone(rows)
	slices.SortStableFunc(inOrder, func(a, b rest.Row) int { return cmp.Compare(turn(a), turn(b)) })
	for _, row := range inOrder {
		switch row.Kind {
		case rest.RowSegment:
			events = append(append(events, lives(row)...), life(row)...)
		case rest.RowMarker:
			events = append(events, lives(row)...)
		case rest.RowHeadless:
			events = append(events, update(row.Segment, api.DeleteSegmentStarted))
		case rest.RowPartitionDelete:
			events = append(events, deletion(row.Delete)...)
		}
	}
	return events
}

// turn is FinishedOrder, and what was never finished after it.
func turn(r rest.Row) int64 {
	switch {
	case r.Kind == rest.RowPartitionDelete:
		return math.MaxInt64
	case r.FinishedOrder > 0:
		return r.FinishedOrder
	}
	return math.MaxInt64 - 1
}

// life brings a segment to its state.
func life(row rest.Row) []api.RemoteLogMetadata {
	m := row.Segment
	add := m
	add.State = api.CopySegmentStarted
	events := []api.RemoteLogMetadata{add}
	if row.FinishedOrder > 0 {
		events = append(events, update(m, api.CopySegmentFinished))
	}
	if m.State == api.DeleteSegmentStarted {
		events = append(events, update(m, api.DeleteSegmentStarted))
	}
	return events
}

func update(m api.RemoteLogSegmentMetadata, state api.RemoteLogSegmentState) api.RemoteLogSegmentMetadataUpdate {
	return api.RemoteLogSegmentMetadataUpdate{
		ID: m.ID, EventTimestampMs: m.EventTimestampMs, CustomMetadata: m.CustomMetadata, State: state, BrokerID: m.BrokerID,
	}
}

// lives are whole lives of a segment's id that reach its highest offsets. One life reaches
// all that isn't above what the last epoch reaches, since an epoch ends where the next
// begins; each other epoch takes one of its own.
func lives(row rest.Row) (events []api.RemoteLogMetadata) {
	highest := row.HighestOffsets
	if highest.Len() == 0 {
		return nil
	}
	end := highest.At(highest.Len() - 1).Offset
	var shared []api.EpochOffset
	begin := int64(0)
	for epoch, offset := range highest.All() {
		if offset > end {
			events = append(events, shortLife(row.Segment, offset, api.EpochOffset{LeaderEpoch: epoch})...)
			continue
		}
		shared = append(shared, api.EpochOffset{LeaderEpoch: epoch, Offset: begin})
		begin = offset + 1
	}
	return append(events, shortLife(row.Segment, end, shared...)...)
}

func shortLife(m api.RemoteLogSegmentMetadata, end int64, epochs ...api.EpochOffset) []api.RemoteLogMetadata {
	add := api.RemoteLogSegmentMetadata{
		ID: m.ID, EndOffset: end, MaxTimestampMs: -1, BrokerID: m.BrokerID, EventTimestampMs: m.EventTimestampMs,
		LeaderEpochs: api.NewLeaderEpochs(epochs...), TxnIndexEmpty: true,
	}
	return []api.RemoteLogMetadata{
		add, update(add, api.CopySegmentFinished), update(add, api.DeleteSegmentStarted), update(add, api.DeleteSegmentFinished),
	}
}

// deletion are the steps to the state.
func deletion(d api.RemotePartitionDeleteMetadata) (events []api.RemoteLogMetadata) {
	for state := api.DeletePartitionMarked; state <= d.State; state++ {
		step := d
		step.State = state
		events = append(events, step)
	}
	return events
}
