package codec_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// dashed is an id with both of base64's marks in its text, one of them first.
var dashed = api.UUIDFromBits(0xfbffffffffffffff, 0xfbefbefbefbefbef)

func at(id api.UUID, partition int32) api.TopicIdPartition {
	return api.TopicIdPartition{TopicID: id, Topic: "any", Partition: partition}
}

func TestKeys(t *testing.T) {
	const ordersText, segmentText = "ERERERERQRGBEREREREREQ", "IiIiIiIiQiKCIiIiIiIiAA"
	for want, got := range map[string]string{
		ordersText + ":0":                       codec.PartitionKey(orders),
		ordersText + ":0/" + segmentText:        codec.SegmentKey(segmentS),
		ordersText + ":-1":                      codec.PartitionKey(at(ordersID, -1)),
		"-__________7777777777w:2147483647":     codec.PartitionKey(at(dashed, 2147483647)),
		"!7":                                    codec.RejectedKey(7),
		"!7/position":                           codec.PositionKey(7),
		codec.EventKey(addS(api.EpochOffset{})): codec.SegmentKey(segmentS),
		codec.EventKey(api.RemotePartitionDeleteMetadata{}): codec.PartitionKey(api.TopicIdPartition{}),
	} {
		if got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
	if got := codec.EventKey(api.RemoteLogSegmentMetadataUpdate{ID: segmentS}); got != codec.SegmentKey(segmentS) {
		t.Errorf("an update's key is %q", got)
	}
}

func TestParseKeyReadsWhatIsWritten(t *testing.T) {
	for _, p := range []int32{0, 1, 10, 2147483647, -1, -2147483648} {
		for _, topic := range []api.UUID{ordersID, dashed, {}} {
			for _, segment := range []api.UUID{segmentS.ID, dashed, {}} {
				tip := api.TopicIdPartition{TopicID: topic, Partition: p}
				checkKey(t, codec.Key{Kind: codec.KeyPartition, ID: api.RemoteLogSegmentID{TopicIdPartition: tip}}, codec.PartitionKey(tip))
				id := api.RemoteLogSegmentID{TopicIdPartition: tip, ID: segment}
				checkKey(t, codec.Key{Kind: codec.KeySegment, ID: id}, codec.SegmentKey(id))
			}
		}
	}
	for _, p := range []int32{0, 7, 2147483647} {
		checkKey(t, codec.Key{Kind: codec.KeyRejected, MetadataPartition: p}, codec.RejectedKey(p))
		checkKey(t, codec.Key{Kind: codec.KeyPosition, MetadataPartition: p}, codec.PositionKey(p))
	}
}

func checkKey(t *testing.T, want codec.Key, text string) {
	t.Helper()
	got, err := codec.ParseKey(text)
	if err != nil || got != want || got.String() != text {
		t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
	}
	if hidden := want.Kind == codec.KeyRejected || want.Kind == codec.KeyPosition; codec.IsHidden(text) != hidden {
		t.Errorf("%q: hidden %v", text, !hidden)
	}
}

func TestParseKeyRefuses(t *testing.T) {
	tip, id := codec.PartitionKey(orders), segmentS.ID.String()
	for _, text := range []string{
		"", "!", "!-1", "!+1", "!01", "!1/", "!1/other", "!1/position/", "!2147483648", "x" + tip, tip + "0x", tip + "/",
		tip + "/" + id[1:], tip + "/" + id + "/", tip + "/" + id[:21] + "=", tip + "/" + id[:20] + "\n\n", ordersID.String(),
		ordersID.String() + ":", ordersID.String() + ":+0", ordersID.String() + ":00/" + id, ordersID.String() + ":-0", ordersID.String() + ":2147483648",
		"11111111-1111-4111-8111-111111111111:0", tip + "/22222222-2222-4222-8222-222222222200", tip + " ", "\x00",
	} {
		if key, err := codec.ParseKey(text); !errors.Is(err, api.ErrInvalidArgument) {
			t.Errorf("%q: %+v, %v", text, key, err)
		}
	}
}

func TestPartitionRange(t *testing.T) {
	partitions := []int32{0, 1, 2, 9, 10, 11, 19, 100, 2147483647, -1, -10}
	topics := []api.UUID{ordersID, dashed, {}, api.UUIDFromBits(0x1111111111114111, 0x8111111111111112)}
	segments := []api.UUID{{}, dashed, segmentS.ID, api.UUIDFromBits(^uint64(0), ^uint64(0))}
	keys := map[string]api.TopicIdPartition{}
	for _, topic := range topics {
		for _, p := range partitions {
			tip := api.TopicIdPartition{TopicID: topic, Partition: p}
			keys[codec.PartitionKey(tip)] = tip
			for _, s := range segments {
				keys[codec.SegmentKey(api.RemoteLogSegmentID{TopicIdPartition: tip, ID: s})] = tip
			}
		}
	}
	for _, topic := range topics {
		for _, p := range partitions {
			tip := api.TopicIdPartition{TopicID: topic, Partition: p}
			start, limit := codec.PartitionRange(tip)
			for key, of := range keys {
				inside := bytes.Compare([]byte(key), start) >= 0 && bytes.Compare([]byte(key), limit) < 0
				if inside != (of == tip) {
					t.Errorf("%q is in the range of %s: %v", key, tip, inside)
				}
			}
		}
	}
}
