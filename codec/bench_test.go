package codec_test

import (
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// typical is a finished segment as brokers write them.
func typical() api.RemoteLogSegmentMetadata {
	m := addS(api.EpochOffset{LeaderEpoch: 4, Offset: 1_200_000}, api.EpochOffset{LeaderEpoch: 5, Offset: 1_250_000})
	m.StartOffset, m.EndOffset = 1_200_000, 1_299_999
	m.MaxTimestampMs, m.EventTimestampMs = 1_700_000_000_000, 1_700_000_060_000
	m.SegmentSizeInBytes, m.State = 1<<30, api.CopySegmentFinished
	m.CustomMetadata = api.NewCustomMetadata([]byte("bucket/prefix"))
	return m
}

func typicalRow() codec.Row {
	return codec.Row{Kind: codec.RowSegment, Offset: 90_000, FinishedOffset: 89_999, Segment: typical()}
}

// TestDecodeIsLean counts allocations: the name, the epochs, the custom metadata and,
// for a record, the event itself.
func TestDecodeIsLean(t *testing.T) {
	record, row := encode(t, typical()), codec.EncodeRow(typicalRow())
	for name, c := range map[string]struct {
		most   float64
		decode func()
	}{
		"record": {4, func() { _, _ = codec.DecodeRecord(record) }},
		"key of": {0, func() { _, _ = codec.RecordKey(record) }},
		"row":    {3, func() { _, _ = codec.DecodeRow(segmentKey, row) }},
		"key":    {0, func() { _, _ = codec.ParseKey("ERERERERQRGBEREREREREQ:0/IiIiIiIiQiKCIiIiIiIiAA") }},
	} {
		if got := testing.AllocsPerRun(100, c.decode); got > c.most {
			t.Errorf("%s: %v allocations; want at most %v", name, got, c.most)
		}
	}
}

func BenchmarkDecodeRecord(b *testing.B) {
	value, err := codec.EncodeRecord(typical())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		if _, err := codec.DecodeRecord(value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRecordKey(b *testing.B) {
	value, err := codec.EncodeRecord(typical())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := codec.RecordKey(value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeRecord(b *testing.B) {
	m := api.RemoteLogMetadata(typical())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := codec.EncodeRecord(m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeRow(b *testing.B) {
	value := codec.EncodeRow(typicalRow())
	b.ReportAllocs()
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		if _, err := codec.DecodeRow(segmentKey, value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeRow(b *testing.B) {
	row := typicalRow()
	b.ReportAllocs()
	for b.Loop() {
		codec.EncodeRow(row)
	}
}

func BenchmarkHasher(b *testing.B) {
	key := []byte(codec.SegmentKey(segmentS))
	b.ReportAllocs()
	for b.Loop() {
		h := codec.NewHasher()
		_, _ = h.Write(key)
		h.Sum32()
	}
}
