package check

import (
	"errors"
	"fmt"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// invalid says why no event makes a row that does decode; nil when one may.
func invalid(row *codec.Row) error {
	finished := row.FinishedOffset
	switch {
	case row.Offset < 0:
		return fmt.Errorf("changed last at offset %d", row.Offset)
	case row.Kind == codec.RowPartition:
		return nil // its state is all that it has
	case !isStateOf(row.Kind, row.Segment.State):
		return fmt.Errorf("a row of kind %d in state %s", row.Kind, row.Segment.State)
	case row.Kind == codec.RowHeadless:
		return nil
	case finished > row.Offset || finished < -1:
		return fmt.Errorf("finished at offset %d, changed last at %d", finished, row.Offset)
	case row.Kind == codec.RowMarker && finished >= 0 && row.Highest.Len() == 0:
		return errors.New("the marker of a finished segment without a highest offset")
	case row.Segment.State == api.CopySegmentStarted && finished >= 0:
		return fmt.Errorf("in state %s, yet finished at offset %d", row.Segment.State, finished)
	case row.Segment.State == api.CopySegmentFinished && finished < 0:
		return fmt.Errorf("in state %s, yet never finished", row.Segment.State)
	}
	return nil
}

// isStateOf tells whether a row of the kind may have the state.
func isStateOf(kind codec.RowKind, state api.RemoteLogSegmentState) bool {
	switch kind {
	case codec.RowHeadless:
		return state == api.DeleteSegmentStarted
	case codec.RowMarker:
		return state == api.DeleteSegmentFinished
	}
	return state != api.DeleteSegmentFinished
}
