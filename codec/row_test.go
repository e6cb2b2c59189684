package codec_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

var (
	segmentKey   = codec.Key{Kind: codec.KeySegment, ID: keyID(segmentS)}
	partitionKey = codec.Key{Kind: codec.KeyPartition, ID: api.RemoteLogSegmentID{TopicIdPartition: keyID(segmentS).TopicIdPartition}}
)

// keyID is an id as a key holds it: without the topic's name.
func keyID(id api.RemoteLogSegmentID) api.RemoteLogSegmentID {
	id.TopicIdPartition.Topic = ""
	return id
}

func keyOf(r codec.Row) codec.Key {
	if r.Kind == codec.RowPartition {
		return partitionKey
	}
	return segmentKey
}

func equalRows(a, b codec.Row) bool {
	return a.Kind == b.Kind && a.Offset == b.Offset && a.FinishedOffset == b.FinishedOffset &&
		a.Segment.Equal(b.Segment) && a.Highest.Equal(b.Highest) && a.Delete == b.Delete
}

// rows are one of each kind, small and full.
func rows() map[string]codec.Row {
	full := addS(api.EpochOffset{LeaderEpoch: -1}, api.EpochOffset{LeaderEpoch: 7, Offset: 50}, api.EpochOffset{LeaderEpoch: math.MaxInt32, Offset: 90})
	full.State, full.CustomMetadata, full.TxnIndexEmpty = api.DeleteSegmentStarted, api.NewCustomMetadata([]byte("custom")), true
	empty := addS(api.EpochOffset{})
	empty.CustomMetadata = api.NewCustomMetadata(nil)
	extreme := api.RemoteLogSegmentMetadata{
		ID: segmentS, EndOffset: math.MaxInt64, MaxTimestampMs: math.MinInt64, BrokerID: math.MinInt32, EventTimestampMs: math.MaxInt64,
		SegmentSizeInBytes: math.MinInt32, LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: math.MinInt32, Offset: math.MinInt64}, api.EpochOffset{LeaderEpoch: math.MaxInt32, Offset: math.MaxInt64}),
	}
	said := api.RemoteLogSegmentMetadata{ID: segmentS, BrokerID: 3, EventTimestampMs: 77, State: api.DeleteSegmentStarted}
	saidMore, finished := said, said
	saidMore.CustomMetadata = api.NewCustomMetadata([]byte{0})
	finished.State = api.DeleteSegmentFinished
	highest := api.NewLeaderEpochs(api.EpochOffset{Offset: 49}, api.EpochOffset{LeaderEpoch: 1, Offset: 99})
	return map[string]codec.Row{
		"segment":          {Kind: codec.RowSegment, FinishedOffset: -1, Segment: addS(api.EpochOffset{})},
		"segment, full":    {Kind: codec.RowSegment, Offset: 1 << 40, FinishedOffset: 1<<40 - 2, Segment: full, Highest: highest},
		"segment, empty":   {Kind: codec.RowSegment, Offset: 5, FinishedOffset: 5, Segment: empty},
		"segment, extreme": {Kind: codec.RowSegment, Offset: math.MaxInt64, FinishedOffset: 0, Segment: extreme},
		"headless":         {Kind: codec.RowHeadless, Offset: 9, Segment: said},
		"headless, custom": {Kind: codec.RowHeadless, Offset: 9, Segment: saidMore},
		"marker":           {Kind: codec.RowMarker, Offset: 9, FinishedOffset: 3, Segment: finished, Highest: highest},
		"marker, bare":     {Kind: codec.RowMarker, Offset: 9, FinishedOffset: -1, Segment: finished},
		"partition": {Kind: codec.RowPartition, Offset: 12, Delete: api.RemotePartitionDeleteMetadata{
			TopicIdPartition: orders, State: api.DeletePartitionFinished, EventTimestampMs: 30, BrokerID: 1,
		}},
	}
}

// versions are those that this build knows.
func versions() (all []codec.RowVersion) {
	for v := codec.RowVersion(1); v <= codec.NewestRowVersion; v++ {
		all = append(all, v)
	}
	return all
}

func TestRowsOfEveryKind(t *testing.T) {
	for name, want := range rows() {
		t.Run(name, func(t *testing.T) {
			for _, v := range versions() {
				value := v.EncodeRow(want)
				got, err := codec.DecodeRow(keyOf(want), value)
				if err != nil || !equalRows(got, want) || codec.RowVersionOf(value) != v {
					t.Errorf("%x:\n%+v, %v; want\n%+v", value, got, err, want)
				}
				t.Logf("%d bytes", len(value))
			}
		})
	}
}

