package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/source"
	"github.com/tieredlog/rlmm/processor/fold"
)

// state is rows by key, and the offset of the next event.
type state struct {
	rows map[string]*codec.Row
	next int64
}

func newState() *state { return &state{rows: map[string]*codec.Row{}} }

func (s *state) publish(events ...api.RemoteLogMetadata) (outcomes []codec.Outcome) {
	for _, e := range events {
		key := codec.EventKey(e)
		row, outcome := fold.Fold(s.rows[key], e, s.next)
		s.next++
		if s.rows[key] = row; row == nil {
			delete(s.rows, key)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

// partitions are the rows as a source gives them.
func (s *state) partitions() []source.Partition {
	byTip := map[api.TopicIdPartition]*source.Partition{}
	var all []source.Partition
	for _, key := range slices.Sorted(maps.Keys(s.rows)) {
		tip := s.rows[key].Partition()
		if byTip[tip] == nil {
			byTip[tip] = &source.Partition{TopicIdPartition: tip}
		}
		byTip[tip].Rows = append(byTip[tip].Rows, *s.rows[key])
	}
	for _, p := range byTip {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b source.Partition) int { return a.TopicID.Compare(b.TopicID) })
	return all
}

func (s *state) export(t interface{ Fatal(...any) }) string {
	var b bytes.Buffer
	if err := Write(&b, Export(s.partitions())); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// moved imports an export into a new state.
func moved(t interface{ Fatal(...any) }, export string) (*state, []codec.Outcome) {
	rows, err := Read(strings.NewReader(export))
	if err != nil {
		t.Fatal(err)
	}
	to := newState()
	to.next = 1000 // offsets are others there
	return to, to.publish(Plan(rows)...)
}

var tips = []api.TopicIdPartition{
	{TopicID: api.UUIDFromBits(1, 1), Topic: "a"}, {TopicID: api.UUIDFromBits(1, 2), Topic: "b", Partition: 1},
}

func drawID(t *rapid.T) api.RemoteLogSegmentID {
	return api.RemoteLogSegmentID{
		TopicIdPartition: rapid.SampledFrom(tips).Draw(t, "tip"), ID: api.UUIDFromBits(7, uint64(rapid.IntRange(1, 5).Draw(t, "id"))),
	}
}

func drawAdd(t *rapid.T, id api.RemoteLogSegmentID) api.RemoteLogMetadata {
	start := rapid.Int64Range(0, 20).Draw(t, "start")
	end := start + rapid.Int64Range(0, 10).Draw(t, "length")
	epochs := []api.EpochOffset{{LeaderEpoch: rapid.Int32Range(0, 3).Draw(t, "epoch"), Offset: start}}
	for range rapid.IntRange(0, 2).Draw(t, "more") {
		epochs = append(epochs, api.EpochOffset{LeaderEpoch: rapid.Int32Range(0, 5).Draw(t, "epoch"), Offset: rapid.Int64Range(start, end).Draw(t, "at")})
	}
	return api.RemoteLogSegmentMetadata{
		ID: id, StartOffset: start, EndOffset: end, MaxTimestampMs: 5, EventTimestampMs: 7, BrokerID: 1, SegmentSizeInBytes: 10,
		LeaderEpochs: api.NewLeaderEpochs(epochs...), CustomMetadata: drawCustom(t), TxnIndexEmpty: rapid.Bool().Draw(t, "txn"),
	}
}

func drawCustom(t *rapid.T) api.CustomMetadata {
	switch rapid.IntRange(0, 2).Draw(t, "custom") {
	case 0:
		return api.CustomMetadata{}
	case 1:
		return api.NewCustomMetadata(nil)
	}
	return api.NewCustomMetadata([]byte{1, 2})
}

// drawEvent is most often what may follow for a segment, so that lives come to their ends
// and begin again.
func drawEvent(t *rapid.T, s *state) api.RemoteLogMetadata {
	kind := rapid.IntRange(0, 39).Draw(t, "kind")
	if kind == 0 {
		tip := rapid.SampledFrom(tips).Draw(t, "tip")
		return api.RemotePartitionDeleteMetadata{TopicIdPartition: tip, State: api.RemotePartitionDeleteState(rapid.IntRange(0, 2).Draw(t, "state")), BrokerID: 3}
	}
	u := api.RemoteLogSegmentMetadataUpdate{ID: drawID(t), BrokerID: 2, EventTimestampMs: 9, CustomMetadata: drawCustom(t)}
	row := s.rows[codec.SegmentKey(u.ID)]
	switch {
	case kind < 4:
		u.State = api.RemoteLogSegmentState(rapid.IntRange(0, 3).Draw(t, "state"))
	case row == nil || row.Kind != codec.RowSegment:
		return drawAdd(t, u.ID)
	default:
		u.State = row.Segment.State + 1
	}
	return u
}

// answers is all that the queries of a partition say.
func answers(p source.Partition) (all []string) {
	s := p.Snapshot()
	all = append(all, fmt.Sprint(s.ListRemoteLogSegments().Metadata(), s.Orphans().Metadata(), s.Deletion()))
	for epoch := range int32(6) {
		highest, ok := s.HighestOffsetForEpoch(epoch)
		bounded, known := s.BoundedHighestOffsetForEpoch(epoch)
		all = append(all, fmt.Sprint(epoch, highest, ok, bounded, known, s.RemoteLogSize(epoch)))
		for offset := range int64(32) {
			found := "none"
			if segment, ok := s.RemoteLogSegmentMetadata(epoch, offset); ok {
				found = segment.ID().String()
			}
			all = append(all, found)
		}
	}
	return all
}

// Whatever came about: the plan of an export makes a state that answers the same, ties
// included, and whose export is the same. All of its events are accepted but for headless
// deletions.
func TestAnExportsPlanMakesTheSameState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := newState()
		for range rapid.IntRange(0, 80).Draw(t, "events") {
			from.publish(drawEvent(t, from))
		}
		export := from.export(t)
		to, outcomes := moved(t, export)
		if diff := cmp.Diff(export, to.export(t)); diff != "" {
			t.Fatalf("the second export:\n%s", diff)
		}
		headless := 0
		for _, row := range from.rows {
			if row.Kind == codec.RowHeadless {
				headless++
			}
		}
		if refused := len(slices.DeleteFunc(outcomes, func(o codec.Outcome) bool { return !o.Rejected() })); refused != headless {
			t.Fatalf("%d events are refused, and there are %d headless deletions", refused, headless)
		}
		for _, p := range from.partitions() {
			want := answers(p)
			got := answers(source.Partition{})
			for _, q := range to.partitions() {
				if q.TopicIdPartition == p.TopicIdPartition {
					got = answers(q)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s:\n%s", p.TopicIdPartition, diff)
			}
		}
	})
}

func TestReadRefusesWhatIsNoWholeExport(t *testing.T) {
	s := newState()
	add := api.RemoteLogSegmentMetadata{
		ID: api.RemoteLogSegmentID{TopicIdPartition: tips[0], ID: api.UUIDFromBits(7, 1)}, EndOffset: 9,
		LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{}),
	}
	s.publish(add, update(add, api.CopySegmentFinished))
	export := s.export(t)
	lines := strings.SplitAfter(export, "\n")
	row := lines[1]
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "no export"},
		{"something else", `{"kind":"segment"}`, "line 1"},
		{"a newer version", `{"kind":"rlmmExport","version":2}`, "version 2"},
		{"cut short", lines[0] + row, "unexpected EOF"},
		{"cut within a line", lines[0] + row[:40], "line 2"},
		{"rows are missing", lines[0] + lines[2], "0 rows"},
		{"something behind the end", export + row, "behind the end"},
		{"twice", lines[0] + row + row + lines[2], "line 3"},
		{"a kind that isn't known", lines[0] + strings.Replace(row, `"segment"`, `"other"`, 1), "other"},
		{"finished without an order", lines[0] + strings.Replace(row, `"finishedOrder":1,`, "", 1), "finishedOrder"},
		{"an order, and not finished", lines[0] + strings.Replace(row, "COPY_SEGMENT_FINISHED", "COPY_SEGMENT_STARTED", 1), "finishedOrder"},
		{"a state that no row has", lines[0] + strings.Replace(row, "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_FINISHED", 1), "finishedOrder"},
		{"a member is missing", lines[0] + strings.Replace(row, `"endOffset":9,`, "", 1), "endOffset"},
		{"an end before the start", lines[0] + strings.Replace(row, `"startOffset":0`, `"startOffset":10`, 1), "endOffset"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Read(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := Read(strings.NewReader(lines[0])); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut short: %v", err)
	}
}
