package codec_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// decode takes all four kinds, as Kafka's serde does.
func decode(t *testing.T, value []byte) (any, error) {
	t.Helper()
	m, err := codec.DecodeRecord(value)
	s, snapshotErr := codec.DecodeSnapshot(value)
	if err == nil && snapshotErr == nil {
		t.Errorf("%x is both an event and a snapshot", value)
	}
	if snapshotErr == nil {
		return s, nil
	}
	return m, err
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	if s, ok := v.(codec.SegmentSnapshot); ok {
		return codec.AppendSnapshot(nil, s)
	}
	value, err := codec.EncodeRecord(v.(api.RemoteLogMetadata))
	if err != nil {
		t.Errorf("encode %v: %v", v, err)
	}
	return value
}

func TestGoldenRecords(t *testing.T) {
	type golden struct {
		Name string
		Hex  hexBytes
		fields
	}
	eachVector(t, "golden", func(t *testing.T, v golden) {
		t.Helper()
		want := v.value(t)
		got, err := decode(t, v.Hex)
		if err != nil || !equal(got, want) {
			t.Errorf("%s: decoded %+v, %v; want %+v", v.Name, got, err, want)
		}
		if again := encode(t, want); !bytes.Equal(again, v.Hex) {
			t.Errorf("%s: encoded %x; want %x", v.Name, again, v.Hex)
		}
	})
}

func TestDamagedRecords(t *testing.T) {
	type damaged struct {
		Name          string
		Hex           hexBytes
		OK            bool
		Error         []string
		Decoded       fields
		ReencodesSame bool
	}
	var accepted, refused int
	eachVector(t, "decode-errors", func(t *testing.T, v damaged) {
		t.Helper()
		got, err := decode(t, v.Hex)
		if (err == nil) != v.OK {
			t.Errorf("%s: %x: %v; Kafka: accepted=%v %v", v.Name, v.Hex, err, v.OK, v.Error)
			return
		}
		if err != nil {
			refused++
			checkDecodeError(t, v.Hex, err)
			return
		}
		accepted++
		if want := v.Decoded.value(t); !equal(got, want) {
			t.Errorf("%s: decoded %+v; want %+v", v.Name, got, want)
		}
		if same := bytes.Equal(encode(t, got), v.Hex); same != v.ReencodesSame {
			t.Errorf("%s: re-encodes the same: %v; Kafka: %v", v.Name, same, v.ReencodesSame)
		}
	})
	t.Logf("%d accepted, %d refused", accepted, refused)
}

// checkDecodeError wants a typed error that points into the value.
func checkDecodeError(t *testing.T, value []byte, err error) {
	t.Helper()
	if value == nil {
		if !errors.Is(err, codec.ErrNullValue) {
			t.Errorf("null: %v; want ErrNullValue", err)
		}
		return
	}
	var e *codec.DecodeError
	if !errors.As(err, &e) {
		t.Errorf("%x: %T is not a DecodeError", value, err)
		return
	}
	if e.Offset < 0 || e.Offset > len(value) || e.Field == "" || e.Detail == "" || e.Reason == "" {
		t.Errorf("%x: incomplete error %+v", value, e)
	}
}

var (
	ordersID = api.UUIDFromBits(0x1111111111114111, 0x8111111111111111)
	orders   = api.TopicIdPartition{TopicID: ordersID, Topic: "orders"}
	segmentS = api.RemoteLogSegmentID{TopicIdPartition: orders, ID: api.UUIDFromBits(0x2222222222224222, 0x8222222222222200)}
)

// addS is the segment S with offsets 0 to 99.
func addS(epochs ...api.EpochOffset) api.RemoteLogSegmentMetadata {
	return api.RemoteLogSegmentMetadata{
		ID: segmentS, EndOffset: 99, MaxTimestampMs: 1000, BrokerID: 1, EventTimestampMs: 10,
		SegmentSizeInBytes: 100, LeaderEpochs: api.NewLeaderEpochs(epochs...),
	}
}

