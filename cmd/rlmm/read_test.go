package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/apitest"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/codec"
)

// update writes the transcripts anew: go test ./cmd/rlmm -run TestRead -update.
var update = flag.Bool("update", false, "write testdata anew")

// golden compares a transcript with the file of that name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "read", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want +got\n%s", file, diff)
	}
}

// planted are events beside the bundled recording: a topic of another one's name, an
// unfinished copy, a headless deletion, partitions whose deletion has begun and is
// finished, lineages that diverged.
func planted() []api.RemoteLogMetadata {
	again := api.TopicIdPartition{TopicID: api.UUIDFromBits(0x4001, 1), Topic: "t-keep"}
	marked := api.TopicIdPartition{TopicID: api.UUIDFromBits(0x4001, 2), Topic: "marked"}
	deleted := api.TopicIdPartition{TopicID: api.UUIDFromBits(0x4001, 3), Topic: "deleted"}
	one := plantedSegment(again, 1, 0, 99, api.EpochOffset{LeaderEpoch: 0}, api.EpochOffset{LeaderEpoch: 2, Offset: 50})
	two := plantedSegment(again, 2, 200, 299, api.EpochOffset{LeaderEpoch: 2, Offset: 200})
	other := plantedSegment(again, 3, 40, 120, api.EpochOffset{LeaderEpoch: 1, Offset: 40})
	copying := plantedSegment(again, 4, 300, 399, api.EpochOffset{LeaderEpoch: 2, Offset: 300})
	gone := plantedSegment(again, 5, 0, 9, api.EpochOffset{LeaderEpoch: 0})
	left := plantedSegment(deleted, 6, 0, 9, api.EpochOffset{LeaderEpoch: 0})
	deleting := plantedSegment(marked, 7, 0, 9, api.EpochOffset{LeaderEpoch: 0})
	step := func(m api.RemoteLogSegmentMetadata, state api.RemoteLogSegmentState) api.RemoteLogMetadata {
		return api.RemoteLogSegmentMetadataUpdate{ID: m.ID, State: state, BrokerID: 2, EventTimestampMs: 1580000000500}
	}
	end := func(tip api.TopicIdPartition, state api.RemotePartitionDeleteState) api.RemoteLogMetadata {
		return api.RemotePartitionDeleteMetadata{TopicIdPartition: tip, State: state, BrokerID: 3, EventTimestampMs: 1580000000900}
	}
	return []api.RemoteLogMetadata{
		two, step(two, api.CopySegmentFinished), one, step(one, api.CopySegmentFinished), other, step(other, api.CopySegmentFinished),
		copying, step(gone, api.DeleteSegmentStarted), left, step(left, api.CopySegmentFinished),
		deleting, step(deleting, api.DeleteSegmentStarted), end(marked, api.DeletePartitionMarked),
		end(deleted, api.DeletePartitionMarked), end(deleted, api.DeletePartitionStarted), end(deleted, api.DeletePartitionFinished),
	}
}

func plantedSegment(tip api.TopicIdPartition, n uint64, start, end int64, epochs ...api.EpochOffset) api.RemoteLogSegmentMetadata {
	return api.RemoteLogSegmentMetadata{
		ID:          api.RemoteLogSegmentID{TopicIdPartition: tip, ID: api.UUIDFromBits(0x4002, n)},
		StartOffset: start, EndOffset: end, MaxTimestampMs: 1580000000000 + end, BrokerID: 1, EventTimestampMs: 1580000000100,
		SegmentSizeInBytes: 1000, LeaderEpochs: api.NewLeaderEpochs(epochs...), CustomMetadata: api.NewCustomMetadata([]byte("note")),
	}
}

// recordLine is a line of a recording.
func recordLine(partition int32, value []byte) string {
	return fmt.Sprintf("{\"partition\":%d,\"value\":%q}\n", partition, hex.EncodeToString(value))
}

