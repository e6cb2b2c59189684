package views_test

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/views"
)

var iteratedTip = api.TopicIdPartition{TopicID: api.UUIDFromBits(4, 2), Topic: "iterated", Partition: 1}

// iteratedSegment is the n-th of a log of 100 offsets a segment, the odd ones with two
// epochs and custom metadata.
func iteratedSegment(n uint64) api.RemoteLogSegmentMetadata {
	start := int64(n) * 100
	epochs := []api.EpochOffset{{LeaderEpoch: 1, Offset: start}}
	m := api.RemoteLogSegmentMetadata{
		ID:          api.RemoteLogSegmentID{TopicIdPartition: iteratedTip, ID: api.UUIDFromBits(9, n)},
		StartOffset: start, EndOffset: start + 99, MaxTimestampMs: -1, SegmentSizeInBytes: 10,
	}
	if n%2 == 1 {
		epochs = append(epochs, api.EpochOffset{LeaderEpoch: 2, Offset: start + 50})
		m.CustomMetadata = api.NewCustomMetadata([]byte{byte(n)})
	}
	m.LeaderEpochs = api.NewLeaderEpochs(epochs...)
	return m
}

// iteratedManager is a manager that holds the first n segments.
func iteratedManager(t *testing.T, n uint64) *views.Manager {
	t.Helper()
	c := rlmmtest.NewCluster(t, 2)
	c.RunProcessor()
	m := c.ReadyManager()
	for i := range n {
		add(t, m, i)
	}
	return m
}

func add(t *testing.T, m *views.Manager, n uint64) {
	t.Helper()
	if _, err := m.AddRemoteLogSegmentMetadata(t.Context(), iteratedSegment(n)); err != nil {
		t.Fatal(err)
	}
}

func collect(t *testing.T, segments iter.Seq2[api.RemoteLogSegmentMetadata, error]) []api.RemoteLogSegmentMetadata {
	t.Helper()
	all := []api.RemoteLogSegmentMetadata{}
	for s, err := range segments {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func sameSegments(t *testing.T, what string, got, want []api.RemoteLogSegmentMetadata) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(api.CustomMetadata{})); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func listed(t *testing.T, m *views.Manager) []api.RemoteLogSegmentMetadata {
	t.Helper()
	all, err := m.ListRemoteLogSegments(t.Context(), iteratedTip)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestIterate(t *testing.T) {
	m := iteratedManager(t, 6)
	ctx := t.Context()
	all := listed(t, m)
	t.Run("is the list", func(t *testing.T) {
		sameSegments(t, "all", collect(t, m.Segments(ctx, iteratedTip, nil)), all)
		ofEpoch, err := m.ListRemoteLogSegmentsByEpoch(ctx, iteratedTip, 2)
		if err != nil || len(ofEpoch) != 3 {
			t.Fatalf("got %d segments, %v, want 3", len(ofEpoch), err)
		}
		sameSegments(t, "epoch", collect(t, m.SegmentsByEpoch(ctx, iteratedTip, 2, nil)), ofEpoch)
		sameSegments(t, "rest of the epoch", collect(t, m.SegmentsByEpoch(ctx, iteratedTip, 2, all[2].Cursor())), ofEpoch[1:])
	})
	t.Run("begins after each", func(t *testing.T) {
		for i, s := range all {
			sameSegments(t, s.ID.String(), collect(t, m.Segments(ctx, iteratedTip, s.Cursor())), all[i+1:])
		}
	})
	t.Run("of nothing", func(t *testing.T) {
		unknown := api.TopicIdPartition{TopicID: api.UUIDFromBits(8, 8)}
		sameSegments(t, "unknown partition", collect(t, m.Segments(ctx, unknown, nil)), []api.RemoteLogSegmentMetadata{})
	})
	t.Run("can't be damaged", func(t *testing.T) { damage(t, m) })
	t.Run("shows one state", func(t *testing.T) { changeMeanwhile(t, m) })
}

// damage changes all that can be reached from what reads return.
func damage(t *testing.T, m *views.Manager) {
	t.Helper()
	want := slices.Clone(listed(t, m))
	for _, returned := range [][]api.RemoteLogSegmentMetadata{
		listed(t, m), collect(t, m.Segments(t.Context(), iteratedTip, nil)),
	} {
		for i := range returned {
			copy(returned[i].CustomMetadata.Bytes(), "damage")
			returned[i].Cursor().StartOffset = -7
		}
		clear(returned)
	}
	sameSegments(t, "list", listed(t, m), want)
	sameSegments(t, "iterator", collect(t, m.Segments(t.Context(), iteratedTip, nil)), want)
}

// changeMeanwhile adds a segment at the end while it iterates.
func changeMeanwhile(t *testing.T, m *views.Manager) {
	t.Helper()
	before := listed(t, m)
	segments := m.Segments(t.Context(), iteratedTip, nil)
	var got []api.RemoteLogSegmentMetadata
	for s, err := range segments {
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			add(t, m, 6)
		}
		got = append(got, s)
	}
	sameSegments(t, "the state at the beginning", got, before)
	sameSegments(t, "ranged over again", collect(t, segments), listed(t, m))
	if len(listed(t, m)) != len(before)+1 {
		t.Errorf("got %d segments, want one more than %d", len(listed(t, m)), len(before))
	}
}

func TestIterateIsGatedByReadiness(t *testing.T) {
	c := rlmmtest.NewCluster(t, 2)
	c.CreateTopics()
	m := c.NewManager()
	tests := map[string]struct {
		tip  api.TopicIdPartition
		want error
	}{
		"not assigned":  {iteratedTip, api.ErrNotAssigned},
		"bad partition": {api.TopicIdPartition{}, api.ErrInvalidArgument},
	}
	for name, test := range tests {
		steps := 0
		for s, err := range m.Segments(t.Context(), test.tip, nil) {
			if steps++; !errors.Is(err, test.want) || !s.Equal(api.RemoteLogSegmentMetadata{}) {
				t.Errorf("%s: got %v, %v, want %v", name, s, err, test.want)
			}
		}
		if steps != 1 {
			t.Errorf("%s: got %d steps, want 1", name, steps)
		}
	}
}

// An iterator that isn't read on keeps nobody waiting, and shows the state that it began
// with when it is.
func TestAnIteratorThatRestsHoldsNothingUp(t *testing.T) {
	t.Parallel()
	m := iteratedManager(t, 3)
	next, stop := iter.Pull2(m.Segments(t.Context(), iteratedTip, nil))
	defer stop()
	first, _, ok := next()
	for n := uint64(3); n < 50; n++ {
		add(t, m, n)
	}
	if got := collect(t, m.Segments(t.Context(), iteratedTip, nil)); len(got) != 50 {
		t.Errorf("others see %d segments", len(got))
	}
	rest := 0
	for _, err, more := next(); more; _, err, more = next() {
		if rest++; err != nil {
			t.Fatal(err)
		}
	}
	if !ok || first.ID.ID != iteratedSegment(0).ID.ID || rest != 2 {
		t.Errorf("it began with %v and went on with %d more, want the 3 of its start", first.ID, rest)
	}
}
