package codec_test

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// The vectors in testdata were made by Apache Kafka 4.3.1's own classes. Files of a
// name that begins alike belong together: decode-errors-edges.jsonl holds more values
// of the kind that decode-errors.jsonl does. RLMM_VECTORS_DIR names a folder with
// more files.
const vectorsEnv = "RLMM_VECTORS_DIR"

// vectorFiles are the files of testdata, of which there is at least one, and of the
// folder in the environment.
func vectorFiles(tb testing.TB, stem string) []string {
	tb.Helper()
	files := matching(tb, "testdata", stem)
	if len(files) == 0 {
		tb.Fatalf("no %s*.jsonl in testdata", stem)
	}
	if dir := os.Getenv(vectorsEnv); dir != "" {
		files = append(files, matching(tb, dir, stem)...)
	}
	return files
}

// matching are the files of the folder that begin with stem; an unreadable or empty
// folder fails.
func matching(tb testing.TB, dir, stem string) (files []string) {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatalf("vectors: %v", err)
	}
	if len(entries) == 0 {
		tb.Fatalf("vectors: %s is empty", dir)
	}
	for _, e := range entries {
		if !e.IsDir() && strings.HasPrefix(e.Name(), stem) && strings.HasSuffix(e.Name(), ".jsonl") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

// eachVector calls check for every line of every file.
func eachVector[T any](t *testing.T, stem string, check func(t *testing.T, v T)) {
	t.Helper()
	for _, file := range vectorFiles(t, stem) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			lines := readVectors[T](t, file)
			for _, v := range lines {
				check(t, v)
			}
			t.Logf("%d cases of %s", len(lines), file)
		})
	}
}

func readVectors[T any](tb testing.TB, file string) (vectors []T) {
	tb.Helper()
	f, err := os.Open(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			tb.Fatalf("%s: line %d: %v", file, len(vectors)+1, err)
		}
		vectors = append(vectors, v)
	}
	if err := lines.Err(); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	if len(vectors) == 0 {
		tb.Fatalf("%s holds no cases", file)
	}
	return vectors
}

// hexBytes is a value in hex; null in JSON is nil.
type hexBytes []byte

func (b *hexBytes) UnmarshalJSON(text []byte) error {
	var s *string
	if err := json.Unmarshal(text, &s); err != nil || s == nil {
		return err
	}
	decoded, err := hex.DecodeString(*s)
	*b = append(hexBytes{}, decoded...)
	return err
}

// fields are those of an event, as the vectors have them.
type fields struct {
	Kind               string
	Topic              string
	Partition          int32
	TopicID            api.UUID
	SegmentID          api.UUID
	StartOffset        int64
	EndOffset          int64
	MaxTimestampMs     int64
	BrokerID           int32
	EventTimestampMs   int64
	SegmentSizeInBytes int32
	Epochs             [][2]int64
	StateID            int8
	TxnIdxEmpty        bool
	CustomMetadata     hexBytes
}

func (f fields) partition() api.TopicIdPartition {
	return api.TopicIdPartition{TopicID: f.TopicID, Topic: f.Topic, Partition: f.Partition}
}

func (f fields) segmentID() api.RemoteLogSegmentID {
	return api.RemoteLogSegmentID{TopicIdPartition: f.partition(), ID: f.SegmentID}
}

func (f fields) custom() (c api.CustomMetadata) {
	if f.CustomMetadata != nil {
		c = api.NewCustomMetadata(f.CustomMetadata)
	}
	return c
}

func (f fields) segment() api.RemoteLogSegmentMetadata {
	epochs := make([]api.EpochOffset, len(f.Epochs))
	for i, e := range f.Epochs {
		epochs[i] = api.EpochOffset{LeaderEpoch: int32(e[0]), Offset: e[1]}
	}
	return api.RemoteLogSegmentMetadata{
		ID: f.segmentID(), StartOffset: f.StartOffset, EndOffset: f.EndOffset,
		MaxTimestampMs: f.MaxTimestampMs, BrokerID: f.BrokerID, EventTimestampMs: f.EventTimestampMs,
		SegmentSizeInBytes: f.SegmentSizeInBytes, LeaderEpochs: api.NewLeaderEpochs(epochs...),
		CustomMetadata: f.custom(), State: api.RemoteLogSegmentState(f.StateID), TxnIndexEmpty: f.TxnIdxEmpty,
	}
}

// value is the event or the snapshot.
func (f fields) value(t *testing.T) any {
	t.Helper()
	switch f.Kind {
	case "segment":
		return f.segment()
	case "segmentUpdate":
		return api.RemoteLogSegmentMetadataUpdate{
			ID: f.segmentID(), EventTimestampMs: f.EventTimestampMs, CustomMetadata: f.custom(),
			State: api.RemoteLogSegmentState(f.StateID), BrokerID: f.BrokerID,
		}
	case "partitionDelete":
		return api.RemotePartitionDeleteMetadata{
			TopicIdPartition: f.partition(), State: api.RemotePartitionDeleteState(f.StateID),
			EventTimestampMs: f.EventTimestampMs, BrokerID: f.BrokerID,
		}
	case "segmentSnapshot":
		return codec.SegmentSnapshot(f.segment())
	}
	t.Fatalf("unknown kind %q", f.Kind)
	return nil
}

// equal compares two values of [fields.value].
func equal(a, b any) bool {
	switch a := a.(type) {
	case api.RemoteLogSegmentMetadata:
		b, ok := b.(api.RemoteLogSegmentMetadata)
		return ok && a.Equal(b)
	case codec.SegmentSnapshot:
		b, ok := b.(codec.SegmentSnapshot)
		return ok && api.RemoteLogSegmentMetadata(a).Equal(api.RemoteLogSegmentMetadata(b))
	}
	return a == b
}
