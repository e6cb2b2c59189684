package views_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/views"
)

// controls are the requests of a Controller, by name.
var controls = map[string]func(*views.Manager, context.Context, int32) error{
	"pause": (*views.Manager).Pause, "resume": (*views.Manager).Resume,
	"restart": (*views.Manager).Restart, "rebuild": (*views.Manager).Rebuild,
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// While a partition is paused nothing is applied, reads go on, it grows stale, and
// mutations are refused without a record; its neighbour goes on. Resumed it catches up.
func TestPaused(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	c.RunProcessor()
	tip, neighbour := c.PartitionOn(0, 0), c.PartitionOn(1, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	m := c.ReadyManager()
	for range 2 { // the second time there is nothing to do
		must(t, m.Pause(c.Context(), 0))
	}
	c.PublishEvents(finished(rlmmtest.Segment(tip, 2, 10, 19))...)
	c.PublishEvents(finished(rlmmtest.Segment(neighbour, 3, 0, 9))...)
	c.WaitFor("the neighbour goes on", func() bool {
		_, found, err := m.RemoteLogSegmentMetadata(c.Context(), neighbour, 0, 5)
		return err == nil && found
	})
	c.WaitFor("it grows stale", func() bool { return statusOf(m).Staleness > 0 })
	wantEveryRead(t, m, tip, nil)
	wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))
	wantSegment(t, m, tip, 0, 15, api.UUID{})
	if s := m.Status(); s.State != api.StatePaused || s.Partitions[0].State != api.StatePaused || s.Partitions[0].Applied != 1 || s.Partitions[0].Lag != 2 || s.Partitions[1].State != api.StateRunning {
		t.Errorf("paused: %+v", s)
	}
	if caughtUp, err := m.CaughtUp(c.Context(), tip); caughtUp || err != nil {
		t.Errorf("caught up: %t, %v", caughtUp, err)
	}
	before := end(c)
	for name, event := range map[string]api.RemoteLogMetadata{
		"add": rlmmtest.Segment(tip, 4, 20, 29), "what would be refused": rlmmtest.Segment(tip, 1, 0, 9),
		"update": rlmmtest.Update(rlmmtest.Segment(tip, 1, 0, 9), api.DeleteSegmentStarted),
	} {
		at, err := mutation(c, m, event)
		if paused := (*api.PausedError)(nil); !errors.As(err, &paused) || paused.MetadataPartition != 0 || at != api.NotPublished {
			t.Errorf("%s: %v, %v", name, at, err)
		}
	}
	if end(c) != before {
		t.Errorf("%d records were published", end(c)-before)
	}
	for range 2 {
		must(t, m.Resume(c.Context(), 0))
	}
	c.WaitFor("it has caught up", func() bool { return statusOf(m).Applied == 3 && statusOf(m).State == api.StateRunning })
	wantSegment(t, m, tip, 0, 15, rlmmtest.ID(2))
	if at, err := mutation(c, m, rlmmtest.Segment(tip, 4, 20, 29)); err != nil || at.Offset != 4 {
		t.Errorf("resumed: %v, %v", at, err)
	}
}

// A mutation that waits for its outcome ends with the pause, and says where its event is.
func TestPausedWhileAPublishedMutationWaits(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	m := c.ReadyManager(patient)
	done := begin(c, m, rlmmtest.Segment(c.PartitionOn(0, 0), 1, 0, 9))
	c.WaitFor("it is published", func() bool { return end(c) == 1 })
	must(t, m.Pause(c.Context(), 0))
	got := <-done
	if !errors.Is(got.err, api.ErrPaused) {
		t.Errorf("%v, %v; want it ended by the pause", got.at, got.err)
	}
	if at := (api.Position{}); !errors.Is(got.err, api.ErrUnacknowledged) && (!errors.Is(got.err, api.ErrTimeout) || got.at != at) {
		t.Errorf("%v, %v; want a timeout that says where it is", got.at, got.err)
	}
}

