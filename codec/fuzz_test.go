package codec_test

import (
	"bytes"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// addRecords gives the fuzzer Kafka's own records, good and damaged.
func addRecords(f *testing.F) {
	f.Helper()
	for _, stem := range []string{"golden", "decode-errors"} {
		for _, file := range matching(f, "testdata", stem) {
			for _, v := range readVectors[struct{ Hex hexBytes }](f, file) {
				if len(v.Hex) < 1000 {
					f.Add([]byte(v.Hex))
				}
			}
		}
	}
}

// checkSize wants no more in a segment than its value can have held.
func checkSize(t *testing.T, value []byte, m api.RemoteLogSegmentMetadata, epochBytes int) {
	t.Helper()
	topic := m.ID.TopicIdPartition.Topic
	if epochBytes*m.LeaderEpochs.Len() > len(value) || len(topic) > 3*len(value) || m.CustomMetadata.Len() > len(value) {
		t.Errorf("%d bytes gave %d epochs, a name of %d and custom metadata of %d", len(value), m.LeaderEpochs.Len(), len(topic), m.CustomMetadata.Len())
	}
}

// An accepted value encodes to one that decodes to the same event, and no fault goes
// without a typed error.
func FuzzDecodeRecord(f *testing.F) {
	addRecords(f)
	f.Fuzz(func(t *testing.T, value []byte) {
		m, err := codec.DecodeRecord(value)
		if err != nil {
			checkDecodeError(t, value, err)
			return
		}
		if segment, ok := m.(api.RemoteLogSegmentMetadata); ok {
			checkSize(t, value, segment, 13)
		}
		again, err := codec.EncodeRecord(m)
		if err != nil {
			t.Fatalf("%+v was read and can't be written: %v", m, err)
		}
		if back, err := codec.DecodeRecord(again); err != nil || !equal(back, m) {
			t.Fatalf("%+v became %+v, %v", m, back, err)
		}
		key := codec.EventKey(m)
		if got, want := gokaPartition(t, key, 50), codec.MetadataPartition(m.Partition(), 50); got != want {
			t.Fatalf("%q goes to %d; want %d", key, got, want)
		}
	})
}

// The key of every record that can be read is that of its event, and no fault of the front
// goes unseen by who reads it all.
func FuzzRecordKey(f *testing.F) {
	addRecords(f)
	f.Fuzz(func(t *testing.T, value []byte) {
		key, err := codec.RecordKey(value)
		m, whole := codec.DecodeRecord(value)
		switch {
		case err != nil && whole == nil:
			t.Fatalf("%+v has no key: %v", m, err)
		case err != nil && value != nil:
			checkDecodeError(t, value, err)
		case whole == nil && key.String() != codec.EventKey(m):
			t.Fatalf("%+v has the key %q", m, key)
		}
	})
}

func FuzzDecodeSnapshot(f *testing.F) {
	addRecords(f)
	f.Fuzz(func(t *testing.T, value []byte) {
		s, err := codec.DecodeSnapshot(value)
		if err != nil {
			checkDecodeError(t, value, err)
			return
		}
		checkSize(t, value, api.RemoteLogSegmentMetadata(s), 13)
		if back, err := codec.DecodeSnapshot(codec.AppendSnapshot(nil, s)); err != nil || !equal(back, s) {
			t.Fatalf("%+v became %+v, %v", s, back, err)
		}
		if _, err := codec.DecodeRecord(value); err == nil {
			t.Fatal("a snapshot is taken for an event")
		}
	})
}

// A row has one encoding in each version: an accepted value is what the row encodes to.
func FuzzDecodeRow(f *testing.F) {
	for _, row := range rows() {
		for _, v := range versions() {
			f.Add(v.EncodeRow(row))
		}
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, key := range []codec.Key{segmentKey, partitionKey} {
			row, err := codec.DecodeRow(key, value)
			if err != nil {
				continue
			}
			checkSize(t, value, row.Segment, 2)
			if again := codec.RowVersionOf(value).EncodeRow(row); !bytes.Equal(again, value) {
				t.Fatalf("%x is read as %+v, which encodes to %x", value, row, again)
			}
		}
	})
}

// A key is read only as it is written, and goes to one partition however much of its
// segment is there.
func FuzzParseKey(f *testing.F) {
	for _, key := range []string{codec.PartitionKey(orders), codec.SegmentKey(segmentS), codec.RejectedKey(7), codec.PositionKey(7), "", "!", "a:1/b"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, text string) {
		partition := gokaPartition(t, text, 1<<30)
		key, err := codec.ParseKey(text)
		if err != nil {
			return
		}
		if key.String() != text {
			t.Fatalf("%q is read as %q", text, key)
		}
		want := key.MetadataPartition % (1 << 30)
		if !codec.IsHidden(text) {
			want = codec.MetadataPartition(key.ID.TopicIdPartition, 1<<30)
		}
		if partition != want {
			t.Fatalf("%q goes to %d; want %d", text, partition, want)
		}
	})
}
