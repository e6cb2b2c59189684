package codec_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// gokaPartition is goka's arithmetic, of its views, processors and emitters.
func gokaPartition(t *testing.T, key string, n int32) int32 {
	t.Helper()
	h := codec.NewHasher()
	if _, err := h.Write([]byte(key)); err != nil {
		t.Errorf("%q: %v", key, err)
	}
	hash := int32(h.Sum32())
	if hash < 0 {
		hash = -hash
	}
	return hash % n
}

// saramaPartition asks the partitioner that goka's producers have.
func saramaPartition(t *testing.T, key string, n int32) int32 {
	t.Helper()
	p := sarama.NewCustomHashPartitioner(codec.NewHasher)("topic")
	got, err := p.Partition(&sarama.ProducerMessage{Key: sarama.StringEncoder(key)}, n)
	if err != nil {
		t.Errorf("%q: %v", key, err)
	}
	return got
}

func checkPartition(t *testing.T, tip api.TopicIdPartition, n, want int32) {
	t.Helper()
	if got := codec.MetadataPartition(tip, n); got != want {
		t.Errorf("%s of %d: %d; want %d", tip, n, got, want)
	}
	segment := api.RemoteLogSegmentID{TopicIdPartition: tip, ID: segmentS.ID}
	for _, key := range []string{codec.PartitionKey(tip), codec.SegmentKey(segment)} {
		if got := gokaPartition(t, key, n); got != want {
			t.Errorf("goka: %s of %d: %d; want %d", key, n, got, want)
		}
		if got := saramaPartition(t, key, n); got != want {
			t.Errorf("sarama: %s of %d: %d; want %d", key, n, got, want)
		}
	}
}

func TestPartitioner(t *testing.T) {
	answers := 0
	eachVector(t, "partitioner", func(t *testing.T, v map[string]json.RawMessage) {
		t.Helper()
		line, _ := json.Marshal(v)
		var tip struct {
			TopicID              api.UUID
			TopicIDHi, TopicIDLo int64
			Topic                string
			Partition            int32
		}
		if err := json.Unmarshal(line, &tip); err != nil {
			t.Fatal(err)
		}
		if got := api.UUIDFromBits(uint64(tip.TopicIDHi), uint64(tip.TopicIDLo)); got != tip.TopicID {
			t.Errorf("%s from its bits is %s", tip.TopicID, got)
		}
		for column, answer := range v {
			n, err := strconv.ParseInt(strings.TrimPrefix(column, "p"), 10, 32)
			want, notNumber := strconv.ParseInt(string(answer), 10, 32)
			if !strings.HasPrefix(column, "p") || err != nil || notNumber != nil {
				continue
			}
			answers++
			checkPartition(t, api.TopicIdPartition{TopicID: tip.TopicID, Topic: tip.Topic, Partition: tip.Partition}, int32(n), int32(want))
		}
	})
	if answers == 0 {
		t.Error("no pN column in any file")
	}
	t.Logf("%d answers", answers)
}

func TestPartitionerGoldenValues(t *testing.T) {
	partitions := []int32{0, 1, 2, 3, 7, 100}
	for _, c := range []struct {
		most, least uint64
		n           int32
		want        []int32
	}{
		{0, 1, 50, []int32{35, 6, 18, 29, 46, 19}},
		{0x1111111111114111, 0x8111111111111111, 50, []int32{38, 14, 38, 0, 14, 14}},
		{0xdeadbeefcafe4bad, 0xbfeedfacecafef00, 50, []int32{17, 49, 12, 5, 46, 49}},
		{0, 1, 5, []int32{0, 1, 3, 4, 1, 4}},
	} {
		for i, want := range c.want {
			for _, topic := range []string{"", "orders"} {
				checkPartition(t, api.TopicIdPartition{TopicID: api.UUIDFromBits(c.most, c.least), Topic: topic, Partition: partitions[i]}, c.n, want)
			}
		}
	}
}

// TestPartitionerAgreesWithAClient compares with the murmur2 that a Kafka client keeps
// to itself.
func TestPartitionerAgreesWithAClient(t *testing.T) {
	client := kgo.StickyKeyPartitioner(nil).ForTopic("")
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		most, least, partition := random.Uint64(), random.Uint64(), int32(random.Uint32())
		hash := int32(1)
		for _, part := range []int32{int32(least ^ least>>32), int32(most ^ most>>32), partition} {
			hash = 31*hash + part
		}
		key := binary.BigEndian.AppendUint32(nil, uint32(hash))
		want := int32(client.Partition(&kgo.Record{Key: key}, 997))
		tip := api.TopicIdPartition{TopicID: api.UUIDFromBits(most, least), Partition: partition}
		if got := codec.MetadataPartition(tip, 997); got != want {
			t.Fatalf("%s: %d; want %d", tip, got, want)
		}
	}
}

func TestHiddenKeysGoWhereTheySay(t *testing.T) {
	for _, p := range []int32{0, 7, 49, math.MaxInt32 - 1} {
		for _, n := range []int32{p + 1, math.MaxInt32} {
			for _, key := range []string{codec.RejectedKey(p), codec.PositionKey(p), codec.RejectedKey(p) + "/later"} {
				if got := gokaPartition(t, key, n); got != p {
					t.Errorf("%s of %d: %d", key, n, got)
				}
				if got := saramaPartition(t, key, n); got != p {
					t.Errorf("sarama: %s of %d: %d", key, n, got)
				}
			}
		}
	}
}

func TestHasherIsAHash(t *testing.T) {
	h := codec.NewHasher()
	key := codec.SegmentKey(segmentS)
	fmt.Fprint(h, "left over")
	h.Reset()
	for _, part := range []string{key[:5], key[5:30], key[30:]} {
		fmt.Fprint(h, part)
	}
	want := uint32(codec.MetadataPartition(orders, math.MaxInt32))
	if got := h.Sum32(); got != want {
		t.Errorf("in parts: %d; want %d", got, want)
	}
	if got := h.Sum([]byte{1}); len(got) != 1+h.Size() || binary.BigEndian.Uint32(got[1:]) != want {
		t.Errorf("Sum: %x", got)
	}
	for _, bad := range []string{"", "!", "!x", "!-1", "!4294967296", ":", "a:1", "/", ordersID.String(), ordersID.String() + ":", ordersID.String() + ":x"} {
		if got := gokaPartition(t, bad, 50); got != 0 {
			t.Errorf("%q: %d; want 0", bad, got)
		}
	}
}