// So does one that catches up before it is refused, which then isn't published.
func TestPausedWhileAMutationCatchesUp(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	m := c.ReadyManager(patient)
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(rlmmtest.Segment(tip, 1, 0, 9)) // which nobody applies
	done := begin(c, m, rlmmtest.Update(rlmmtest.Segment(tip, 1, 0, 9), api.CopySegmentFinished))
	select {
	case got := <-done:
		t.Fatalf("%v, %v, without having caught up", got.at, got.err)
	case <-time.After(50 * time.Millisecond): // it waits by now, or finds the pause: the same error
	}
	must(t, m.Pause(c.Context(), 0))
	if got := <-done; !errors.Is(got.err, api.ErrPaused) || errors.Is(got.err, api.ErrTimeout) || got.at != api.NotPublished || end(c) != 1 {
		t.Errorf("%v, %v, end %d", got.at, got.err, end(c))
	}
}

// A partition that isn't ready when it is paused stays so, and says why.
func TestPausedBeforeItIsReady(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(rlmmtest.Segment(tip, 1, 0, 9))
	m := c.NewManager()
	must(t, m.ReconcileAssignment(c.Context(), c.All()))
	must(t, m.Pause(c.Context(), 0))
	c.RunProcessor()
	c.WaitApplied()
	wantEveryRead(t, m, tip, api.ErrNotReady)
	wantEveryRead(t, m, tip, api.ErrPaused)
	must(t, m.Resume(c.Context(), 0))
	must(t, m.WaitReady(c.Context()))
	if statusOf(m).Applied != 0 {
		t.Errorf("resumed: %+v", statusOf(m))
	}
}

// The pause goes with the partition: kept while it is assigned, gone afterwards.
func TestPauseAndAssignment(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	c.RunProcessor()
	m := c.ReadyManager()
	must(t, m.Pause(c.Context(), 0))
	must(t, m.ReconcileAssignment(c.Context(), []int32{0}))
	if s := statusOf(m); s.State != api.StatePaused {
		t.Errorf("kept: %+v", s)
	}
	reconcile(t, c, m, 1)
	reconcile(t, c, m, 0, 1)
	if s := statusOf(m); s.State != api.StateRunning {
		t.Errorf("assigned again: %+v", s)
	}
}

// Restarted, a partition answers all along, from what is stored.
func TestRestart(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	m := c.ReadyManager()
	for n := range 3 {
		must(t, m.Restart(c.Context(), 0))
		wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))
		if got := m.CommittedOffset(0); got < 1 {
			t.Errorf("committed %d", got)
		}
		if at, err := mutation(c, m, rlmmtest.Segment(tip, 2+n, 0, 9)); err != nil {
			t.Errorf("%v, %v", at, err)
		}
	}
}

// A restart forgets what had failed, and finds it again while the reason is there.
func TestRestartAfterAFailure(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	var cut atomic.Bool
	c.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return nil, errors.New("cut"), cut.Load()
	})
	p := c.RunProcessor()
	m := c.ReadyManager()
	must(t, p.Stop())
	c.RecreateTopic(rlmmtest.MetadataTopic)
	c.WaitFor("it has failed", func() bool { return statusOf(m).State == api.StateFailed })
	cut.Store(true)
	must(t, m.Restart(c.Context(), 0))
	c.WaitFor("it tries again", func() bool { return statusOf(m).State == api.StateRecovering })
	cut.Store(false)
	c.WaitFor("it has failed again", func() bool { return statusOf(m).State == api.StateFailed })
	if m.Ready() == nil {
		t.Error("ready, on another topic")
	}
}

// asides are the folders that were moved aside.
func asides(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "views", "*.aside-requested-*"))
	must(t, err)
	return found
}

