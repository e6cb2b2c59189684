package views_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/views"
)

// regrown is a cluster whose broker is restored from a backup: what was published after it
// is gone, and other events take its place.
type regrown struct {
	*rlmmtest.Cluster
	t      *testing.T
	tip    api.TopicIdPartition
	backup *rlmmtest.Backup
}

func newRegrown(t *testing.T) *regrown {
	t.Helper()
	c := rlmmtest.NewKeptCluster(t, 1)
	r := &regrown{Cluster: c, t: t, tip: c.PartitionOn(0, 0)}
	p := c.RunProcessor()
	r.add(1)
	c.WaitApplied()
	r.stop(p)
	r.backup = c.Backup()
	return r
}

func (r *regrown) add(numbers ...int) {
	r.t.Helper()
	for _, n := range numbers {
		r.PublishEvents(rlmmtest.Segment(r.tip, n, int64(n)*10, int64(n)*10+9))
	}
}

func (r *regrown) stop(p *rlmmtest.Processor) {
	r.t.Helper()
	if err := p.Stop(); err != nil {
		r.t.Fatal(err)
	}
}

// fold lets a processor with an empty folder apply what is there.
func (r *regrown) fold() {
	r.t.Helper()
	p := r.RunProcessor()
	r.WaitApplied()
	r.stop(p)
}

// want waits until the manager is ready and compares the segments that it tells.
func (r *regrown) want(m *views.Manager, numbers ...int64) {
	r.t.Helper()
	if err := m.WaitReady(r.Context()); err != nil {
		r.t.Fatal(err)
	}
	segments, err := m.ListRemoteLogSegments(r.Context(), r.tip)
	if err != nil {
		r.t.Fatal(err)
	}
	var got []int64
	for _, s := range segments {
		got = append(got, s.StartOffset/10)
	}
	if !slices.Equal(got, numbers) {
		r.t.Errorf("segments %v, want %v", got, numbers)
	}
}

// Both topics lost their ends and grew again while the server was down.
func TestStoreOfARegrownTableIsRebuilt(t *testing.T) {
	t.Parallel()
	r, dir := newRegrown(t), t.TempDir()
	in := func(cfg *views.Config) { cfg.DataDir = dir }
	r.add(2, 3)
	r.fold()
	m := r.ReadyManager(in)
	r.want(m, 1, 2, 3)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	r.backup.Restore()
	r.add(11, 12, 13, 14, 15)
	r.fold()
	m = r.ReadyManager(in)
	r.want(m, 1, 11, 12, 13, 14, 15)
	wantAside(t, dir, "table_regrown")
}

// The same while the server runs: it has nothing to read until the table has grown past
// what it has read.
func TestRegrownTableUnderAView(t *testing.T) {
	t.Parallel()
	r, dir := newRegrown(t), t.TempDir()
	r.add(2, 3)
	r.fold()
	m := r.ReadyManager(func(cfg *views.Config) { cfg.DataDir = dir })
	r.backup.Restore()
	r.add(11, 12, 13, 14, 15)
	r.fold()
	r.WaitFor("the store is rebuilt", func() bool { return len(asideOf(t, dir, "*")) > 0 && m.CommittedOffset(0) == 5 })
	r.want(m, 1, 11, 12, 13, 14, 15)
}

// A new owner writes on in the log that the view has read: nothing is rebuilt.
func TestNewOwnerOfTheSameTable(t *testing.T) {
	t.Parallel()
	r, dir := newRegrown(t), t.TempDir()
	in := func(cfg *views.Config) { cfg.DataDir = dir }
	m := r.ReadyManager(in)
	for n := range 3 {
		r.add(2 + n)
		r.fold()
		r.WaitFor("it is applied", func() bool { return m.CommittedOffset(0) == int64(n)+1 })
	}
	r.want(m, 1, 2, 3, 4)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	r.Backup()
	r.want(r.ReadyManager(in), 1, 2, 3, 4)
	wantAside(t, dir)
}

// Only the metadata topic lost its end and grew again. The table tells of events that are
// nowhere, and nothing may be answered from it, whether the server runs or is started.
func TestRegrownMetadataTopicIsNotServed(t *testing.T) {
	t.Parallel()
	r, dir := newRegrown(t), t.TempDir()
	in := func(cfg *views.Config) { cfg.DataDir = dir }
	r.add(2, 3)
	r.fold()
	m := r.ReadyManager(in)
	r.backup.Restore(rlmmtest.MetadataTopic)
	r.add(11, 12, 13)
	wantRegrown(t, r, m)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{dir, t.TempDir()} {
		m := r.NewManager(func(cfg *views.Config) { cfg.DataDir = folder })
		if err := m.ReconcileAssignment(r.Context(), r.All()); err != nil {
			t.Fatal(err)
		}
		wantRegrown(t, r, m)
	}
}

// A question that must be exact doesn't wait for the next look at the topics.
func TestRegrownMetadataTopicIsNotCaughtUp(t *testing.T) {
	t.Parallel()
	r := newRegrown(t)
	r.add(2, 3)
	r.fold()
	m := r.ReadyManager()
	r.backup.Restore(rlmmtest.MetadataTopic)
	r.add(11, 12)
	var err error
	r.WaitFor("the broker is there again", func() bool {
		var done bool
		if done, err = m.CaughtUp(r.Context(), r.tip); done {
			t.Fatal("caught up")
		}
		return errors.Is(err, api.ErrNotReady)
	})
	wantRegrown(t, r, m)
}

func wantRegrown(t *testing.T, r *regrown, m *views.Manager) {
	t.Helper()
	var regrown *kafka.RegrownError
	r.WaitFor("it isn't ready, and says why", func() bool { return errors.As(m.Ready(), &regrown) })
	if regrown.Offset != 2 {
		t.Errorf("%v", regrown)
	}
	wantEveryRead(t, m, r.tip, api.ErrNotReady)
}

// wantAside compares why stores were moved aside.
func wantAside(t *testing.T, dir string, reasons ...string) {
	t.Helper()
	got := asideOf(t, dir, "*")
	if len(got) != len(reasons) {
		t.Errorf("moved aside: %v, want %v", got, reasons)
	}
	for _, reason := range reasons {
		if len(asideOf(t, dir, reason)) != 1 {
			t.Errorf("moved aside: %v, want %v", got, reasons)
		}
	}
}

func asideOf(t *testing.T, dir, reason string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "views", "*.aside-"+reason+"-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
