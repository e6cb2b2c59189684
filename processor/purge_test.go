package processor

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/processor/fold"
)

// Events happen at the hour of their offset; the limit lies behind that of offset 50.
const purgeLimit = 50

func eventTime(offset int64) int64 { return offset * time.Hour.Milliseconds() }

// history is a store made from events, with a short name for each segment.
type history struct {
	t      *testing.T
	store  *store.Store
	rows   map[string]*codec.Row
	offset int64
}

func newHistory(t *testing.T) *history {
	t.Helper()
	s, _, err := store.Open(t.TempDir()+"/0", store.Options{}, store.Expect{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &history{t: t, store: s, rows: map[string]*codec.Row{}}
}

func (h *history) id(name string) api.RemoteLogSegmentID {
	return api.RemoteLogSegmentID{TopicIdPartition: testTip, ID: api.UUIDFromBits(0, uint64(name[0]))}
}

func (h *history) apply(event api.RemoteLogMetadata) {
	h.t.Helper()
	key := codec.EventKey(event)
	row, outcome := fold.Fold(h.rows[key], event, h.offset)
	h.rows[key] = row
	c := store.Change{Key: key, Applied: h.offset}
	if row != nil {
		c.Value = codec.EncodeRow(*row)
	}
	h.store.Stage(c)
	if err := h.store.SetOffset(h.offset); err != nil || outcome == 0 {
		h.t.Fatal(err)
	}
	h.offset++
}

// life adds a segment of epoch 0 and moves it through the states; at is the offset of
// the last event.
func (h *history) life(name string, end, at int64, states ...api.RemoteLogSegmentState) {
	h.t.Helper()
	h.apply(api.RemoteLogSegmentMetadata{
		ID: h.id(name), EndOffset: end, EventTimestampMs: eventTime(h.offset),
		LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{}),
	})
	for i, state := range states {
		if i == len(states)-1 {
			h.offset = at
		}
		h.update(name, state)
	}
}

func (h *history) update(name string, state api.RemoteLogSegmentState) {
	h.t.Helper()
	h.apply(api.RemoteLogSegmentMetadataUpdate{ID: h.id(name), State: state, EventTimestampMs: eventTime(h.offset)})
}

func (h *history) deletion(states ...api.RemotePartitionDeleteState) {
	h.t.Helper()
	for _, state := range states {
		h.apply(api.RemotePartitionDeleteMetadata{TopicIdPartition: testTip, State: state, EventTimestampMs: eventTime(h.offset)})
	}
}

const (
	finished = api.CopySegmentFinished
	deleting = api.DeleteSegmentStarted
	deleted  = api.DeleteSegmentFinished
)

func TestFindPurgeable(t *testing.T) {
	for _, tt := range []struct {
		name  string
		build func(*history)
		want  string // the names of the segments whose markers may go
	}{
		{"nothing", func(*history) {}, ""},
		{"the only marker holds the highest", func(h *history) {
			h.life("a", 99, 10, finished, deleting, deleted)
		}, ""},
		{"of two the lower may go", func(h *history) {
			h.life("a", 99, 10, finished, deleting, deleted)
			h.life("b", 199, 20, finished, deleting, deleted)
		}, "a"},
		{"the higher key may go when the lower holds", func(h *history) {
			h.life("b", 99, 10, finished, deleting, deleted)
			h.life("a", 199, 20, finished, deleting, deleted)
		}, "b"},
		{"of two equal ones one stays", func(h *history) {
			h.life("a", 99, 10, finished, deleting, deleted)
			h.life("b", 99, 20, finished, deleting, deleted)
		}, "b"},
		{"never finished, holds nothing", func(h *history) {
			h.life("a", 99, 10, deleting, deleted)
		}, "a"},
		{"a live segment holds", func(h *history) {
			h.life("a", 99, 10, finished, deleting, deleted)
			h.life("b", 199, 20, finished)
		}, "a"},
		{"a segment under deletion holds", func(h *history) {
			h.life("a", 99, 10, finished, deleting, deleted)
			h.life("b", 199, 20, finished, deleting)
		}, "a"},
		{"a live segment that wasn't finished doesn't", func(h *history) {
			h.life("a", 99, 10, finished, deleting, deleted)
			h.life("b", 199, 20)
		}, ""},
		{"nor one that is deleted before it was", func(h *history) {
			h.life("a", 99, 10, finished, deleting, deleted)
			h.life("b", 199, 20, deleting)
		}, ""},
		{"an earlier life of a live segment holds", func(h *history) {
			h.life("b", 199, 10, finished, deleting, deleted)
			h.life("b", 50, 11)
			h.life("a", 99, 20, finished, deleting, deleted)
		}, "a"},
		{"young markers stay", func(h *history) {
			h.life("a", 99, purgeLimit, finished, deleting, deleted)
			h.life("b", 199, purgeLimit+1, finished, deleting, deleted)
		}, ""},
		{"an old one goes beside a young one", func(h *history) {
			h.life("a", 99, purgeLimit-1, finished, deleting, deleted)
			h.life("b", 199, purgeLimit, finished, deleting, deleted)
		}, "a"},
		{"a headless row stays", func(h *history) { h.update("a", deleting) }, ""},
		{"marked and started deletions release nothing", func(h *history) {
			h.life("a", 99, 10, finished, deleting, deleted)
			h.deletion(api.DeletePartitionMarked, api.DeletePartitionStarted)
		}, ""},
		{"a finished deletion releases the highest, and nothing else", func(h *history) {
			h.life("a", 99, 10, finished, deleting, deleted)
			h.life("b", 199, 20, finished)
			h.update("c", deleting)
			h.deletion(api.DeletePartitionMarked, api.DeletePartitionStarted, api.DeletePartitionFinished)
		}, "a"},
		{"young ones stay also then", func(h *history) {
			h.deletion(api.DeletePartitionMarked, api.DeletePartitionStarted, api.DeletePartitionFinished)
			h.life("a", 99, purgeLimit, finished, deleting, deleted)
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHistory(t)
			tt.build(h)
			if err := h.store.Flush(); err != nil {
				t.Fatal(err)
			}
			got, err := findPurgeable(t.Context(), h.store, time.UnixMilli(eventTime(purgeLimit)))
			if err != nil {
				t.Fatal(err)
			}
			want := purgeable{}
			for _, name := range tt.want {
				key := codec.SegmentKey(h.id(string(name)))
				want[key] = h.rows[key].Offset
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The partitions of one topic lie together in the store, and one's holder isn't the
// other's.
func TestFindPurgeableKeepsPartitionsApart(t *testing.T) {
	h := newHistory(t)
	var want []string
	for _, p := range []int32{1, 10, 2} {
		for n := range 2 {
			id := api.RemoteLogSegmentID{TopicIdPartition: testTip, ID: api.UUIDFromBits(0, uint64(n))}
			id.TopicIdPartition.Partition = p
			h.apply(api.RemoteLogSegmentMetadata{ID: id, EndOffset: 100 - int64(n), LeaderEpochs: testSegment.LeaderEpochs})
			for _, state := range []api.RemoteLogSegmentState{finished, deleting, deleted} {
				h.apply(api.RemoteLogSegmentMetadataUpdate{ID: id, State: state})
			}
			if n == 1 {
				want = append(want, codec.SegmentKey(id))
			}
		}
	}
	if err := h.store.Flush(); err != nil {
		t.Fatal(err)
	}
	got, err := findPurgeable(t.Context(), h.store, time.UnixMilli(1))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Error(diff)
	}
}

func TestFindPurgeableReportsARowItCannotRead(t *testing.T) {
	h := newHistory(t)
	h.store.Stage(store.Change{Key: codec.SegmentKey(testSegment.ID), Value: []byte{99}, Applied: 0})
	if err := h.store.SetOffset(0); err != nil {
		t.Fatal(err)
	}
	if err := h.store.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, err := findPurgeable(t.Context(), h.store, time.Now()); err == nil {
		t.Errorf("found %v", got)
	}
}
