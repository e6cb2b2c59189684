package table

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/store"
)

var (
	identity = store.Identity{ClusterID: "cluster", MetadataTopicID: api.UUID{0: 1}, TableTopicID: api.UUID{0: 2}}
	at       = time.UnixMilli(1700000000000)
	rowKey   = codec.PartitionKey(api.TopicIdPartition{TopicID: api.UUID{0: 7}, Partition: 3})
)

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantSame(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// rowValue is a real row's value.
func rowValue(offset int64) []byte {
	return codec.EncodeRow(codec.Row{Kind: codec.RowPartition, Offset: offset, Delete: api.RemotePartitionDeleteMetadata{
		TopicIdPartition: api.TopicIdPartition{Topic: "t", TopicID: api.UUID{0: 7}, Partition: 3},
		State:            api.DeletePartitionMarked,
	}})
}

func headers(pairs ...string) goka.Headers {
	h := goka.Headers{}
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i]] = []byte(pairs[i+1])
	}
	return h
}

func TestParse(t *testing.T) {
	topicID := identity.MetadataTopicID.String()
	segmentKey := rowKey + "/" + api.UUID{0: 9}.String()
	for _, c := range []struct {
		name    string
		key     string
		value   []byte
		headers goka.Headers
		want    Record
		change  store.Change
	}{
		{
			"answer", rowKey, []byte("v"), AnswerHeaders(41, codec.OutcomeApplied),
			Record{Kind: Answer, Key: rowKey, Value: []byte("v"), Source: 41, Outcome: codec.OutcomeApplied, Time: at},
			store.Change{Key: rowKey, Value: []byte("v"), Applied: 41, Time: at.UnixMilli()},
		},
		{
			"answer that leaves no row", segmentKey, nil, AnswerHeaders(0, codec.OutcomeSegmentNotFound),
			Record{Kind: Answer, Key: segmentKey, Outcome: codec.OutcomeSegmentNotFound, Time: at},
			store.Change{Key: segmentKey, Time: at.UnixMilli()},
		},
		{
			"rejected under the hidden key", "!5", nil, AnswerHeaders(41, codec.OutcomeUndecodable),
			Record{Kind: Answer, Key: "!5", Source: 41, Outcome: codec.OutcomeUndecodable, Time: at},
			store.Change{Applied: 41, Time: at.UnixMilli()},
		},
		{
			"hidden key with a value", "!5", []byte("v"), AnswerHeaders(41, codec.OutcomeNullValue),
			Record{Kind: Answer, Key: "!5", Value: []byte("v"), Source: 41, Outcome: codec.OutcomeNullValue, Time: at},
			store.Change{Applied: 41, Time: at.UnixMilli()},
		},
		{
			"fence", "!5", nil, headers(headerCluster, "c", headerTopic, topicID),
			Record{Kind: Fence, Key: "!5", Source: -1, ClusterID: "c", TopicID: identity.MetadataTopicID, Time: at},
			store.Change{Applied: -1, Time: at.UnixMilli()},
		},
		{
			"progress", "!5/position", []byte("9"), headers(headerOffset, "9", headerCluster, "c", headerTopic, topicID),
			Record{Kind: Progress, Key: "!5/position", Value: []byte("9"), Source: 9, ClusterID: "c", TopicID: identity.MetadataTopicID, Time: at},
			store.Change{Applied: 9, Time: at.UnixMilli()},
		},
		{
			"progress before the first input", "!5/position", []byte("-1"), headers(headerOffset, "-1", headerTopic, topicID),
			Record{Kind: Progress, Key: "!5/position", Value: []byte("-1"), Source: -1, TopicID: identity.MetadataTopicID, Time: at},
			store.Change{Applied: -1, Time: at.UnixMilli()},
		},
		{
			"purge", segmentKey, nil, AnswerHeaders(17, codec.OutcomePurge),
			Record{Kind: Purge, Key: segmentKey, Source: 17, Outcome: codec.OutcomePurge, Time: at},
			store.Change{Key: segmentKey, Applied: -1, Time: at.UnixMilli()},
		},
		{
			"repair", segmentKey, []byte("row"), AnswerHeaders(17, codec.OutcomeRepair),
			Record{Kind: Repair, Key: segmentKey, Value: []byte("row"), Source: 17, Outcome: codec.OutcomeRepair, Time: at},
			store.Change{Key: segmentKey, Value: []byte("row"), Applied: -1, Time: at.UnixMilli()},
		},
		{
			"headers that are not ours", rowKey, nil, headers(headerOffset, "1", headerOutcome, "applied", "trace", "x"),
			Record{Kind: Answer, Key: rowKey, Source: 1, Outcome: codec.OutcomeApplied, Time: at},
			store.Change{Key: rowKey, Applied: 1, Time: at.UnixMilli()},
		},
		{
			"writer and sum", rowKey, nil,
			headers(headerOffset, "1", headerOutcome, "applied", headerWriter, "\x00\x00\x01\x02", headerSum, "\xff\x00\x00\x01"),
			Record{Kind: Answer, Key: rowKey, Source: 1, Outcome: codec.OutcomeApplied, Time: at, Writer: 0x102, Input: 0xff000001},
			store.Change{Key: rowKey, Applied: 1, Time: at.UnixMilli(), Input: 0xff000001},
		},
		{
			"writer and sum that are no numbers", rowKey, nil,
			headers(headerOffset, "1", headerOutcome, "applied", headerWriter, "1", headerSum, "12345"),
			Record{Kind: Answer, Key: rowKey, Source: 1, Outcome: codec.OutcomeApplied, Time: at},
			store.Change{Key: rowKey, Applied: 1, Time: at.UnixMilli()},
		},
		{
			"purge with a sum", segmentKey, nil,
			headers(headerOffset, "17", headerOutcome, "purge", headerSum, "\x00\x00\x00\x01"),
			Record{Kind: Purge, Key: segmentKey, Source: 17, Outcome: codec.OutcomePurge, Time: at, Input: 1},
			store.Change{Key: segmentKey, Applied: -1, Time: at.UnixMilli()},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse(c.key, c.value, c.headers, at)
			noError(t, err)
			wantSame(t, "record", c.want, got)
			c.change.Sum = c.want.Sum()
			wantSame(t, "change", c.change, got.Change())
		})
	}
}