// plantedRecording is the planted events, a record that can't be decoded and one on a
// metadata partition that isn't its own, as a recording.
func plantedRecording(t *testing.T) string {
	t.Helper()
	var lines strings.Builder
	var last []byte
	for _, e := range planted() {
		value, err := codec.EncodeRecord(e)
		if err != nil {
			t.Fatal(err)
		}
		last = value
		lines.WriteString(recordLine(codec.MetadataPartition(e.Partition(), 50), value))
	}
	lines.WriteString(recordLine(49, []byte{1, 42, 0}))
	lines.WriteString(recordLine(49, last))
	return lines.String()
}

// world is a dev run with the bundled recording and the planted events, and how to reach
// the state in all three ways.
type world struct {
	sources map[string][]string
	kafka   string
}

func newWorld(t *testing.T) world {
	t.Helper()
	data := t.TempDir()
	dev, base, kafka := devRun(t, data)
	if got := execute(t, plantedRecording(t), "load", "-", "--bootstrap", kafka); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	for _, e := range planted() {
		awaitCaughtUp(t, base, e.Partition())
	}
	folder := t.TempDir()
	w := world{kafka: kafka, sources: map[string][]string{
		"topic": {"--bootstrap", kafka}, "server": {"--server", base}, "folder": {"--offline", folder},
	}}
	// A folder is read when nobody uses it, and the others are when somebody serves.
	if code := dev.stop(t); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if err := os.CopyFS(folder, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	_, base, kafka = devRun(t, data)
	w.kafka, w.sources["topic"][1], w.sources["server"][1] = kafka, kafka, base
	return w
}

func awaitCaughtUp(t *testing.T, base string, tip api.TopicIdPartition) {
	t.Helper()
	for caughtUp := false; !caughtUp; {
		status, answer := get(t, fmt.Sprintf("%s/v1/partitions/%s/%d/caught-up", base, tip.TopicID, tip.Partition))
		if status != http.StatusOK {
			t.Fatalf("%d %v", status, answer)
		}
		caughtUp = answer["caughtUp"] == true
	}
}

// transcript runs a command line and returns what it printed, with the source left out.
func transcript(t *testing.T, source []string, line string) string {
	t.Helper()
	got := execute(t, "", append(strings.Fields(line), source...)...)
	text := strings.NewReplacer(source[1], "ADDRESS").Replace(got.err)
	return fmt.Sprintf("$ rlmm %s\n%s-- stderr, exit %d\n%s\n", line, got.out, got.code, text)
}

// Whatever the source, every verb prints the same, and what the transcripts say.
func TestReadFromEverySource(t *testing.T) {
	w := newWorld(t)
	for name, lines := range map[string][]string{
		"topics":     {"topics", "topics -o wide", "topics t-keep -o json", "topics --no-headers", "topics nothing"},
		"partitions": {"partitions", "partitions marked -o wide", "partitions deleted -o json", "partitions t-keep-0"},
		"segments": {
			"segments t-keep-0 --from 0 --to 300", "segments AAAAAAAAQAEAAAAAAAAAAQ -o wide", "segments 00000000-0000-4001-0000-000000000001 -o json --epoch 2",
			"segments t-keep --state COPY_SEGMENT_STARTED", "segments deleted-0", "segments marked-0 --no-headers",
		},
		"epochs": {"epochs t-keep-0", "epochs AAAAAAAAQAEAAAAAAAAAAQ:0 -o json", "epochs deleted-0", "epochs nothing-0"},
		"locate": {
			"locate t-keep-0 --offset 60", "locate t-keep-0 --offset 60 --epoch 1 -o json", "locate AAAAAAAAQAEAAAAAAAAAAQ-0 --offset 150",
			"locate AAAAAAAAQAEAAAAAAAAAAQ-0 --offset 150 -o json", "locate AAAAAAAAQAEAAAAAAAAAAQ-0 --offset 350",
			"locate AAAAAAAAQAEAAAAAAAAAAQ-0 --offset 900", "locate AAAAAAAAQAEAAAAAAAAAAQ-0 --offset 10 --epoch 2",
			"locate AAAAAAAAQAEAAAAAAAAAAQ-0 --offset 10 --epoch 7", "locate AAAAAAAAQAEAAAAAAAAAAQ-0 --offset 150 --epoch 7",
			"locate AAAAAAAAQAEAAAAAAAAAAQ-0 --offset 10 --epoch 1", "locate marked-0 --offset 5", "locate marked-0 --offset 50",
			"locate deleted-0 --offset 5", "locate t-gone-0 --offset 5", "locate nothing-3 --offset 5", "locate AAAAAAAAQAEAAAAAAAAAAQ-0 --timestamp 1580000000150 -o wide",
			"locate AAAAAAAAQAEAAAAAAAAAAQ-0 --timestamp 2027-01-01T00:00:00Z",
		},
		"orphans": {"orphans", "orphans -o json", "orphans t-keep-0 --older-than 1000000h", "orphans marked", "orphans t-txn"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, source := range []string{"topic", "server", "folder"} {
				t.Run(source, func(t *testing.T) {
					var all strings.Builder
					for _, line := range lines {
						all.WriteString(transcript(t, w.sources[source], line))
					}
					golden(t, name, all.String())
				})
			}
		})
	}
	t.Run("segment", func(t *testing.T) { testSegment(t, w) })
	t.Run("dump", func(t *testing.T) { testDump(t, w) })
	t.Run("export", func(t *testing.T) { testExport(t, w) })
	t.Run("orphans of deleted topics", func(t *testing.T) { testDeletedTopics(t, w) })
	t.Run("completion", func(t *testing.T) { testCompletion(t, w) })
}

