package repair

import (
	"fmt"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/source"
)

// Step is an action and the events that carry it out.
type Step struct {
	Action Action
	// Events are in the order in which they are to be published.
	Events []api.RemoteLogMetadata
	// Refused says why there are none.
	Refused error
}

// NoBroker is the broker id of events that no broker wrote.
const NoBroker = int32(-1)

// Steps judges a plan by the rows of all partitions that it names, as they are now, and
// makes its events as of the given time.
func Steps(plan []Action, rows source.Folded, now time.Time) []Step {
	j := judge{rows: rows, now: now.UnixMilli(), left: leftIn(rows)}
	steps := make([]Step, len(plan))
	for i, a := range plan {
		steps[i] = j.step(a)
	}
	return steps
}

type judge struct {
	rows source.Folded
	now  int64
	left map[string]int // segments that aren't deleted, headless ones too, by the partition's key
}

func leftIn(rows source.Folded) map[string]int {
	left := map[string]int{}
	for _, row := range rows {
		if row.Kind == codec.RowSegment || row.Kind == codec.RowHeadless {
			left[codec.PartitionKey(row.Partition())]++
		}
	}
	return left
}

func (j judge) step(a Action) Step {
	row := j.rows[a.Key()]
	if err := changed(a, row); err != nil {
		return Step{Action: a, Refused: err}
	}
	if a.Action == DeleteSegment {
		j.left[codec.PartitionKey(a.Tip())]--
		return Step{Action: a, Events: j.deletion(row)}
	}
	if n := j.left[a.Key()]; n > 0 {
		return Step{Action: a, Refused: fmt.Errorf("%d segments of the partition aren't deleted", n)}
	}
	return Step{Action: a, Events: j.end(a.Tip(), row)}
}

// changed returns an error unless the row is as the action expects it.
func changed(a Action, row *codec.Row) error {
	switch {
	case row == nil && a.Action == DeleteSegment:
		return fmt.Errorf("the segment is unknown, not in %s", a.Expect.State)
	case row != nil && row.Kind == codec.RowMarker:
		return fmt.Errorf("the segment is deleted, not in %s", a.Expect.State)
	}
	if now := expected(row); now != a.Expect {
		return fmt.Errorf("it is in %s since offset %d, not in %s since offset %d", now.State, now.Offset, a.Expect.State, a.Expect.Offset)
	}
	if row != nil && row.Kind == codec.RowPartition && row.Delete.State == api.DeletePartitionFinished {
		return fmt.Errorf("it is in %s already", row.Delete.State)
	}
	return nil
}

func (j judge) deletion(row *codec.Row) (events []api.RemoteLogMetadata) {
	for state := api.DeleteSegmentStarted; state <= api.DeleteSegmentFinished; state++ {
		if row.Segment.State != state {
			events = append(events, api.RemoteLogSegmentMetadataUpdate{
				ID: row.Segment.ID, EventTimestampMs: j.now, State: state, BrokerID: NoBroker,
			})
		}
	}
	return events
}

func (j judge) end(tip api.TopicIdPartition, row *codec.Row) (events []api.RemoteLogMetadata) {
	at := api.DeletePartitionNone
	if row != nil {
		at = row.Delete.State
	}
	for state := api.DeletePartitionMarked; state <= api.DeletePartitionFinished; state++ {
		if state > at {
			events = append(events, api.RemotePartitionDeleteMetadata{
				TopicIdPartition: tip, State: state, EventTimestampMs: j.now, BrokerID: NoBroker,
			})
		}
	}
	return events
}
