package processor

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

const testPartitions = 5

var (
	testTip     = api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 2), Topic: "orders", Partition: 3}
	testSegment = api.RemoteLogSegmentMetadata{
		ID:        api.RemoteLogSegmentID{TopicIdPartition: testTip, ID: api.UUIDFromBits(3, 4)},
		EndOffset: 99, LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{}),
	}
)

func encode(t *testing.T, m api.RemoteLogMetadata) []byte {
	t.Helper()
	b, err := codec.EncodeRecord(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestKeyer(t *testing.T) {
	home := codec.MetadataPartition(testTip, testPartitions)
	away := (home + 1) % testPartitions
	add := encode(t, testSegment)
	for _, tt := range []struct {
		name      string
		partition int32
		key       string
		value     []byte
		want      string
	}{
		{"add", home, "", add, codec.SegmentKey(testSegment.ID)},
		{"a key that lies", home, "!0/position", add, codec.SegmentKey(testSegment.ID)},
		{"update", home, "", encode(t, api.RemoteLogSegmentMetadataUpdate{ID: testSegment.ID}), codec.SegmentKey(testSegment.ID)},
		{"delete", home, "", encode(t, api.RemotePartitionDeleteMetadata{TopicIdPartition: testTip}), codec.PartitionKey(testTip)},
		{"misrouted", away, "", add, codec.RejectedKey(away)},
		{"null", home, "k", nil, codec.RejectedKey(home)},
		{"empty", home, "", []byte{}, codec.RejectedKey(home)},
		{"cut", home, "", add[:len(add)-3], codec.SegmentKey(testSegment.ID)},
		{"cut in the ids", home, "", add[:30], codec.RejectedKey(home)},
		{"more", home, "", append(slices.Clip(add), 0), codec.SegmentKey(testSegment.ID)},
		{"unknown kind", home, "", []byte{1, 42, 0}, codec.RejectedKey(home)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &sarama.ConsumerMessage{Topic: "m", Partition: tt.partition, Key: []byte(tt.key), Value: tt.value}
			k := keyer{"m", testPartitions}
			for range 2 { // sarama may call it twice
				if k.OnConsume(m); string(m.Key) != tt.want {
					t.Errorf("key %q, want %q", m.Key, tt.want)
				}
			}
		})
	}
}

// Whatever lies on a partition is keyed to that same partition: the row is written
// where its input is read.
func FuzzKeyerStaysOnItsPartition(f *testing.F) {
	b, err := codec.EncodeRecord(testSegment)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint8(0), b)
	f.Add(uint8(1), []byte{1, 3, 0})
	f.Fuzz(func(t *testing.T, n uint8, value []byte) {
		partition := int32(n % testPartitions)
		h := codec.NewHasher()
		_, _ = h.Write(keyer{"m", testPartitions}.key(partition, value))
		if got := int32(h.Sum32() % testPartitions); got != partition {
			t.Errorf("a record of partition %d is keyed to %d", partition, got)
		}
	})
}

func TestKeyerLeavesOtherTopics(t *testing.T) {
	m := &sarama.ConsumerMessage{Topic: "rlmm-table", Key: []byte("k"), Value: encode(t, testSegment)}
	if (keyer{"m", testPartitions}).OnConsume(m); string(m.Key) != "k" {
		t.Errorf("the key became %q", m.Key)
	}
}

func TestInputCodecNeverFails(t *testing.T) {
	for _, value := range [][]byte{nil, {}, {0}, {9}, {1, 0, 0}, {1, 42, 0}, {1, 0, 255}, {1, 3, 0}, make([]byte, 1000)} {
		got, err := inputCodec{}.Decode(value)
		in, ok := got.(input)
		if err != nil || !ok {
			t.Fatalf("% x: %v, %v", value, got, err)
		}
		if in.err == nil || in.event != nil || (value == nil) != (in.raw == nil) {
			t.Errorf("% x: %+v", value, in)
		}
	}
	got, _ := inputCodec{}.Decode(encode(t, testSegment))
	if in := got.(input); in.err != nil || in.event == nil {
		t.Errorf("a good record: %+v", in)
	}
	if _, err := (inputCodec{}).Encode(input{}); err == nil {
		t.Error("input records can be encoded")
	}
}

func TestRefusal(t *testing.T) {
	home := codec.MetadataPartition(testTip, testPartitions)
	away := (home + 1) % testPartitions
	for _, tt := range []struct {
		name   string
		value  []byte
		want   codec.Outcome
		reason string
	}{
		{"null", nil, codec.OutcomeNullValue, "null value"},
		{"empty", []byte{}, codec.OutcomeUndecodable, "byte 0"},
		{"snapshot", []byte{1, 3, 0}, codec.OutcomeUndecodable, "byte 1"},
		{"misrouted", encode(t, testSegment), codec.OutcomeMisrouted, fmt.Sprintf("belongs to metadata partition %d, not %d", home, away)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			msg, _ := inputCodec{}.Decode(tt.value)
			outcome, err := msg.(input).refusal(away, testPartitions)
			if outcome != tt.want || err == nil || !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("%v, %v; want %v because of %q", outcome, err, tt.want, tt.reason)
			}
		})
	}
}

func TestRawCodec(t *testing.T) {
	b, err := hex.DecodeString("00ff")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (rawCodec{}).Encode(b); err != nil || string(got) != string(b) {
		t.Errorf("encode: %x, %v", got, err)
	}
	if got, err := (rawCodec{}).Decode(b); err != nil || string(got.([]byte)) != string(b) {
		t.Errorf("decode: %x, %v", got, err)
	}
	if _, err := (rawCodec{}).Encode("text"); err == nil || errors.Is(err, codec.ErrNullValue) {
		t.Errorf("text: %v", err)
	}
}