func TestRecordBytes(t *testing.T) {
	id := "076f726465727311111111111141118111111111111111000000000022222222222242228222222222222200" + "00"
	body := "0000000000000000" + "0000000000000063" + "00000001" + "00000000000003e8" + "000000000000000a"
	txnEmpty := addS(api.EpochOffset{}, api.EpochOffset{LeaderEpoch: 1, Offset: 50})
	txnEmpty.TxnIndexEmpty = true
	for name, c := range map[string]struct {
		event api.RemoteLogMetadata
		hex   string
	}{
		"two epochs, no txn index": {txnEmpty, "010000" + id + body + "03" + "000000000000000000000000" + "00" + "000000010000000000000032" + "00" + "00000064" + "00" + "00" + "010001" + "01"},
		"one epoch":                {addS(api.EpochOffset{}), "010000" + id + body + "02" + "000000000000000000000000" + "00" + "00000064" + "00" + "00" + "00"},
		"finished with custom metadata": {
			api.RemoteLogSegmentMetadataUpdate{ID: segmentS, EventTimestampMs: 20, CustomMetadata: api.NewCustomMetadata([]byte{1, 2}), State: api.CopySegmentFinished, BrokerID: 1},
			"010100" + id + "00000001" + "0000000000000014" + "030102" + "01" + "00",
		},
		"partition delete marked": {
			api.RemotePartitionDeleteMetadata{TopicIdPartition: orders, EventTimestampMs: 30, BrokerID: 1},
			"010200" + "076f7264657273111111111111411181111111111111110000000000" + "00000001" + "000000000000001e" + "00" + "00",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hex.EncodeToString(encode(t, c.event)); got != c.hex {
				t.Errorf("encoded\n%s; want\n%s", got, c.hex)
			}
		})
	}
}

func TestPoison(t *testing.T) {
	for _, c := range []struct {
		hex    string
		reason codec.Reason
		text   string
	}{
		{"", codec.ReasonTruncated, "byte 0: frame version: number ends early"},
		{"00", codec.ReasonFrame, "byte 0: frame version: 0 is not the known one, 1"},
		{"09", codec.ReasonFrame, "byte 0: frame version: 9 is not the known one, 1"},
		{"010000", codec.ReasonTruncated, "byte 3: topic: number ends early"},
		{"012a00", codec.ReasonKind, "byte 1: api key: 42 is not a kind of metadata"},
		{"010300", codec.ReasonKind, "byte 1: api key: a segment snapshot is never valid on the topic"},
		{"0100ff", codec.ReasonTruncated, "byte 2: version: number ends early"},
		{"010001", codec.ReasonVersion, "byte 2: version: 1 of api key 0 is not known"},
		{"01000005", codec.ReasonTruncated, "byte 3: topic: needs 4 bytes, 0 are left"},
		{"01000000", codec.ReasonLength, "byte 3: topic: length -1 is not in 0…32767"},
	} {
		value, _ := hex.DecodeString(c.hex)
		_, err := codec.DecodeRecord(value)
		var e *codec.DecodeError
		if !errors.As(err, &e) || e.Reason != c.reason || err.Error() != c.text {
			t.Errorf("%q: %v; want %s %q", c.hex, err, c.reason, c.text)
		}
	}
	if _, err := codec.DecodeRecord(nil); !errors.Is(err, codec.ErrNullValue) {
		t.Errorf("nil: %v", err)
	}
	if _, err := codec.DecodeSnapshot(nil); !errors.Is(err, codec.ErrNullValue) {
		t.Errorf("nil snapshot: %v", err)
	}
}

