package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/store"
)

// openStore opens the store of a metadata partition in a data folder, and creates it.
func openStore(t *testing.T, data, name string) *store.Store {
	t.Helper()
	s, _, err := store.Open(filepath.Join(data, filepath.FromSlash(name)), store.Options{}, store.Expect{TableEnd: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plant writes rows to a store that is closed afterwards.
func plant(t *testing.T, data, name string, rows ...codec.Row) {
	t.Helper()
	s := openStore(t, data, name)
	for i, row := range rows {
		s.Stage(store.Change{Key: codec.SegmentKey(row.Segment.ID), Value: codec.EncodeRow(row), Applied: int64(i)})
	}
	if err := s.SetOffset(int64(len(rows))); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// verifyTip lies in metadata partition 38 of 50.
var verifyTip = api.TopicIdPartition{TopicID: api.UUIDFromBits(0x1111111111114111, 0x8111111111111111), Topic: "orders"}

func finishedRow(n uint64, start, end int64) codec.Row {
	return codec.Row{Kind: codec.RowSegment, Offset: 10, FinishedOffset: 10, Segment: api.RemoteLogSegmentMetadata{
		ID:          api.RemoteLogSegmentID{TopicIdPartition: verifyTip, ID: api.UUIDFromBits(n, n)},
		StartOffset: start, EndOffset: end, State: api.CopySegmentFinished, SegmentSizeInBytes: 1,
		LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: 0, Offset: start}),
	}}
}

// What a dev run leaves is in order; while it runs its stores can't be read.
func TestVerifyDev(t *testing.T) {
	data := t.TempDir()
	dev, base, kafka := devRun(t, data)
	got := execute(t, "", "verify", "--offline", data)
	if got.code != exitFailure || got.out != "" || !strings.Contains(got.err, "the store processor/0 is in use by a running process") {
		t.Errorf("while it runs: %+v", got)
	}
	for _, source := range [][]string{{"--server", base}, {"--bootstrap", kafka}} {
		got = execute(t, "", append([]string{"verify", "--no-headers"}, source...)...)
		if got.code != 0 || got.out != "" || !strings.HasSuffix(got.err, " 138 segments; nothing found\n") {
			t.Errorf("from %v: %+v", source, got)
		}
	}
	if code := dev.stop(t); code != 0 {
		t.Fatalf("exit %d", code)
	}
	for _, form := range []string{"table", "json"} {
		got = execute(t, "", "verify", "--offline", data, "--no-headers", "-o", form)
		if got.code != 0 || got.out != "" || !strings.HasPrefix(got.err, "100 stores, ") || !strings.HasSuffix(got.err, "276 segments; nothing found\n") {
			t.Errorf("afterwards: %+v", got)
		}
	}
}

func TestVerifyFindings(t *testing.T) {
	data := t.TempDir()
	started := finishedRow(3, 300, 399)
	started.FinishedOffset, started.Segment.State = -1, api.CopySegmentStarted
	plant(t, data, "views/38", finishedRow(1, 0, 99), finishedRow(2, 200, 299), started)
	plant(t, data, "processor/7", finishedRow(1, 0, 99))
	plant(t, data, "processor/3")
	plant(t, data, "processor/3.aside-corrupt-1", started) // not looked at
	before := snapshotOf(t, data)

	got := execute(t, "", "verify", "--offline", data)
	want := strings.Join([]string{
		"KIND       STORE        TOPIC   KEY                                              MESSAGE",
		"misplaced  processor/7          ERERERERQRGBEREREREREQ:0/AAAAAAAAAAEAAAAAAAAAAQ  lies in metadata partition 7, belongs in 38 of 50",
		"gap        views/38     orders  ERERERERQRGBEREREREREQ:0                         epoch 0: no finished segment holds 100 to 199",
		"orphan     views/38     orders  ERERERERQRGBEREREREREQ:0/AAAAAAAAAAMAAAAAAAAAAw  segment AAAAAAAAAAMAAAAAAAAAAw: its copy began and never ended (last event 1970-01-01T00:00:00Z)",
		"",
	}, "\n")
	if diff := cmp.Diff(want, got.out); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if want := "rlmm: 3 stores, 4 rows, 2 partitions, 4 segments; 3 found: 1 misplaced 1 gap 1 orphan\n"; got.code != exitFindings || got.err != want {
		t.Errorf("exit %d, %s", got.code, got.err)
	}

	got = execute(t, "", "verify", "--offline", data, "--older-than", "1000000h", "-o", "json")
	var lines []map[string]any
	for line := range strings.Lines(got.out) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	diff := cmp.Diff([]map[string]any{
		{
			"kind": "misplaced", "store": "processor/7", "key": "ERERERERQRGBEREREREREQ:0/AAAAAAAAAAEAAAAAAAAAAQ",
			"topicId": "ERERERERQRGBEREREREREQ", "partition": 0.0, "segmentIds": []any{"AAAAAAAAAAEAAAAAAAAAAQ"},
			"message": "lies in metadata partition 7, belongs in 38 of 50",
		},
		{
			"kind": "gap", "store": "views/38", "key": "ERERERERQRGBEREREREREQ:0", "topicId": "ERERERERQRGBEREREREREQ",
			"topic": "orders", "partition": 0.0, "leaderEpoch": 0.0, "firstOffset": 100.0, "lastOffset": 199.0,
			"message": "epoch 0: no finished segment holds 100 to 199",
		},
	}, lines)
	if got.code != exitFindings || diff != "" {
		t.Errorf("exit %d, -want +got\n%s", got.code, diff)
	}
	if diff := cmp.Diff(before, snapshotOf(t, data)); diff != "" {
		t.Errorf("the folder was changed:\n%s", diff)
	}
}

// snapshotOf is what the files of a folder hold; a lock's file holds nothing.
func snapshotOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A store that can't be read is a failure, and doesn't hide what others hold.
func TestVerifyGoesOnBehindADamagedStore(t *testing.T) {
	data := t.TempDir()
	plant(t, data, "views/0", finishedRow(1, 0, 99))
	plant(t, data, "views/38", finishedRow(1, 0, 99), finishedRow(2, 200, 299))
	if err := os.WriteFile(filepath.Join(data, "views", "0", "CURRENT"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := execute(t, "", "verify", "--offline", data)
	if got.code != exitFailure || !strings.Contains(got.out, "\ngap ") || !strings.Contains(got.err, filepath.Join("views", "0")) {
		t.Errorf("%+v", got)
	}
}

func TestVerifyInUse(t *testing.T) {
	data := t.TempDir()
	plant(t, data, "processor/0")
	held := openStore(t, data, "views/1")
	got := execute(t, "", "verify", "--offline", data)
	if got.code != exitFailure || !strings.Contains(got.err, "the store views/1 is in use by a running process; stop it first") {
		t.Errorf("%+v", got)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if got := execute(t, "", "verify", "--offline", data); got.code != 0 {
		t.Errorf("afterwards: %+v", got)
	}
}

func TestVerifyRefuses(t *testing.T) {
	data := t.TempDir()
	if got := execute(t, "", "verify", "--offline", data); got.code != exitFailure || !strings.Contains(got.err, "no store in") {
		t.Errorf("an empty folder: %+v", got)
	}
	plant(t, data, "views/9")
	for _, c := range []struct {
		args string
		want string
	}{
		{"--partitions 9", "views/9"},
		{"--partitions 0", "--partitions"},
		{"--older-than -1s", "--older-than"},
		{"-o yaml", "yaml"},
		{"extra", "extra"},
		{"--server http://h", "--server and --offline"},
	} {
		got := execute(t, "", append([]string{"verify", "--offline", data}, strings.Fields(c.args)...)...)
		if got.code != exitUsage || !strings.Contains(got.err, c.want) || got.out != "" {
			t.Errorf("%s: %+v", c.args, got)
		}
	}
}
