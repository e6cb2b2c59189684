package views_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/recording"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/processor"
	"github.com/tieredlog/rlmm/views"
)

func ids(t *testing.T, m *views.Manager, tip api.TopicIdPartition) []api.UUID {
	t.Helper()
	listed, err := m.ListRemoteLogSegments(t.Context(), tip)
	if err != nil {
		t.Fatal(err)
	}
	ids := []api.UUID{}
	for _, s := range listed {
		ids = append(ids, s.ID.ID)
	}
	return ids
}

func wantIDs(t *testing.T, m *views.Manager, tip api.TopicIdPartition, want ...api.UUID) {
	t.Helper()
	if diff := cmp.Diff(append([]api.UUID{}, want...), ids(t, m, tip)); diff != "" {
		t.Errorf("list: %s", diff)
	}
}

func wantHighest(t *testing.T, m *views.Manager, tip api.TopicIdPartition, epoch int32, want int64) {
	t.Helper()
	got, ok, err := m.HighestOffsetForEpoch(t.Context(), tip, epoch)
	if !ok {
		got = -1
	}
	if err != nil || got != want {
		t.Errorf("highest(%d) = %d, %v; want %d", epoch, got, err, want)
	}
}

func wantSize(t *testing.T, m *views.Manager, tip api.TopicIdPartition, epoch int32, want int64) {
	t.Helper()
	if got, err := m.RemoteLogSize(t.Context(), tip, epoch); got != want || err != nil {
		t.Errorf("size(%d) = %d, %v; want %d", epoch, got, err, want)
	}
}

// C05: the topic's head is gone, and with it the events that added some segments.
func TestHeadOfTheTopicGone(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	tip := c.PartitionOn(0, 0)
	x, z := rlmmtest.Segment(tip, 1, 0, 9), rlmmtest.Segment(tip, 2, 10, 19)
	y := rlmmtest.Segment(tip, 3, 500, 599, api.EpochOffset{LeaderEpoch: 7, Offset: 500})
	c.PublishEvents(x, z, rlmmtest.Update(x, api.CopySegmentFinished), rlmmtest.Update(z, api.CopySegmentFinished))
	if err := c.DeleteRecords(rlmmtest.MetadataTopic, 0, 4); err != nil {
		t.Fatal(err)
	}
	c.PublishEvents(
		rlmmtest.Update(x, api.DeleteSegmentStarted), rlmmtest.Update(x, api.DeleteSegmentFinished),
		rlmmtest.Update(z, api.DeleteSegmentStarted), y, rlmmtest.Update(y, api.CopySegmentFinished))
	c.RunProcessor()
	m := c.ReadyManager()
	wantIDs(t, m, tip, y.ID.ID)
	wantSegment(t, m, tip, 7, 550, y.ID.ID)
	want := []string{"SegmentNotFound", "SegmentNotFound", "SegmentNotFound", "applied", "applied"}
	if diff := cmp.Diff(want, c.Outcomes(0)); diff != "" {
		t.Error(diff)
	}
	if rows := c.Rows(); len(rows) != 2 {
		t.Errorf("%d rows; want Y, and Z without a head", len(rows))
	}
	if users, err := m.UserPartitions(t.Context()); err != nil || len(users) != 1 || users[0].Segments != 1 {
		t.Errorf("user partitions %+v, %v", users, err)
	}
}

// C06: ten records that can't be read or applied are passed by, and what comes with and
// after them works.
func TestPoison(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	a := rlmmtest.Segment(tip, 1, 0, 9)
	good := c.Records(finished(a)...)
	keyed := good[0]
	keyed.Key = []byte("K1")
	raw := func(value ...byte) recording.Event { return rlmmtest.Raw(0, append([]byte{}, value...)) }
	c.Publish(
		rlmmtest.Raw(0, nil), raw(), raw(0), raw(9), raw(1, 0, 0), raw(1, 42, 0), raw(1, 0, 255), raw(1, 3, 0),
		rlmmtest.Raw(0, c.Record(rlmmtest.Segment(c.PartitionOn(1, 0), 9, 0, 9)).Value),
		recording.Event{Key: []byte("K1")}, keyed, good[1])
	m := c.ReadyManager()
	wantSegment(t, m, tip, 0, 5, a.ID.ID)
	b := rlmmtest.Segment(tip, 2, 10, 19)
	if at, err := m.AddRemoteLogSegmentMetadata(c.Context(), b); err != nil || at.Offset != 12 {
		t.Errorf("the next mutation: %v, %v", at, err)
	}
	if s := p.Stats(); s.Sessions != 1 {
		t.Errorf("%d sessions", s.Sessions)
	}
}