// TestRowBytes pins the format: stored rows must stay readable.
func TestRowBytes(t *testing.T) {
	const name = "066f7264657273"
	for row, want := range map[string]string{
		"segment":          "0101" + "00" + name + "00" + "02" + "14" + "00" + "63" + "bc0f" + "64" + "010000",
		"segment, empty":   "01a1" + "05" + name + "00" + "02" + "14" + "00" + "00" + "63" + "bc0f" + "64" + "010000" + "00",
		"headless, custom": "0122" + "09" + name + "02" + "06" + "9a01" + "0100",
		"marker":           "01c3" + "09" + name + "03" + "06" + "9a01" + "06" + "0200620164",
		"partition":        "0104" + "0c" + name + "02" + "02" + "3c",
	} {
		if got := hex.EncodeToString(codec.EncodeRow(rows()[row])); got != want {
			t.Errorf("%s: %s; want %s", row, got, want)
		}
	}
}

func TestCheckRowVersion(t *testing.T) {
	next := byte(codec.NewestRowVersion + 1)
	for name, c := range map[string]struct {
		value []byte
		want  codec.RowVersion // the newer version; 0 is none
	}{
		"no row":                   {nil, 0},
		"empty":                    {[]byte{}, 0},
		"older":                    {[]byte{0}, 0},
		"a row":                    {codec.EncodeRow(rows()["segment, full"]), 0},
		"the newest, not read":     {[]byte{next - 1, 0xff}, 0},
		"the next version":         {[]byte{next}, codec.RowVersion(next)},
		"the last version of them": {[]byte("\xffmore"), 255},
	} {
		err := codec.CheckRowVersion(c.value)
		newer := (*codec.RowVersionError)(nil)
		if errors.As(err, &newer) != (c.want != 0) || newer != nil && newer.Version != c.want || newer == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRowVersionsThatCanBeWritten(t *testing.T) {
	for _, v := range append(versions(), codec.DefaultRowVersion) {
		if err := v.Validate(); err != nil {
			t.Errorf("%d: %v", v, err)
		}
	}
	for _, v := range []codec.RowVersion{0, codec.NewestRowVersion + 1, 255} {
		want := fmt.Sprintf("row version: must be 1 to %d, the newest that this release knows, not %d", codec.NewestRowVersion, v)
		if err := v.Validate(); err == nil || err.Error() != want {
			t.Errorf("%d: %v", v, err)
		}
	}
}

func TestRowsKeepOnlyWhatTheirKindUses(t *testing.T) {
	crowded := rows()["segment, full"]
	crowded.Delete = rows()["partition"].Delete
	for _, kind := range []codec.RowKind{codec.RowHeadless, codec.RowMarker, codec.RowPartition} {
		crowded.Kind = kind
		got, err := codec.DecodeRow(keyOf(crowded), codec.EncodeRow(crowded))
		if err != nil || got.Segment.LeaderEpochs.Len() > 0 || got.Segment.TxnIndexEmpty {
			t.Errorf("kind %d: %+v, %v", kind, got, err)
		}
	}
}

func TestEveryCutRowIsRefused(t *testing.T) {
	for name, row := range rows() {
		for _, v := range versions() {
			value := v.EncodeRow(row)
			for n := range value {
				var e *codec.DecodeError
				if _, err := codec.DecodeRow(keyOf(row), value[:n]); !errors.As(err, &e) || e.Reason != codec.ReasonTruncated {
					t.Errorf("%s, version %d, cut to %d bytes: %v", name, v, n, err)
				}
			}
		}
	}
}

func TestDecodeRowRefuses(t *testing.T) {
	const name = "066f7264657273"
	for what, c := range map[string]struct {
		key    codec.Key
		hex    string
		reason codec.Reason
	}{
		"version 0":             {segmentKey, "0001", codec.ReasonVersion},
		"kind 0":                {segmentKey, "0100", codec.ReasonKind},
		"kind 5":                {segmentKey, "0105", codec.ReasonKind},
		"a partition's key":     {partitionKey, "0101", codec.ReasonKind},
		"a segment's key":       {segmentKey, "0104", codec.ReasonKind},
		"a hidden key":          {codec.Key{Kind: codec.KeyRejected}, "0101", codec.ReasonKind},
		"a foreign flag":        {segmentKey, "0112", codec.ReasonValue},
		"a long number":         {segmentKey, "01018000" + name, codec.ReasonLength},
		"65 bits":               {segmentKey, "0101ffffffffffffffffff02", codec.ReasonLength},
		"an unknown state":      {segmentKey, "010200" + name + "04" + "02" + "14", codec.ReasonValue},
		"a state of a deletion": {partitionKey, "010400" + name + "ff" + "02" + "14", codec.ReasonValue},
		"a wide broker":         {segmentKey, "010200" + name + "00" + "8080808010" + "14", codec.ReasonLength},
		"finished at -1":        {segmentKey, "018305" + name + "03" + "02" + "14" + "06", codec.ReasonValue},
		"no epochs":             {segmentKey, "010100" + name + "00" + "02" + "14" + "00" + "63" + "bc0f" + "64" + "00", codec.ReasonValue},
		"too many epochs":       {segmentKey, "010100" + name + "00" + "02" + "14" + "00" + "63" + "bc0f" + "64" + "020000", codec.ReasonTruncated},
		"an epoch twice":        {segmentKey, "010100" + name + "00" + "02" + "14" + "00" + "63" + "bc0f" + "64" + "020000" + "0000", codec.ReasonValue},
		"an epoch of 33 bits":   {segmentKey, "010100" + name + "00" + "02" + "14" + "00" + "63" + "bc0f" + "64" + "020000" + "ffffffff0f00", codec.ReasonValue},
		"a negative start":      {segmentKey, "010100" + name + "00" + "02" + "14" + "ffffffffffffffffff01" + "63" + "bc0f" + "64" + "010000", codec.ReasonValue},
		"an end before start":   {segmentKey, "010100" + name + "00" + "02" + "14" + "05" + "ffffffffffffffffff01" + "bc0f" + "64" + "010000", codec.ReasonValue},
		"a wide size":           {segmentKey, "010100" + name + "00" + "02" + "14" + "00" + "63" + "bc0f" + "8080808010" + "010000", codec.ReasonLength},
		"more behind":           {partitionKey, "01040c" + name + "02" + "02" + "3c" + "00", codec.ReasonTrailing},
	} {
		value, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		var e *codec.DecodeError
		if row, err := codec.DecodeRow(c.key, value); !errors.As(err, &e) || e.Reason != c.reason {
			t.Errorf("%s: %+v, %v; want %s", what, row, err, c.reason)
		}
	}
}

func TestNewerRow(t *testing.T) {
	next := codec.NewestRowVersion + 1
	_, err := codec.DecodeRow(segmentKey, []byte{byte(next), 0xff})
	var e *codec.RowVersionError
	want := fmt.Sprintf("row version %d is newer than this reader knows (%d): the fleet writes for newer releases; upgrade this one", next, codec.NewestRowVersion)
	if !errors.As(err, &e) || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestAnyRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyRow(t)
		v := rapid.SampledFrom(versions()).Draw(t, "version")
		got, err := codec.DecodeRow(keyOf(want), v.EncodeRow(want))
		if err != nil || !equalRows(got, want) {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
	})
}

// anyRow draws a row of any kind with the fields that its kind uses.
func anyRow(t *rapid.T) codec.Row {
	r := codec.Row{Kind: codec.RowKind(rapid.IntRange(1, 4).Draw(t, "kind")), Offset: rapid.Int64().Draw(t, "offset")}
	topic := rapid.String().Draw(t, "topic")
	broker, event := rapid.Int32().Draw(t, "broker"), rapid.Int64().Draw(t, "event")
	if r.Kind == codec.RowPartition {
		r.Delete = api.RemotePartitionDeleteMetadata{TopicIdPartition: orders, BrokerID: broker, EventTimestampMs: event}
		r.Delete.TopicIdPartition.Topic = topic
		r.Delete.State = api.RemotePartitionDeleteState(rapid.IntRange(0, 2).Draw(t, "state"))
		return r
	}
	r.Segment = api.RemoteLogSegmentMetadata{ID: segmentS, BrokerID: broker, EventTimestampMs: event}
	r.Segment.ID.TopicIdPartition.Topic = topic
	r.Segment.State = api.RemoteLogSegmentState(rapid.IntRange(0, 3).Draw(t, "state"))
	if r.Kind != codec.RowMarker && rapid.Bool().Draw(t, "custom") {
		r.Segment.CustomMetadata = api.NewCustomMetadata(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	}
	if r.Kind != codec.RowHeadless {
		r.FinishedOffset = rapid.Int64().Draw(t, "finished")
		r.Highest = anyEpochs(t, 0)
	}
	if r.Kind == codec.RowSegment {
		anyLife(t, &r.Segment)
	}
	return r
}

func anyLife(t *rapid.T, m *api.RemoteLogSegmentMetadata) {
	m.StartOffset = rapid.Int64Min(0).Draw(t, "start")
	m.EndOffset = rapid.Int64Min(m.StartOffset).Draw(t, "end")
	m.MaxTimestampMs = rapid.Int64().Draw(t, "max")
	m.SegmentSizeInBytes = rapid.Int32().Draw(t, "size")
	m.LeaderEpochs = anyEpochs(t, 1)
	m.TxnIndexEmpty = rapid.Bool().Draw(t, "txn")
}

func anyEpochs(t *rapid.T, least int) api.LeaderEpochs {
	entry := rapid.Custom(func(t *rapid.T) api.EpochOffset {
		return api.EpochOffset{LeaderEpoch: rapid.Int32().Draw(t, "epoch"), Offset: rapid.Int64().Draw(t, "from")}
	})
	return api.NewLeaderEpochs(rapid.SliceOfN(entry, least, 20).Draw(t, "epochs")...)
}
