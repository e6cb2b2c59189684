package table

import (
	"slices"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/codec"
)

func TestDoubts(t *testing.T) {
	k, err := codec.ParseKey(rowKey)
	noError(t, err)
	home := codec.MetadataPartition(k.ID.TopicIdPartition, 50)
	other := codec.SegmentKey(k.ID)
	s := newStore(t)
	var d Doubts
	raise := func(key string, partition int32, want bool) {
		t.Helper()
		raised, err := d.Raise(s, key, partition, 50)
		noError(t, err)
		wantSame(t, "raised", want, raised)
	}
	for _, key := range []string{"", "x", "!5", "!5/position", rowKey + "/"} {
		raise(key, home, false)
	}
	raise(rowKey, home+1, false)
	noError(t, d.Settle(s, rowKey))
	wantSame(t, "any", false, d.Any())
	raise(rowKey, home, true)
	raise(other, home, true)
	raise(rowKey, home, true)
	wantSame(t, "keys", slices.Sorted(slices.Values([]string{rowKey, other})), d.Keys())
	noError(t, d.Settle(s, rowKey))
	noError(t, d.Settle(s, "another"))
	wantSame(t, "any", true, d.Any())
	noError(t, d.Settle(s, other))
	wantSame(t, "any", false, d.Any())
}

func TestForeignRecordErrorSaysWhere(t *testing.T) {
	err := &ForeignRecordError{Topic: "t", Partition: 3, Offset: 14, Key: rowKey}
	for _, word := range []string{"t/3", "14", rowKey, "no processor wrote"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q doesn't say %q", err, word)
		}
	}
}