// C11: a topic is deleted, and another of its name lives on.
func TestSameNameOtherTopicID(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	t1, t2 := c.PartitionOn(0, 0), c.PartitionOn(0, 1)
	a, b := rlmmtest.Segment(t1, 1, 0, 9), rlmmtest.Segment(t2, 2, 0, 9)
	left := rlmmtest.Segment(t1, 3, 10, 19)
	m := c.ReadyManager(boundsEpoch)
	mutate := func(events ...api.RemoteLogMetadata) {
		t.Helper()
		for _, e := range events {
			if _, err := mutation(c, m, e); err != nil {
				t.Error(err)
			}
		}
	}
	mutate(append(finished(a), finished(left)...)...)
	mutate(rlmmtest.Delete(t1, api.DeletePartitionMarked), rlmmtest.Delete(t1, api.DeletePartitionStarted))
	mutate(finished(b)...)
	wantIDs(t, m, t1, a.ID.ID, left.ID.ID)
	users, err := m.UserPartitions(t.Context())
	if err != nil || len(users) != 2 || users[0].TopicIdPartition.Topic != users[1].TopicIdPartition.Topic {
		t.Errorf("user partitions %+v, %v", users, err)
	}
	mutate(rlmmtest.Update(a, api.DeleteSegmentStarted), rlmmtest.Update(a, api.DeleteSegmentFinished))
	mutate(rlmmtest.Delete(t1, api.DeletePartitionFinished))

	wantIDs(t, m, t1)
	wantHighest(t, m, t1, 0, -1)
	wantSize(t, m, t1, 0, 0)
	wantSegment(t, m, t1, 0, 15, api.UUID{})
	wantIDs(t, m, t2, b.ID.ID)
	wantSegment(t, m, t2, 0, 5, b.ID.ID)
	c.PublishEvents(rlmmtest.Update(a, api.CopySegmentFinished)) // late
	c.WaitApplied()
	if outcomes := c.Outcomes(0); outcomes[len(outcomes)-1] != "SegmentNotFound" {
		t.Errorf("outcomes %v", outcomes)
	}
	if caught, err := m.CaughtUp(t.Context(), t1); err != nil || !caught {
		c.WaitFor("the late event", func() bool { caught, _ := m.CaughtUp(t.Context(), t1); return caught })
	}
	wantIDs(t, m, t1)
	users, err = m.UserPartitions(t.Context())
	if err != nil || len(users) != 1 || users[0].TopicIdPartition != t2 || users[0].Bytes != 100 {
		t.Errorf("user partitions %+v, %v", users, err)
	}
}

