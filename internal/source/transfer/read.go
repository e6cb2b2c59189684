package transfer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// maxLine bounds a line: a segment with the largest record's custom metadata in base64.
const maxLine = 130 << 20

// Read reads an export to its end. An error names the line; an export that was cut short
// is [io.ErrUnexpectedEOF].
func Read(r io.Reader) ([]rest.Row, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	if err := readHead(lines); err != nil {
		return nil, err
	}
	rows, seen := []rest.Row{}, known{}
	for n := 2; lines.Scan(); n++ {
		row, last, err := readLine(lines.Bytes(), len(rows))
		if err == nil && last {
			return rows, readEnd(lines)
		}
		if err == nil {
			err = seen.add(row)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("after %d rows, without the end: %w", len(rows), io.ErrUnexpectedEOF)
}

func readHead(lines *bufio.Scanner) error {
	var h head
	if !lines.Scan() {
		return fmt.Errorf("no export: %w", errOr(lines.Err(), io.ErrUnexpectedEOF))
	}
	if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h.Kind != kindHead {
		return errors.New("line 1: it is not the head of an export")
	}
	if h.Version != version {
		return fmt.Errorf("line 1: export version %d is not the known one, %d", h.Version, version)
	}
	return nil
}

func errOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

func readLine(line []byte, rows int) (row rest.Row, last bool, err error) {
	var e end
	if err := json.Unmarshal(line, &e); err != nil {
		return row, false, err
	}
	if e.Kind != kindEnd {
		return row, false, json.Unmarshal(line, &row)
	}
	if e.Rows != rows {
		return row, true, fmt.Errorf("%d rows came before an end that says %d", rows, e.Rows)
	}
	return row, true, nil
}

func readEnd(lines *bufio.Scanner) error {
	if lines.Scan() {
		return errors.New("there is something behind the end")
	}
	return lines.Err()
}

// known is what was read of each user partition, to find what can't be.
type known map[any]bool

type finishedAt struct {
	tip   api.TopicIdPartition
	order int64
}

// add refuses a row that no event makes, or that comes twice.
func (k known) add(row rest.Row) error {
	tip := row.Partition()
	tip.Topic = ""
	if err := check(row); err != nil {
		return err
	}
	keys := []any{api.RemoteLogSegmentID{TopicIdPartition: tip, ID: row.Segment.ID.ID}}
	if row.FinishedOrder > 0 {
		keys = append(keys, finishedAt{tip, row.FinishedOrder})
	}
	for _, key := range keys {
		if k[key] {
			return fmt.Errorf("%v is there twice", key)
		}
		k[key] = true
	}
	return nil
}

func check(row rest.Row) error {
	finished := row.FinishedOrder > 0
	state := row.Segment.State
	switch row.Kind {
	case rest.RowPartitionDelete:
		return row.Delete.Validate()
	case rest.RowHeadless:
		return errOr(row.Segment.ID.Validate(), stateIs(state == api.DeleteSegmentStarted, state))
	case rest.RowMarker:
		return errOr(row.Segment.ID.Validate(), errOr(stateIs(state == api.DeleteSegmentFinished, state), checkHighest(row.HighestOffsets)))
	}
	if state == api.CopySegmentFinished != finished && state != api.DeleteSegmentStarted {
		return fmt.Errorf("finishedOrder %d doesn't go with %s", row.FinishedOrder, state)
	}
	if row.HighestOffsets.Len() > 0 {
		if err := checkHighest(row.HighestOffsets); err != nil {
			return err
		}
	}
	return errOr(row.Segment.Validate(), stateIs(state != api.DeleteSegmentFinished, state))
}

func stateIs(right bool, state api.RemoteLogSegmentState) error {
	if right {
		return nil
	}
	return fmt.Errorf("a row of this kind can't be in %s", state)
}

// checkHighest refuses what no segment can have reached: of the last epoch it is the end
// of a segment.
func checkHighest(highest api.LeaderEpochs) error {
	n := highest.Len()
	if n == 0 || highest.At(n-1).Offset < 0 {
		return fmt.Errorf("highestOffsets %s are not those of a segment", highest)
	}
	return nil
}