// Only the topic knows the history.
func testSegment(t *testing.T, w world) {
	lines := []string{
		"segment AAAAAAAAQAIAAAAAAAAAAg", "segment 00000000-0000-4002-0000-000000000002 -o wide", "segment AAAAAAAAQAIAAAAAAAAABQ",
		"segment AAAAAAAAQAIAAAAAAAAAAg -o json", "segment AAAAAAAAQAIAAAAAAAAAZw",
	}
	for _, c := range []struct{ source, name string }{{"topic", "segment-history"}, {"server", "segment"}, {"folder", "segment"}} {
		var all strings.Builder
		for _, line := range lines {
			all.WriteString(transcript(t, w.sources[c.source], line))
		}
		golden(t, c.name, all.String())
	}
}

func testDump(t *testing.T, w world) {
	var all strings.Builder
	for _, line := range []string{
		"dump --of AAAAAAAAQAEAAAAAAAAAAQ", "dump --partition 49", "dump --partition 49 --from-offset 1", "dump --partition 2 --since 2020-01-01T00:00:00Z --of t-keep-9",
		"dump --partition 77", "dump --partition 49 --since 1h --from-offset 1",
	} {
		all.WriteString(transcript(t, w.sources["topic"], line))
	}
	golden(t, "dump", all.String())
	whole := execute(t, "", "dump", "--bootstrap", w.kafka)
	if got := strings.Count(whole.out, "\n"); got != 896+len(planted())+2 || whole.code != 0 {
		t.Errorf("%d lines, exit %d", got, whole.code)
	}
}

