// Package repair plans and judges repairs of the metadata: ordinary lifecycle events that
// end what would stay for good. A plan is lines of JSON, an action each, for a person to
// review: lines may be left out. An action says what it expects to find, and does nothing
// when that has changed. It is pure.
//
// A repair changes metadata only. Remote objects are the storage's: what an action forgets
// must be deleted there by hand, first.
package repair

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// Kind says what an action does.
type Kind string

// The kinds of actions.
const (
	// DeleteSegment starts the deletion of a segment, unless it has begun, and finishes it.
	DeleteSegment Kind = "delete_segment"
	// EndPartition brings a partition's deletion to its end. Queries then answer as for a
	// partition that never was, and the table forgets its markers. It needs all its
	// segments to be deleted.
	EndPartition Kind = "end_partition"
)

// Action is a line of a plan.
type Action struct {
	Action Kind `json:"action"`
	// Why and Message say, for a reader, what is wrong.
	Why     string `json:"why,omitempty"`
	Message string `json:"message,omitempty"`
	// MetadataPartition is where the events will be.
	MetadataPartition int32    `json:"metadataPartition"`
	TopicID           api.UUID `json:"topicId"`
	Topic             string   `json:"topic"`
	Partition         int32    `json:"partition"`
	// SegmentID is of DeleteSegment only.
	SegmentID *api.UUID `json:"segmentId,omitempty"`
	Expect    Expected  `json:"expect"`
}

// Expected is the state that an action is for.
type Expected struct {
	// State is Kafka's name of the segment's state, or of the partition's deletion; NONE
	// when that hasn't begun.
	State string `json:"state"`
	// Offset is that of the last event that changed the row; −1 for none.
	Offset int64 `json:"offset"`
}

// Tip is the user partition.
func (a Action) Tip() api.TopicIdPartition {
	return api.TopicIdPartition{TopicID: a.TopicID, Topic: a.Topic, Partition: a.Partition}
}

// Key is the table's key of the row that the action changes.
func (a Action) Key() string {
	if a.SegmentID == nil {
		return codec.PartitionKey(a.Tip())
	}
	return codec.SegmentKey(api.RemoteLogSegmentID{TopicIdPartition: a.Tip(), ID: *a.SegmentID})
}

// Delete is the action that ends a segment whose row is not a marker.
func Delete(row codec.Row, metadataPartition int32, why, message string) Action {
	tip, id := row.Segment.ID.TopicIdPartition, row.Segment.ID.ID
	return Action{
		Action: DeleteSegment, Why: why, Message: message, MetadataPartition: metadataPartition,
		TopicID: tip.TopicID, Topic: tip.Topic, Partition: tip.Partition, SegmentID: &id, Expect: expected(&row),
	}
}

// End is the action that ends a partition; its row is nil while no deletion has begun.
func End(tip api.TopicIdPartition, row *codec.Row, metadataPartition int32, why, message string) Action {
	return Action{
		Action: EndPartition, Why: why, Message: message, MetadataPartition: metadataPartition,
		TopicID: tip.TopicID, Topic: tip.Topic, Partition: tip.Partition, Expect: expected(row),
	}
}

// expected is the state that a row shows.
func expected(row *codec.Row) Expected {
	switch {
	case row == nil:
		return Expected{api.DeletePartitionNone.String(), -1}
	case row.Kind == codec.RowPartition:
		return Expected{row.Delete.State.String(), row.Offset}
	}
	return Expected{row.Segment.State.String(), row.Offset}
}

// maxLine bounds a line of a plan.
const maxLine = 1 << 20

// Read reads a plan to its end. An error names the line.
func Read(r io.Reader) ([]Action, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var plan []Action
	seen := map[string]bool{}
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		a, err := parse(lines.Bytes())
		if err == nil && seen[a.Key()] {
			err = errors.New("a second action on the same row")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		seen[a.Key()] = true
		plan = append(plan, a)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return plan, nil
}

func parse(line []byte) (Action, error) {
	var a Action
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return a, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return a, errors.New("more than one action")
	}
	return a, a.validate()
}

func (a Action) validate() error {
	switch {
	case a.Action != DeleteSegment && a.Action != EndPartition:
		return fmt.Errorf("action: %.40q is neither %s nor %s", string(a.Action), DeleteSegment, EndPartition)
	case (a.Action == DeleteSegment) != (a.SegmentID != nil):
		return errors.New("segmentId: it belongs to delete_segment, and to that alone")
	case a.Expect.State == "":
		return errors.New("expect: state is missing")
	}
	return a.Tip().Validate()
}