// C01, C15: the highest offset by the contract, and by Kafka's bounds; also after a
// restart from the local store and from the table.
func TestHighestOffsets(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	a := rlmmtest.Segment(tip, 1, 0, 99, api.EpochOffset{LeaderEpoch: 0}, api.EpochOffset{LeaderEpoch: 1, Offset: 50})
	gone := rlmmtest.Segment(tip, 2, 100, 199, api.EpochOffset{LeaderEpoch: 3, Offset: 100})
	c.PublishEvents(append(finished(a), finished(gone)...)...)
	c.PublishEvents(rlmmtest.Update(gone, api.DeleteSegmentStarted), rlmmtest.Update(gone, api.DeleteSegmentFinished))
	dirs := map[views.Bounds]string{views.BoundsSegment: t.TempDir(), views.BoundsEpoch: t.TempDir()}
	for range 2 { // the second time from the local store
		for bounds, dir := range dirs {
			m := c.ReadyManager(func(cfg *views.Config) { cfg.HighestOffsetBounds, cfg.DataDir = bounds, dir })
			want := map[views.Bounds][3]int64{views.BoundsSegment: {99, 99, -1}, views.BoundsEpoch: {49, 99, 199}}[bounds]
			wantHighest(t, m, tip, 0, want[0])
			wantHighest(t, m, tip, 1, want[1])
			wantHighest(t, m, tip, 2, -1)
			wantHighest(t, m, tip, 3, want[2])
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A partition without segments, known or not, has none: that is never an error.
func TestUnknownPartition(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	m := c.ReadyManager()
	wantEveryRead(t, m, tip, nil)
	wantIDs(t, m, tip)
	wantHighest(t, m, tip, 0, -1)
	wantSize(t, m, tip, 0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...) // it was asked for before
	c.WaitFor("its segment", func() bool { return len(ids(t, m, tip)) == 1 })
	c.WaitFor("its state", func() bool { s, _ := m.RemoteLogSize(t.Context(), tip, 0); return s == 100 })
}

// Small indexes are dropped and built again; the answers are the same.
func TestSmallIndexes(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor(func(cfg *processor.Config) { cfg.PurgeAfter = 1 << 62 })
	const n = 20
	var events []api.RemoteLogMetadata
	for i := range n {
		tip := c.PartitionOn(0, i)
		for s := range i + 1 {
			events = append(events, finished(rlmmtest.Segment(tip, s+1, int64(s)*10, int64(s)*10+9))...)
		}
	}
	c.PublishEvents(events...)
	m := c.ReadyManager(func(cfg *views.Config) { cfg.MaxIndexedSegments = 5 })
	for round := range 3 {
		for i := range n {
			tip := c.PartitionOn(0, i)
			wantSize(t, m, tip, 0, int64(i+1)*100)
			wantSegment(t, m, tip, 0, int64(i)*10+5, rlmmtest.ID(i+1))
			if round == 1 {
				at := int64(i+1) * 10
				if _, err := m.AddRemoteLogSegmentMetadata(c.Context(), rlmmtest.Segment(tip, i+2, at, at+9)); err != nil {
					t.Error(err)
				}
			}
		}
	}
	users, err := m.UserPartitions(t.Context())
	if err != nil || len(users) != n {
		t.Fatalf("%d user partitions, %v", len(users), err)
	}
	sum := 0
	for _, u := range users {
		sum += u.Segments
	}
	if want := n*(n+1)/2 + n; sum != want {
		t.Errorf("%d segments, want %d", sum, want)
	}
}

// What the table held is compacted: a manager without data answers the same, and so does
// one that comes from behind.
func TestCompactedTable(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.KeepTableHead()
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	dir := t.TempDir()
	inDir := func(cfg *views.Config) { cfg.DataDir = dir }
	var last api.RemoteLogSegmentMetadata
	publish := func(from, to int) {
		for i := from; i < to; i++ {
			last = rlmmtest.Segment(tip, i, int64(i)*10, int64(i)*10+9)
			c.PublishEvents(finished(last)...)
			if i%2 == 0 {
				c.PublishEvents(rlmmtest.Update(last, api.DeleteSegmentStarted), rlmmtest.Update(last, api.DeleteSegmentFinished))
			}
		}
	}
	publish(1, 10)
	m := c.ReadyManager(inDir)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	publish(10, 21)
	c.WaitApplied()
	c.Compact()
	for _, m := range []*views.Manager{c.ReadyManager(inDir), c.ReadyManager()} {
		if got := len(ids(t, m, tip)); got != 10 {
			t.Errorf("%d segments", got)
		}
		wantSegment(t, m, tip, 0, 195, rlmmtest.ID(19))
		wantSegment(t, m, tip, 0, 205, api.UUID{})
		if caught, err := m.CaughtUp(t.Context(), tip); !caught || err != nil {
			t.Errorf("caught up: %t, %v", caught, err)
		}
	}
}

// A view loses sight of the table while a deleted segment's marker is purged and the
// purge's tombstone compacted away, and then reads on where it was.
func TestTombstonesMissedByARunningView(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	if err := c.CreateTopic(rlmmtest.Table, 1, map[string]string{"cleanup.policy": "compact", "delete.retention.ms": "0"}); err != nil {
		t.Fatal(err)
	}
	c.KeepTableHead()
	c.RunProcessor(func(cfg *processor.Config) {
		cfg.MaintainEvery, cfg.PurgeAfter = 20*time.Millisecond, time.Millisecond
	})
	tip := c.PartitionOn(0, 0)
	gone := rlmmtest.Segment(tip, 1, 0, 9)
	c.PublishEvents(finished(gone)...)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 2, 10, 19))...)
	m := c.ReadyManager()
	wantIDs(t, m, tip, rlmmtest.ID(1), rlmmtest.ID(2))

	release := sync.OnceFunc(c.HoldFetch(rlmmtest.Table))
	defer release()
	c.PublishEvents(rlmmtest.Update(gone, api.DeleteSegmentStarted), rlmmtest.Update(gone, api.DeleteSegmentFinished))
	c.WaitFor("nothing of it is left, no tombstone either", func() bool {
		c.Compact()
		return !slices.ContainsFunc(c.Read(rlmmtest.Table, 0), func(r *kgo.Record) bool {
			return string(r.Key) == codec.SegmentKey(gone.ID)
		})
	})
	wantIDs(t, m, tip, rlmmtest.ID(1), rlmmtest.ID(2)) // as old as it is
	release()
	c.WaitFor("it sees the deletion", func() bool {
		got, err := m.ListRemoteLogSegments(t.Context(), tip)
		return err == nil && len(got) == 1 && got[0].ID.ID == rlmmtest.ID(2)
	})
}
