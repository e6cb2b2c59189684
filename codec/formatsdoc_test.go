package codec_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// documented are the values that docs/formats.md takes apart, byte by byte.
func documented(t *testing.T) map[string][]byte {
	t.Helper()
	add := addS(api.EpochOffset{Offset: 0}, api.EpochOffset{LeaderEpoch: 1, Offset: 50})
	add.TxnIndexEmpty = true
	update := api.RemoteLogSegmentMetadataUpdate{
		ID: segmentS, BrokerID: 1, EventTimestampMs: 20, State: api.CopySegmentFinished,
		CustomMetadata: api.NewCustomMetadata([]byte{1, 2}),
	}
	deletion := api.RemotePartitionDeleteMetadata{
		TopicIdPartition: orders, BrokerID: 1, EventTimestampMs: 30, State: api.DeletePartitionMarked,
	}
	finished := add
	finished.State, finished.EventTimestampMs, finished.CustomMetadata = update.State, update.EventTimestampMs, update.CustomMetadata
	return map[string][]byte{
		"record segment": encode(t, add),
		"record update":  encode(t, update),
		"record delete":  encode(t, deletion),
		"row segment":    codec.EncodeRow(codec.Row{Kind: codec.RowSegment, Offset: 7, FinishedOffset: 7, Segment: finished}),
		"row headless":   codec.EncodeRow(rows()["headless, custom"]),
		"row marker":     codec.EncodeRow(rows()["marker"]),
		"row partition":  codec.EncodeRow(rows()["partition"]),
	}
}

// takenApart reads a block of the page: the hex that begins each line, before two spaces.
func takenApart(t *testing.T, block string) (value []byte) {
	t.Helper()
	for line := range strings.Lines(block) {
		digits, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
		part, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		value = append(value, part...)
	}
	return value
}

func TestFormatsDocHasTheBytesOfTheCodec(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "formats.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string][]byte{}
	for _, m := range regexp.MustCompile("(?s)```bytes ([a-z ]+)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		shown[m[1]] = takenApart(t, m[2])
	}
	want := documented(t)
	for name, value := range want {
		if !bytes.Equal(shown[name], value) {
			t.Errorf("%s: the page has\n%x, the codec makes\n%x", name, shown[name], value)
		}
	}
	if len(shown) != len(want) {
		t.Errorf("the page takes %d values apart, not %d", len(shown), len(want))
	}
}

func TestFormatsDocHasTheKeys(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "formats.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{codec.PartitionKey(orders), codec.SegmentKey(segmentS), codec.RejectedKey(7), codec.PositionKey(7)} {
		if !strings.Contains(string(page), "`"+key+"`") {
			t.Errorf("the page doesn't show the key %s", key)
		}
	}
}