func TestValueErrorsPointAtTheirField(t *testing.T) {
	bad := func(change func(*api.RemoteLogSegmentMetadata)) []byte {
		m := addS(api.EpochOffset{})
		change(&m)
		return encode(t, m)
	}
	for field, c := range map[string]struct {
		value  []byte
		offset int
	}{
		"startOffset":         {bad(func(m *api.RemoteLogSegmentMetadata) { m.StartOffset = -1 }), 48},
		"endOffset":           {bad(func(m *api.RemoteLogSegmentMetadata) { m.StartOffset = 100 }), 56},
		"segmentLeaderEpochs": {bad(func(m *api.RemoteLogSegmentMetadata) { m.LeaderEpochs = api.LeaderEpochs{} }), 84},
		"state":               {bad(func(m *api.RemoteLogSegmentMetadata) { m.State = 4 }), 103},
		"end":                 {append(bad(func(*api.RemoteLogSegmentMetadata) {}), 0), 105},
	} {
		_, err := codec.DecodeRecord(c.value)
		var e *codec.DecodeError
		if !errors.As(err, &e) || e.Field != field || e.Offset != c.offset {
			t.Errorf("%s: %v; want byte %d", field, err, c.offset)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	named := func(topic string) api.RemoteLogMetadata {
		return api.RemotePartitionDeleteMetadata{TopicIdPartition: api.TopicIdPartition{Topic: topic}}
	}
	for name, m := range map[string]api.RemoteLogMetadata{
		"a long name": named(strings.Repeat("x", 32768)),
		"not UTF-8":   named("a\xff"),
		"a pointer":   &api.RemotePartitionDeleteMetadata{},
		"nil":         nil,
	} {
		dst, err := codec.AppendRecord([]byte("kept"), m)
		if !errors.Is(err, api.ErrInvalidArgument) || string(dst) != "kept" {
			t.Errorf("%s: %q, %v", name, dst, err)
		}
	}
	if _, err := codec.EncodeRecord(named(strings.Repeat("x", 32767))); err != nil {
		t.Errorf("the longest name: %v", err)
	}
}

func TestAppendKeepsWhatWasThere(t *testing.T) {
	want := encode(t, addS(api.EpochOffset{}))
	got, err := codec.AppendRecord([]byte("before"), addS(api.EpochOffset{}))
	if err != nil || string(got) != "before"+string(want) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDecodeKeepsNothingOfItsInput(t *testing.T) {
	m := addS(api.EpochOffset{}, api.EpochOffset{LeaderEpoch: 4, Offset: 9})
	m.CustomMetadata = api.NewCustomMetadata([]byte("custom"))
	value := encode(t, m)
	got, err := codec.DecodeRecord(value)
	clear(value)
	if err != nil || !equal(got, m) {
		t.Errorf("%+v, %v; want %+v", got, err, m)
	}
}

// TestDecodeAllocatesWithinItsInput gives decoders counts and lengths that promise
// more than is there.
func TestDecodeAllocatesWithinItsInput(t *testing.T) {
	one := encode(t, addS(api.EpochOffset{}))
	epochsAt, topicAt := 84, 3
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x07}
	zeros := make([]byte, 1<<20)
	row := codec.EncodeRow(codec.Row{Kind: codec.RowSegment, FinishedOffset: -1, Segment: addS(api.EpochOffset{})})
	values := map[string][]byte{
		"epochs":         slices.Concat(one[:epochsAt], huge, one[epochsAt+1:]),
		"epochs, 1 MiB":  slices.Concat(one[:epochsAt], []byte{0x80, 0x80, 0x40}, zeros),
		"epochs that do": slices.Concat(one[:epochsAt], []byte{0xff, 0xff, 0x04}, zeros),
		"topic":          slices.Concat(one[:topicAt], huge, zeros),
		"broken topic":   slices.Concat(one[:topicAt], []byte{0xff, 0xff, 0x01}, bytes.Repeat([]byte{0xff}, 32767)),
		"tags":           slices.Concat(one[:len(one)-1], huge, zeros),
		"custom":         slices.Concat(one[:len(one)-3], huge, zeros),
		"row's epochs":   slices.Concat(row[:len(row)-3], huge, zeros),
		"row that does":  slices.Concat(row[:len(row)-3], []byte{0xff, 0xff, 0x1f}, bytes.Repeat([]byte{1}, 1<<20)),
		"row's name":     slices.Concat(row[:3], huge, zeros),
	}
	key := codec.Key{Kind: codec.KeySegment, ID: segmentS}
	for name, value := range values {
		t.Run(name, func(t *testing.T) {
			used := allocated(func() {
				_, _ = codec.DecodeRecord(value)
				_, _ = codec.DecodeRow(key, value)
			})
			if limit := uint64(20*len(value) + 16<<10); used > limit {
				t.Errorf("%d bytes took %d; want at most %d", len(value), used, limit)
			}
		})
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
