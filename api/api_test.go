package api_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
)

func TestParseUUID(t *testing.T) {
	const base64 = "UpZHhnEzQuGqT8T9QFvE9w"
	id, err := api.ParseUUID(base64)
	if err != nil || id.String() != base64 {
		t.Fatalf("got %s, %v", id, err)
	}
	same, err := api.ParseUUID("52964786-7133-42e1-aa4f-c4fd405bc4f7")
	if err != nil || same != id {
		t.Errorf("UUID text: got %s, %v, want %s", same, err, id)
	}
	for name, text := range map[string]string{
		"empty":               "",
		"short":               base64[1:],
		"long":                base64 + "A",
		"padded":              base64 + "==",
		"other alphabet":      "+/ZHhnEzQuGqT8T9QFvE9w",
		"line breaks":         "UpZHhnEzQuGqT8T9QFvE\n\n",
		"unused bits set":     "UpZHhnEzQuGqT8T9QFvE9x",
		"36 that are no UUID": strings.Repeat("x", 36),
	} {
		if _, err := api.ParseUUID(text); !errors.Is(err, api.ErrInvalidArgument) {
			t.Errorf("%s: got %v, want an invalid argument", name, err)
		}
	}
}

// Kafka's Uuid compares two signed numbers: what looks greatest comes first.
func TestUUIDCompareIsKafkas(t *testing.T) {
	want := []api.UUID{
		api.UUIDFromBits(1<<63, 0), api.UUIDFromBits(0, 1<<63), api.UUIDFromBits(0, 0), api.UUIDFromBits(0, 1),
		api.UUIDFromBits(1, 0), api.UUIDFromBits(1<<63-1, 1<<63-1),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, api.UUID.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLeaderEpochsAreSortedCopies(t *testing.T) {
	entries := []api.EpochOffset{{LeaderEpoch: 3, Offset: 30}, {LeaderEpoch: 1, Offset: 10}, {LeaderEpoch: 3, Offset: 31}}
	epochs := api.NewLeaderEpochs(entries...)
	entries[0].Offset = 99
	if got := epochs.String(); got != "{1=10, 3=31}" {
		t.Errorf("got %s", got)
	}
	if _, ok := epochs.Find(2); ok {
		t.Error("found an epoch that isn't there")
	}
	if i, ok := epochs.Find(3); !ok || epochs.At(i).Offset != 31 {
		t.Errorf("epoch 3: got %d, %t", i, ok)
	}
}

func TestCustomMetadataAbsentIsNotEmpty(t *testing.T) {
	var absent api.CustomMetadata
	empty := api.NewCustomMetadata(nil)
	if absent == empty || absent.Present() || !empty.Present() {
		t.Error("absent and empty are the same")
	}
	if absent.Bytes() != nil || empty.Bytes() == nil {
		t.Error("absent must be nil, empty must not")
	}
	b := []byte{1}
	custom := api.NewCustomMetadata(b)
	b[0] = 2
	custom.Bytes()[0] = 3
	if got := custom.Bytes()[0]; got != 1 {
		t.Errorf("changed to %d", got)
	}
}

func TestEpochRange(t *testing.T) {
	m := api.RemoteLogSegmentMetadata{
		StartOffset: 10, EndOffset: 99,
		LeaderEpochs: api.NewLeaderEpochs(
			api.EpochOffset{LeaderEpoch: 1, Offset: 5}, api.EpochOffset{LeaderEpoch: 3, Offset: 50},
			api.EpochOffset{LeaderEpoch: 4, Offset: 50}, api.EpochOffset{LeaderEpoch: 6, Offset: 120}),
	}
	for _, c := range []struct {
		epoch       int32
		first, last int64
		ok          bool
	}{
		{0, 0, 0, false},
		{1, 10, 49, true}, // begins before the segment
		{2, 0, 0, false},
		{3, 50, 49, true}, // wrote nothing
		{4, 50, 99, true},
		{6, 120, 99, true}, // begins behind the segment
	} {
		first, last, ok := m.EpochRange(c.epoch)
		if first != c.first || last != c.last || ok != c.ok {
			t.Errorf("epoch %d: got %d to %d, %t, want %d to %d, %t", c.epoch, first, last, ok, c.first, c.last, c.ok)
		}
	}
}

func TestErrorsMatchTheirSentinels(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		err  error
		want []error
	}{
		{&api.NotReadyError{Assigned: true, Err: cause}, []error{api.ErrNotReady, cause}},
		{&api.NotReadyError{}, []error{api.ErrNotReady, api.ErrNotAssigned}},
		{&api.SegmentNotFoundError{}, []error{api.ErrSegmentNotFound}},
		{&api.InvalidAddError{}, []error{api.ErrInvalidAdd}},
		{&api.InvalidSegmentTransitionError{}, []error{api.ErrInvalidSegmentTransition}},
		{&api.InvalidPartitionDeleteTransitionError{}, []error{api.ErrInvalidPartitionDeleteTransition}},
		{&api.InvalidArgumentError{}, []error{api.ErrInvalidArgument}},
		{&api.TimeoutError{Err: cause}, []error{api.ErrTimeout, cause}},
		{&api.OutcomeUnknownError{}, []error{api.ErrOutcomeUnknown}},
		{&api.UnacknowledgedError{Op: "publish", Err: cause}, []error{api.ErrUnacknowledged, cause}},
		{&api.IOError{Op: "read", Err: cause}, []error{api.ErrIO, cause}},
	} {
		for _, want := range c.want {
			if !errors.Is(c.err, want) {
				t.Errorf("%T is not %v", c.err, want)
			}
		}
	}
	if errors.Is(&api.NotReadyError{Assigned: true}, api.ErrNotAssigned) {
		t.Error("an assigned partition is not assigned")
	}
}

// Epochs are the same however they were given, and each can be found and read.
func TestLeaderEpochsHoldWhatTheyWereGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) api.EpochOffset {
			return api.EpochOffset{LeaderEpoch: rapid.Int32Range(0, 6).Draw(t, "epoch"), Offset: rapid.Int64Range(0, 3).Draw(t, "offset")}
		}), 0, 6).Draw(t, "entries")
		want := map[int32]int64{}
		for _, e := range entries {
			want[e.LeaderEpoch] = e.Offset
		}
		given := slices.Clone(entries)
		epochs := api.NewLeaderEpochs(entries...)
		if !slices.Equal(given, entries) {
			t.Fatalf("the arguments became %v", entries)
		}
		if got := maps.Collect(epochs.All()); !maps.Equal(got, want) || epochs.Len() != len(want) {
			t.Fatalf("got %v, want %v", epochs, want)
		}
		sorted := slices.Sorted(maps.Keys(want))
		for epoch := range int32(8) {
			at, found := epochs.Find(epoch)
			wantAt, wantFound := slices.BinarySearch(sorted, epoch)
			if at != wantAt || found != wantFound || found && epochs.At(at) != (api.EpochOffset{LeaderEpoch: epoch, Offset: want[epoch]}) {
				t.Fatalf("epoch %d of %v: %d, %t", epoch, epochs, at, found)
			}
		}
		var again []api.EpochOffset
		for epoch, offset := range epochs.All() {
			again = append(again, api.EpochOffset{LeaderEpoch: epoch, Offset: offset})
		}
		if same := api.NewLeaderEpochs(again...); !same.Equal(epochs) || len(again) > 0 && same.Equal(api.NewLeaderEpochs(again[1:]...)) {
			t.Fatalf("%v is not told from its rest or not equal to itself", epochs)
		}
	})
}

func TestLeaderEpochsOutOfRangePanic(t *testing.T) {
	one := api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: 3, Offset: 5})
	for _, c := range []struct {
		epochs api.LeaderEpochs
		at     int
	}{{api.LeaderEpochs{}, 0}, {one, 1}, {one, -1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v at %d: no panic", c.epochs, c.at)
				}
			}()
			c.epochs.At(c.at)
		}()
	}
}