func TestParseRefusesForeignRecords(t *testing.T) {
	topicID := identity.MetadataTopicID.String()
	answer := AnswerHeaders(1, codec.OutcomeApplied)
	for _, c := range []struct {
		name, key string
		headers   goka.Headers
		want      string // part of the error
	}{
		{"no headers", rowKey, nil, headerOffset},
		{"row without an offset", rowKey, headers(headerOutcome, "applied"), headerOffset},
		{"position without an offset", "!5/position", headers(headerTopic, topicID), headerOffset},
		{"empty offset", rowKey, headers(headerOffset, "", headerOutcome, "applied"), headerOffset},
		{"offset that is no number", rowKey, headers(headerOffset, "1a", headerOutcome, "applied"), headerOffset},
		{"offset past 64 bits", rowKey, headers(headerOffset, "9223372036854775808", headerOutcome, "applied"), headerOffset},
		{"no outcome", rowKey, headers(headerOffset, "1"), headerOutcome},
		{"unknown outcome", rowKey, headers(headerOffset, "1", headerOutcome, "Applied"), headerOutcome},
		{"fence without a topic", "!5", headers(headerCluster, "c"), headerTopic},
		{"fence of no topic id", "!5", headers(headerTopic, "short"), headerTopic},
		{"position without a topic", "!5/position", headers(headerOffset, "1"), headerTopic},
		{"no key", "", answer, "key"},
		{"key that is none", "abc", answer, "key"},
		{"key of the store's own", "\x00identity", answer, "key"},
		{"hidden key that is none", "!x", answer, "key"},
		{"hidden key of a negative partition", "!-1", answer, "key"},
		{"key spelled another way", "!05", answer, "key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse(c.key, nil, c.headers, at)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %+v, %v, want an error about %s", got, err, c.want)
			}
		})
	}
}

// newStore is a recovered, empty store.
func newStore(t *testing.T) *store.Store {
	t.Helper()
	s, _, err := store.Open(filepath.Join(t.TempDir(), "0"), store.Options{}, store.Expect{Identity: identity})
	noError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	noError(t, s.MarkRecovered())
	return s
}