// An export is the same from everywhere, and comes out of a fresh cluster as it went in;
// all verbs then print the same there, but for the places of events.
func testExport(t *testing.T, w world) {
	exported := map[string]string{}
	for name, source := range w.sources {
		got := execute(t, "", append([]string{"export"}, source...)...)
		if got.code != 0 || !strings.HasPrefix(got.err, "exported ") {
			t.Fatalf("from the %s: %+v", name, got)
		}
		exported[name] = got.out
	}
	export := exported["topic"]
	for name, other := range exported {
		if diff := cmp.Diff(export, other); diff != "" {
			t.Errorf("from the %s:\n%s", name, diff)
		}
	}
	file := filepath.Join(t.TempDir(), "state.jsonl")
	if err := os.WriteFile(file, []byte(export), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := execute(t, "", "import", file, "--bootstrap", w.kafka, "--execute")
	if refused.code != exitFailure || !strings.Contains(refused.err, "isn't empty") {
		t.Errorf("into the topic that it is of: %+v", refused)
	}

	_, _, fresh := devRun(t, t.TempDir(), "--empty")
	plan := execute(t, "", "import", file, "--bootstrap", fresh)
	if got := execute(t, "", "dump", "--bootstrap", fresh); plan.code != 0 || got.out != "" || !strings.Contains(plan.err, "would publish ") {
		t.Errorf("a dry run: %+v; the topic: %+v", plan, got)
	}
	done := execute(t, "", "import", file, "--bootstrap", fresh, "--execute")
	if done.code != 0 || done.out != "" || done.err != fmt.Sprintf("published %d events to __remote_log_metadata\n", strings.Count(plan.out, "\n")) {
		t.Errorf("%+v", done)
	}
	if diff := cmp.Diff(export, execute(t, "", "export", "--bootstrap", fresh).out); diff != "" {
		t.Errorf("the second export:\n%s", diff)
	}
	for _, line := range []string{
		"topics -o json", "partitions -o json", "segments t-keep -o json", "segments t-del -o json", "epochs t-keep-0 -o json", "epochs AAAAAAAAQAEAAAAAAAAAAQ:0 -o json",
		"locate t-keep-0 --offset 60 -o json", "locate t-keep-0 --offset 500 -o json",
	} {
		want, got := transcript(t, w.sources["topic"], line), transcript(t, []string{"--bootstrap", fresh}, line)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", line, diff)
		}
	}
}

func testCompletion(t *testing.T, w world) {
	got := execute(t, "", "__complete", "locate", "--server", w.sources["server"][1], "t-")
	if !strings.Contains(got.out, "t-keep-0\n") {
		t.Errorf("%+v", got)
	}
	if got := execute(t, "", "__complete", "topics", "-o", ""); !strings.Contains(got.out, "wide\n") {
		t.Errorf("%+v", got)
	}
	if got := execute(t, "", "completion", "bash"); got.code != 0 || !strings.Contains(got.out, "rlmm") {
		t.Errorf("completion bash: exit %d", got.code)
	}
}

