package rest

import (
	"math"
	"testing"

	"github.com/tieredlog/rlmm/api"
)

var tokenTip = api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 2), Partition: 3}

func TestPageTokenIsReadBack(t *testing.T) {
	for _, start := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		for _, id := range []api.UUID{{}, api.UUIDFromBits(1, 2), api.UUIDFromBits(math.MaxUint64, math.MaxUint64)} {
			want := api.SegmentCursor{StartOffset: start, ID: id}
			got, err := readPageToken(tokenTip, pageToken(tokenTip, want))
			if err != nil || *got != want {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		}
	}
}

// The name of the topic is no part of a partition's identity.
func TestPageTokenIsOfOnePartition(t *testing.T) {
	token := pageToken(tokenTip, api.SegmentCursor{StartOffset: 5})
	named, other, another := tokenTip, tokenTip, tokenTip
	named.Topic, other.Partition, another.TopicID = "orders", 4, api.UUIDFromBits(1, 3)
	for tip, good := range map[api.TopicIdPartition]bool{tokenTip: true, named: true, other: false, another: false} {
		if _, err := readPageToken(tip, token); (err == nil) != good {
			t.Errorf("%v: got %v", tip, err)
		}
	}
}

func TestPageTokenSurvivesNoChange(t *testing.T) {
	token := pageToken(tokenTip, api.SegmentCursor{StartOffset: 5, ID: api.UUIDFromBits(6, 7)})
	for i := range token {
		for _, c := range []byte("Aa0-_=+/ \n%") {
			changed := token[:i] + string(c) + token[i+1:]
			if _, err := readPageToken(tokenTip, changed); changed != token && err == nil {
				t.Errorf("%q is read like %q", changed, token)
			}
		}
	}
}

// FuzzPageToken: what is read is what is written for that place, and of one partition.
func FuzzPageToken(f *testing.F) {
	f.Add(pageToken(tokenTip, api.SegmentCursor{}))
	f.Add(pageToken(tokenTip, api.SegmentCursor{StartOffset: math.MaxInt64, ID: api.UUIDFromBits(1, 1)}))
	f.Add("")
	f.Add("AQ")
	f.Add("AQ==")
	f.Fuzz(func(t *testing.T, text string) {
		after, err := readPageToken(tokenTip, text)
		if err != nil {
			return
		}
		if again := pageToken(tokenTip, *after); again != text {
			t.Errorf("%q is read as %v, written as %q", text, *after, again)
		}
		other := api.TopicIdPartition{TopicID: tokenTip.TopicID, Partition: 4}
		if _, err := readPageToken(other, text); err == nil {
			t.Errorf("%q is good for two partitions", text)
		}
	})
}
