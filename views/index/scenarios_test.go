package index_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/views/index"
)

// TestScenarios runs the scripts of testdata/scenarios; the README there is their
// format.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			runScenario(t, file, string(text))
		})
	}
}

func runScenario(t *testing.T, file, text string) {
	tables := map[string]*table{"": newTable()}
	current := tables[""]
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words, want, _ := strings.Cut(line, "->")
		fields, want := strings.Fields(words), strings.TrimSpace(want)
		switch {
		case len(fields) == 0:
			continue
		case fields[0] == "partition":
			if tables[fields[1]] == nil {
				tables[fields[1]] = newTable()
			}
			current = tables[fields[1]]
			continue
		}
		for _, got := range current.answers(t, fields) {
			if got != want {
				t.Errorf("%s:%d: %s-> %s, want %s", file, i+1, words, got, want)
			}
		}
	}
}

// answers does what a line says: an event has one answer, its outcome unless applied;
// a query has two, of the index and of a rebuilt one.
func (t *table) answers(tb testing.TB, fields []string) []string {
	if event := parseEvent(tb, fields); event != nil {
		if outcome := t.apply(event); outcome != codec.OutcomeApplied {
			return []string{outcome.String()}
		}
		return []string{""}
	}
	if fields[0] == "row" {
		return []string{t.rowKind(parseID(fields[1]).ID)}
	}
	return []string{answer(tb, t.index.Snapshot(), fields), answer(tb, t.rebuilt().Snapshot(), fields)}
}

func (t *table) rowKind(id api.UUID) string {
	row := t.rows[id]
	if row == nil {
		return "none"
	}
	return map[codec.RowKind]string{codec.RowSegment: "segment", codec.RowHeadless: "headless", codec.RowMarker: "marker"}[row.Kind]
}

func parseEvent(tb testing.TB, fields []string) api.RemoteLogMetadata {
	update := func(state api.RemoteLogSegmentState) api.RemoteLogMetadata {
		return api.RemoteLogSegmentMetadataUpdate{ID: parseID(fields[1]), State: state}
	}
	switch fields[0] {
	case "add":
		return parseSegment(tb, fields[1:])
	case "fin":
		return update(api.CopySegmentFinished)
	case "ds":
		return update(api.DeleteSegmentStarted)
	case "df":
		return update(api.DeleteSegmentFinished)
	case "pd":
		d := api.RemotePartitionDeleteMetadata{TopicIdPartition: tip}
		if err := d.State.UnmarshalText([]byte("DELETE_PARTITION_" + fields[1])); err != nil {
			tb.Fatal(err)
		}
		return d
	}
	return nil
}

func parseSegment(tb testing.TB, fields []string) api.RemoteLogSegmentMetadata {
	m := api.RemoteLogSegmentMetadata{ID: parseID(fields[0])}
	scan(tb, fields[1], "[%d,%d]", &m.StartOffset, &m.EndOffset)
	epochs := map[int32]int64{}
	for _, pair := range strings.Split(strings.Trim(fields[2], "{}"), ",") {
		var epoch int32
		var offset int64
		scan(tb, pair, "%d:%d", &epoch, &offset)
		epochs[epoch] = offset
	}
	m.LeaderEpochs = epochsOf(epochs)
	for _, option := range fields[3:] {
		if option == "notxn" {
			m.TxnIndexEmpty = true
			continue
		}
		scan(tb, option, "size=%d", &m.SegmentSizeInBytes)
	}
	return m
}

func scan(tb testing.TB, text, format string, into ...any) {
	if _, err := fmt.Sscanf(text, format, into...); err != nil {
		tb.Fatalf("%q is not %s: %v", text, format, err)
	}
}

// parseID gives the names A, B, … ids of that order.
func parseID(name string) api.RemoteLogSegmentID { return segmentID(uint64(name[0])) }

func answer(tb testing.TB, s *index.Snapshot, fields []string) string {
	var epoch int32
	var offset int64
	switch {
	case fields[0] == "get":
		scan(tb, fields[1], "%d/%d", &epoch, &offset)
		return name(s.RemoteLogSegmentMetadata(epoch, offset))
	case fields[0] == "next":
		scan(tb, fields[1], "%d/%d", &epoch, &offset)
		return name(s.NextSegmentWithTxnIndex(epoch, offset))
	case fields[0] == "list" && len(fields) == 1:
		return names(s.ListRemoteLogSegments())
	case fields[0] == "orphans":
		return names(s.Orphans())
	case fields[0] == "total":
		return totals(tb, s, fields[1])
	}
	scan(tb, fields[1], "%d", &epoch)
	return epochAnswer(tb, s, fields[0], epoch)
}

func epochAnswer(tb testing.TB, s *index.Snapshot, query string, epoch int32) string {
	switch query {
	case "list":
		return names(s.ListRemoteLogSegmentsByEpoch(epoch))
	case "size":
		return fmt.Sprint(s.RemoteLogSize(epoch))
	case "highest":
		return number(s.HighestOffsetForEpoch(epoch))
	case "bounded":
		return number(s.BoundedHighestOffsetForEpoch(epoch))
	}
	tb.Fatalf("unknown query %q", query)
	return ""
}

func totals(tb testing.TB, s *index.Snapshot, text string) string {
	var state api.RemoteLogSegmentState
	if err := state.UnmarshalText([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("%d/%d", s.Totals(state).Segments, s.Totals(state).Bytes)
}

func name(s *index.Segment, ok bool) string {
	if !ok {
		return "none"
	}
	id := s.ID()
	return string(rune(id[15]))
}

func names(l index.List) string {
	var all []string
	for s := range l.All {
		all = append(all, name(s, true))
	}
	if all == nil {
		return "none"
	}
	return strings.Join(all, " ")
}

func number(n int64, ok bool) string {
	if !ok {
		return "none"
	}
	return fmt.Sprint(n)
}
