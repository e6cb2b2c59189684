package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/internal/recording"
)

const (
	addHex = "010000076f72646572731111111111114111811111111111111100000000002222222222224222822222222222220000000000000000000000000000000000630000000100000000000003e8000000000000000a03000000000000000000000000000000000100000000000000320000000064000001000101"
	delHex = "010200076f726465727311111111111141118111111111111111000000000000000001000000000000001e0000"
)

func decodeLines(t *testing.T, stdin string) []map[string]any {
	t.Helper()
	got := execute(t, stdin, "decode")
	if got.code != 0 || got.err != "" {
		t.Fatalf("exit %d, stderr %q", got.code, got.err)
	}
	var rows []map[string]any
	for line := range strings.Lines(got.out) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		rows = append(rows, row)
	}
	return rows
}

func TestDecodeHexValues(t *testing.T) {
	rows := decodeLines(t, addHex+"\n\n "+strings.ToUpper(delHex)+" \n")
	want := []map[string]any{
		{
			"kind": "segment", "metadataPartition": 38.0, "offset": -1.0,
			"segmentId": "IiIiIiIiQiKCIiIiIiIiAA", "topicId": "ERERERERQRGBEREREREREQ", "topic": "orders",
			"partition": 0.0, "startOffset": 0.0, "endOffset": 99.0, "brokerId": 1.0, "maxTimestampMs": 1000.0,
			"eventTimestampMs": 10.0, "segmentSizeInBytes": 100.0, "customMetadata": nil,
			"state": "COPY_SEGMENT_STARTED", "txnIndexEmpty": true,
			"segmentLeaderEpochs": []any{
				map[string]any{"leaderEpoch": 0.0, "offset": 0.0}, map[string]any{"leaderEpoch": 1.0, "offset": 50.0},
			},
		},
		{
			"kind": "partitionDelete", "metadataPartition": 38.0, "offset": -1.0,
			"topicId": "ERERERERQRGBEREREREREQ", "topic": "orders", "partition": 0.0, "brokerId": 1.0,
			"eventTimestampMs": 30.0, "state": "DELETE_PARTITION_MARKED",
		},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestDecodeRecordingKeepsPlacesAndGoesOnPastBadRecords(t *testing.T) {
	rows := decodeLines(t, strings.Join([]string{
		`{"partition":7,"offset":3,"value":"` + delHex + `"}`,
		`{"partition":7,"offset":4,"value":null}`,
		`{"partition":7,"offset":5,"value":"012a00"}`,
		`{"partition":7,"offset":6,"value":"zz"}`,
		`{"offset":7}`,
		`no hex`,
		`{"partition":7,"offset":8}`,
		`{"partition":8,"value":"` + delHex + `"}`,
	}, "\n"))
	var got [][3]any
	for _, row := range rows {
		_, bad := row["error"]
		got = append(got, [3]any{row["metadataPartition"], row["offset"], bad})
	}
	want := [][3]any{
		{7.0, 3.0, false},
		{7.0, 4.0, true},
		{7.0, 5.0, true},
		{-1.0, -1.0, true},
		{-1.0, -1.0, true},
		{-1.0, -1.0, true},
		{-1.0, -1.0, true},
		{8.0, -1.0, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestDecodeBundledRecording(t *testing.T) {
	b, err := io.ReadAll(recording.Bundled())
	if err != nil {
		t.Fatal(err)
	}
	rows := decodeLines(t, string(b))
	if want := bytes.Count(b, []byte("\n")); len(rows) != want {
		t.Fatalf("%d rows, want %d", len(rows), want)
	}
	kinds := map[any]int{}
	for _, row := range rows {
		kinds[row["kind"]]++
	}
	if len(kinds) != 2 || kinds["segment"] == 0 || kinds["segmentUpdate"] == 0 {
		t.Errorf("kinds: %v", kinds)
	}
}

// All four kinds of Kafka's format are shown; a snapshot says that it has no place here.
func TestDecodeSnapshot(t *testing.T) {
	rows := decodeLines(t, "010300112233445566778899aabbccddeeff0000000000000000000000000000000063ffffffffffffffffffffffff0000018bcfe5687b040000000000000000000000000000000002000000000000001e00000000030000000000000063007fffffff010300")
	row := rows[0]
	if row["kind"] != "segmentSnapshot" || row["endOffset"] != 99.0 || row["state"] != "DELETE_SEGMENT_FINISHED" || row["error"] == nil {
		t.Errorf("%v", row)
	}
}