func TestApply(t *testing.T) {
	answer := func(offset int64, value []byte) Record {
		return Record{Kind: Answer, Key: rowKey, Value: value, Source: offset, Time: at}
	}
	purge := func(offset int64) Record { return Record{Kind: Purge, Key: rowKey, Source: offset, Time: at} }
	progress := func(offset int64) Record {
		return Record{Kind: Progress, Key: "!5/position", Value: []byte("x"), Source: offset, Time: at}
	}
	repair := func(applied int64, value []byte) Record {
		return Record{Kind: Repair, Key: rowKey, Value: value, Source: applied, Outcome: codec.OutcomeRepair, Time: at}
	}
	fence := Record{Kind: Fence, Key: "!5", Source: -1, Time: at}
	first := answer(10, rowValue(10))
	for _, c := range []struct {
		name    string
		before  []Record
		r       Record
		ok      bool
		row     []byte
		applied int64
	}{
		{"first answer", nil, answer(0, rowValue(0)), true, rowValue(0), 0},
		{"newer answer", []Record{first}, answer(11, rowValue(11)), true, rowValue(11), 11},
		{"answer that removes", []Record{first}, answer(11, nil), true, nil, 11},
		{"the same answer again", []Record{first}, answer(10, nil), false, rowValue(10), 10},
		{"stale answer", []Record{first}, answer(3, nil), false, rowValue(10), 10},
		{"answer behind the position", []Record{progress(10)}, answer(10, rowValue(10)), false, nil, 10},
		{"rejected answer", []Record{first}, Record{Kind: Answer, Key: "!5", Source: 11, Time: at}, true, rowValue(10), 11},
		{"stale rejected answer", []Record{first}, Record{Kind: Answer, Key: "!5", Source: 10, Time: at}, false, rowValue(10), 10},
		{"fence", []Record{first}, fence, true, rowValue(10), 10},
		{"position ahead", []Record{first}, progress(20), true, rowValue(10), 20},
		{"position behind", []Record{first}, progress(5), true, rowValue(10), 10},
		{"purge", []Record{first}, purge(10), true, nil, 10},
		{"purge of an older row", []Record{first}, purge(9), false, rowValue(10), 10},
		{"purge of what the row became, which compaction took", []Record{first}, purge(11), true, nil, 10},
		{"purge of no row", nil, purge(10), true, nil, -1},
		{"second purge", []Record{first, purge(10)}, purge(10), true, nil, 10},
		{"repair", []Record{first}, repair(10, rowValue(10)), true, rowValue(10), 10},
		{"repair of a row that was lost", nil, repair(10, rowValue(7)), true, rowValue(7), -1},
		{"repair of what the row became, which compaction took", []Record{first}, repair(20, rowValue(15)), true, rowValue(15), 10},
		{"repair of a row that is no more", []Record{first}, repair(20, nil), true, nil, 10},
		{"repair of an older row", []Record{first}, repair(9, rowValue(9)), false, rowValue(10), 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			for i, r := range append(c.before, c.r) {
				ok, err := Apply(s, r)
				noError(t, err)
				noError(t, s.SetOffset(int64(i)))
				if last := i == len(c.before); last && ok != c.ok {
					t.Fatalf("applied: %v, want %v", ok, c.ok)
				}
			}
			row, err := s.Get(rowKey)
			noError(t, err)
			wantSame(t, "row", string(c.row), string(row))
			noError(t, s.Flush())
			want := store.Position{Table: int64(len(c.before)), Applied: c.applied, Time: at.UnixMilli()}
			want.Last = store.Mark{Offset: want.Table, Sum: c.r.Sum()}
			wantSame(t, "position", want, s.Committed())
		})
	}
}

func TestApplyRefusesARowOfANewerVersion(t *testing.T) {
	s := newStore(t)
	newer := append([]byte{0xff}, rowValue(10)...)
	_, err := Apply(s, Record{Kind: Answer, Key: rowKey, Value: newer, Source: 10, Time: at})
	noError(t, err)
	if ok, err := Apply(s, Record{Kind: Purge, Key: rowKey, Source: 10, Time: at}); ok || err == nil {
		t.Fatalf("purged what it can't read: %v, %v", ok, err)
	}
}

// What the writer writes is what readers take it for.
func TestWrittenRecordsParse(t *testing.T) {
	written := []Record{
		fenceOf(5, identity),
		answer(rowKey, []byte("v"), 0, codec.OutcomeApplied),
		answer(rowKey, nil, 1<<62, codec.OutcomeInvalidPartitionDeleteTransition),
		{Kind: Purge, Key: rowKey, Source: 17, Outcome: codec.OutcomePurge},
		{Kind: Repair, Key: rowKey, Value: []byte("row"), Source: 17, Outcome: codec.OutcomeRepair},
	}
	for _, applied := range []int64{-1, 0, 1 << 40} {
		p := positionOf(5, store.Mark{Offset: applied}, identity)
		wantSame(t, "position", strconv.FormatInt(applied, 10), string(p.Value))
		written = append(written, p)
	}
	for _, want := range written {
		for _, sum := range []uint32{0, 1, 1<<32 - 1} {
			want.Writer, want.Time = 7, at
			if want.Kind != Fence {
				want.Input = sum
			}
			sent := want.encode()
			got, err := Parse(string(sent.Key), sent.Value, recordHeaders(sent.Headers), at)
			noError(t, err)
			wantSame(t, "record", want, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(rowKey, []byte("1"), []byte("applied"), []byte{}, true)
	f.Add("!5", []byte("1"), []byte(""), []byte("AAAAAAAAAAAAAAAAAAAAAQ"), false)
	f.Add("!5/position", []byte("-1"), []byte(""), []byte("AAAAAAAAAAAAAAAAAAAAAQ"), true)
	f.Fuzz(func(t *testing.T, key string, offset, outcome, topic []byte, withOffset bool) {
		h := goka.Headers{headerOutcome: outcome, headerTopic: topic}
		if withOffset {
			h[headerOffset] = offset
		}
		r, err := Parse(key, []byte("v"), h, at)
		if err != nil {
			return
		}
		c := r.Change()
		if c.Key != "" && (c.Key != key || c.Key <= "!") {
			t.Errorf("%q changes the row %q", key, c.Key)
		}
		if codec.IsHidden(key) != (c.Key == "") {
			t.Errorf("%q changes %q", key, c.Key)
		}
		if (r.Kind == Fence || r.Kind == Purge) && c.Applied != -1 {
			t.Errorf("kind %d moves the position to %d", r.Kind, c.Applied)
		}
	})
}