// What comes is written at once, until Ctrl-C.
func TestDumpFollows(t *testing.T) {
	_, _, kafka := devRun(t, t.TempDir(), "--empty")
	if got := execute(t, recordLine(3, []byte{1, 42, 0}), "load", "-", "--bootstrap", kafka); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	dump := background(t, "dump", "-f", "--bootstrap", kafka)
	dump.out.await(t, `"metadataPartition":3,"offset":0`)
	if got := execute(t, recordLine(4, []byte{1, 43, 0}), "load", "-", "--bootstrap", kafka); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if line := dump.out.await(t, `"metadataPartition":4`); !strings.Contains(line, `"value":"012b00"`) {
		t.Errorf("%s", line)
	}
	if code := dump.stop(t); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestPartitionFor(t *testing.T) {
	for _, id := range []string{"UpZHhnEzQuGqT8T9QFvE9w:0", "52964786-7133-42e1-aa4f-c4fd405bc4f7:0"} {
		if got := execute(t, "", "partition-for", id, "--partitions", "50"); got.code != 0 || got.out != "45\n" {
			t.Errorf("%+v", got)
		}
	}
	_, _, kafka := devRun(t, t.TempDir(), "--empty")
	if got := execute(t, "", "partition-for", "UpZHhnEzQuGqT8T9QFvE9w:0", "--bootstrap", kafka); got.out != "45\n" {
		t.Errorf("%+v", got)
	}
}

// Only the cluster knows which topics are deleted.
func testDeletedTopics(t *testing.T, w world) {
	got := execute(t, "", "orphans", "t-keep", "--bootstrap", w.kafka, "--deleted-topics")
	if got.code != exitFindings || !strings.Contains(got.out, "topic_deleted") || !strings.Contains(got.out, "copy_unfinished") {
		t.Errorf("%+v", got)
	}
}

// serveRows answers every GET /v1/rows with the error.
func serveRows(t *testing.T, err error) string {
	t.Helper()
	s := httptest.NewServer(rest.NewHandler(rest.Config{
		Manager: &apitest.Manager{},
		Rows: func(context.Context, rest.RowFilter) iter.Seq2[rest.Row, error] {
			return func(yield func(rest.Row, error) bool) { yield(rest.Row{}, err) }
		},
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestReadTellsNotReadyFromFailed(t *testing.T) {
	for _, c := range []struct {
		source []string
		code   int
		want   string
	}{
		{[]string{"--server", serveRows(t, &api.NotReadyError{MetadataPartition: 7, Applied: 3, Target: 9})}, exitNotReady, "partition 7"},
		{[]string{"--server", serveRows(t, errors.New("broken"))}, exitFailure, "broken"},
		{[]string{"--server", "http://127.0.0.1:1"}, exitFailure, "/v1/rows"},
		{[]string{"--offline", t.TempDir()}, exitFailure, "no store"},
	} {
		got := execute(t, "", append([]string{"topics"}, c.source...)...)
		if got.code != c.code || !strings.Contains(got.err, c.want) || got.out != "" {
			t.Errorf("%v: %+v; want exit %d and %q", c.source, got, c.code, c.want)
		}
	}
}

func TestProgressIsForTerminalsOnly(t *testing.T) {
	var out bytes.Buffer
	progress(&out, "records")(1, 2)
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	progress(file, "records")(1, 2)
	if info, err := file.Stat(); err != nil || info.Size() > 0 || out.Len() > 0 {
		t.Errorf("%q, %v, %v", out.String(), info.Size(), err)
	}
	told := bar(&out, "records", 0)
	told(1, 2)
	if !strings.Contains(out.String(), "records") || !strings.Contains(out.String(), "1/2") {
		t.Errorf("a bar: %q", out.String())
	}
	out.Reset()
	bar(&out, "records", time.Hour)(1, 2)
	if out.Len() > 0 {
		t.Errorf("before the delay: %q", out.String())
	}
}

func TestReadUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"topics", "--bootstrap, --server and --offline"},
		{"topics --server x", "--server"},
		{"topics --server http://h --offline d", "--server and --offline"},
		{"topics --bootstrap h:1 -o xml", "xml"},
		{"segments", "arg"},
		{"segments t --bootstrap h:1 --state x", "--state"},
		{"segments t --bootstrap h:1 --from 2 --to 1", "--from 2"},
		{"segment x --bootstrap h:1", "x"},
		{"locate orders --offset 1 --bootstrap h:1", "orders"},
		{"locate orders-0 --bootstrap h:1", "--offset or --timestamp"},
		{"locate orders-0 --offset -1 --bootstrap h:1", "-1"},
		{"locate orders-0 --timestamp x --bootstrap h:1", "x"},
		{"locate orders-0 --timestamp 5 --epoch 1 --bootstrap h:1", "--epoch and --timestamp"},
		{"epochs orders --bootstrap h:1", "orders"},
		{"dump", "--bootstrap"},
		{"dump --bootstrap h:1 --from-offset -1", "-1"},
		{"dump --bootstrap h:1 --since x", "x"},
		{"dump --bootstrap h:1 --since 1h --from-offset 1", "don't go together"},
		{"partition-for x", "x"},
		{"partition-for UpZHhnEzQuGqT8T9QFvE9w:x", "x"},
		{"partition-for UpZHhnEzQuGqT8T9QFvE9w:0", "--partitions or --bootstrap"},
		{"partition-for UpZHhnEzQuGqT8T9QFvE9w:0 --partitions 0", "--partitions"},
		{"export", "--bootstrap, --server and --offline"},
		{"import", "arg"},
		{"import f", "--bootstrap"},
		{"orphans --server http://h --deleted-topics", "--bootstrap"},
		{"orphans --bootstrap h:1 --older-than -1h", "-1h"},
	} {
		got := execute(t, "", strings.Fields(c.args)...)
		if got.code != exitUsage || !strings.Contains(got.err, c.want) || got.out != "" {
			t.Errorf("rlmm %s: exit %d, out %q, err %q; want exit 2 and %q on stderr", c.args, got.code, got.out, got.err, c.want)
		}
	}
}