// Rebuilt, a partition is not ready until it has read everything again, and answers as
// before then. The old store is kept aside.
func TestRebuild(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	dir := t.TempDir()
	m := c.ReadyManager(func(cfg *views.Config) { cfg.DataDir = dir })
	wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))
	release := c.HoldFetch(rlmmtest.Table)
	must(t, m.Rebuild(c.Context(), 0))
	wantEveryRead(t, m, tip, api.ErrNotReady)
	if s := statusOf(m); s.State != api.StateRecovering || s.Applied != -1 {
		t.Errorf("while it is rebuilt: %+v", s)
	}
	release()
	must(t, m.WaitReady(c.Context()))
	wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))
	if got := asides(t, dir); len(got) != 1 || m.CommittedOffset(0) != 1 {
		t.Errorf("aside %v, committed %d", got, m.CommittedOffset(0))
	}
	if at, err := mutation(c, m, rlmmtest.Segment(tip, 2, 0, 9)); err != nil || at.Offset != 2 {
		t.Errorf("rebuilt: %v, %v", at, err)
	}
}

// A store that can't be moved is told of, and used on.
func TestRebuildFails(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	dir := t.TempDir()
	m := c.ReadyManager(func(cfg *views.Config) { cfg.DataDir = dir })
	stores, elsewhere := filepath.Join(dir, "views"), filepath.Join(dir, "elsewhere")
	must(t, os.Rename(stores, elsewhere)) // so that nothing in it is found, root or not
	if err := m.Rebuild(c.Context(), 0); !errors.Is(err, api.ErrIO) {
		t.Errorf("got %v", err)
	}
	_ = os.RemoveAll(stores) // what the next try may have made already
	must(t, m.WaitReady(c.Context()))
	wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))
}

func TestControlIsRefused(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	c.RunProcessor()
	m := c.NewManager()
	reconcile(t, c, m, 0)
	want := func(when string, number int32, want error, names ...string) {
		t.Helper()
		for _, name := range names {
			if err := controls[name](m, c.Context(), number); !errors.Is(err, want) {
				t.Errorf("%s: %s: %v, want %v", when, name, err, want)
			}
		}
	}
	all := []string{"pause", "resume", "restart", "rebuild"}
	for _, number := range []int32{-1, 1, 2} {
		want("not assigned", number, api.ErrNotAssigned, all...)
	}
	must(t, m.Pause(c.Context(), 0))
	want("paused", 0, api.ErrPaused, "restart", "rebuild")
	ended, cancel := context.WithCancel(c.Context())
	cancel()
	for name, control := range controls {
		if err := control(m, ended, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a context that has ended: %v", name, err)
		}
	}
	if s := statusOf(m); s.State != api.StatePaused {
		t.Errorf("after refusals: %+v", s)
	}
	must(t, m.ShutdownAndFlush(c.Context()))
	want("shut down", 0, api.ErrClosed, all...)
	wantEveryRead(t, m, c.PartitionOn(0, 0), nil)
	must(t, m.Close())
}

// Requests from all sides, assignments and a shutdown among them, end, each in an error of
// the contract or none, and leave a partition that works.
func TestManyControlsAtOnce(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	m := c.ReadyManager()
	refusals := []error{api.ErrBusy, api.ErrPaused, api.ErrNotAssigned, api.ErrClosed}
	all := func(rounds int) {
		var asking sync.WaitGroup
		for name, control := range controls {
			asking.Go(func() {
				for range rounds {
					err := control(m, c.Context(), 0)
					if err != nil && !slices.ContainsFunc(refusals, func(known error) bool { return errors.Is(err, known) }) {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		}
		asking.Go(func() {
			for n := range rounds {
				if err := m.ReconcileAssignment(c.Context(), c.All()[n%2:]); err != nil && !errors.Is(err, api.ErrClosed) {
					t.Error(err)
				}
			}
		})
		asking.Wait()
	}
	all(10)
	reconcile(t, c, m)
	reconcile(t, c, m, 0)
	wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		all(10)
	}()
	must(t, m.Close())
	<-asked
}
