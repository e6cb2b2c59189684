package views_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/views"
)

// reconcile assigns the partitions and waits until they are ready.
func reconcile(t *testing.T, c *rlmmtest.Cluster, m *views.Manager, partitions ...int32) {
	t.Helper()
	if err := m.ReconcileAssignment(c.Context(), partitions); err != nil {
		t.Fatal(err)
	}
	if err := m.WaitReady(c.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestReconcileAssignment(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 4)
	c.RunProcessor()
	m := c.NewManager()
	for _, tt := range []struct {
		name    string
		desired []int32
		want    []int32
		err     error
	}{
		{"nothing", nil, nil, nil},
		{"some, twice, in any order", []int32{3, 1, 3, 1}, []int32{1, 3}, nil},
		{"others", []int32{0, 1}, []int32{0, 1}, nil},
		{"the same", []int32{1, 0}, []int32{0, 1}, nil},
		{"one that is negative", []int32{2, -1}, []int32{0, 1}, api.ErrInvalidArgument},
		{"one beyond the last", []int32{2, 4}, []int32{0, 1}, api.ErrInvalidArgument},
		{"all", []int32{0, 1, 2, 3}, []int32{0, 1, 2, 3}, nil},
		{"none again", []int32{}, nil, nil},
	} {
		if err := m.ReconcileAssignment(c.Context(), tt.desired); !errors.Is(err, tt.err) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := m.AssignedMetadataPartitions(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: assigned %v, want %v", tt.name, got, tt.want)
		}
		if err := m.WaitReady(c.Context()); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if m.MetadataPartitions() != 4 || m.ClusterID() != "rlmm-embedded" {
		t.Errorf("%d partitions of %q", m.MetadataPartitions(), m.ClusterID())
	}
}

// What is on disk is gone on from, and what isn't assigned is told from it.
func TestCommittedOffset(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	dir := t.TempDir()
	m := c.NewManager(func(cfg *views.Config) { cfg.DataDir = dir })
	want := func(step string, partition int32, want int64) {
		t.Helper()
		if got := m.CommittedOffset(partition); got != want {
			t.Errorf("%s: committed %d of %d, want %d", step, got, partition, want)
		}
	}
	for _, p := range []int32{-1, 0, 1, 2} {
		want("before", p, -1)
	}
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	reconcile(t, c, m, 0, 1)
	want("assigned", 0, 1)
	want("assigned", 1, -1)
	wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1)) // there is an index now
	reconcile(t, c, m, 1)
	want("unassigned", 0, 1)
	wantEveryRead(t, m, tip, api.ErrNotAssigned)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 2, 10, 19))...)
	c.WaitApplied()
	want("unassigned, while it goes on", 0, 1)
	reconcile(t, c, m, 0, 1)
	want("assigned again", 0, 3)
	wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))
	wantSegment(t, m, tip, 0, 15, rlmmtest.ID(2))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	want("closed", 0, 3)
	m = c.NewManager(func(cfg *views.Config) { cfg.DataDir = dir })
	want("of another process", 0, 3)
}

// While one call closes a store another asks how far it is.
func TestCommittedOffsetWhileUnassigning(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	c.PublishEvents(finished(rlmmtest.Segment(c.PartitionOn(0, 0), 1, 0, 9))...)
	m := c.ReadyManager()
	for range 10 {
		done := make(chan error, 1)
		go func() { done <- m.ReconcileAssignment(c.Context(), nil) }()
		for unassigned := false; !unassigned; {
			unassigned = len(m.AssignedMetadataPartitions()) == 0
			if got := m.CommittedOffset(0); got != 1 {
				t.Fatalf("committed %d", got)
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		reconcile(t, c, m, 0)
	}
}

// Calls run one after the other; the last one's assignment stands, and works.
func TestConcurrentReconciles(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 4)
	c.RunProcessor()
	for p := range c.Partitions {
		c.PublishEvents(finished(rlmmtest.Segment(c.PartitionOn(p, 0), 1, 0, 9))...)
	}
	m := c.NewManager()
	var wg sync.WaitGroup
	for n := range int32(8) {
		wg.Go(func() {
			for i := range int32(5) {
				if err := m.ReconcileAssignment(c.Context(), []int32{n % 4, (n + i) % 4}); err != nil {
					t.Error(err)
				}
				tip := c.PartitionOn(n%4, 0)
				if s, ok, err := m.RemoteLogSegmentMetadata(t.Context(), tip, 0, 5); err == nil && (!ok || s.ID.ID != rlmmtest.ID(1)) {
					t.Errorf("an answer that isn't true: %v, %t", s, ok)
				} else if err != nil && !errors.Is(err, api.ErrNotReady) {
					t.Error(err)
				}
				if _, err := m.UserPartitions(t.Context()); err != nil && !errors.Is(err, api.ErrNotReady) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	reconcile(t, c, m, c.All()...)
	for p := range c.Partitions {
		wantSegment(t, m, c.PartitionOn(p, 0), 0, 5, rlmmtest.ID(1))
	}
}

// WaitReady doesn't wait for what is unassigned meanwhile, or shut down.
func TestWaitReadyGivesUp(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	c.PublishEvents(rlmmtest.Segment(c.PartitionOn(0, 0), 1, 0, 9)) // nobody applies it
	for name, end := range map[string]func(*views.Manager) error{
		"unassigned": func(m *views.Manager) error { return m.ReconcileAssignment(c.Context(), nil) },
		"shut down":  func(m *views.Manager) error { return m.ShutdownAndFlush(c.Context()) },
	} {
		m := c.NewManager()
		if err := m.ReconcileAssignment(c.Context(), c.All()); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- m.WaitReady(c.Context()) }()
		if err := end(m); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil && !errors.Is(err, api.ErrNotReady) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func openFiles(t *testing.T) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, l := range links {
		if name, err := os.Readlink(l); err == nil {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return files
}

// fetchedPartitions are the table's partitions that the next n fetches ask for.
func fetchedPartitions(c *rlmmtest.Cluster, n int) []int32 {
	var mu sync.Mutex
	asked, fetches := map[int32]bool{}, 0
	c.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		for _, topic := range req.(*kmsg.FetchRequest).Topics {
			for _, p := range topic.Partitions {
				if topic.Topic == rlmmtest.Table {
					asked[p.Partition] = true
					fetches++
				}
			}
		}
		return nil, nil, false
	})
	c.WaitFor("the table is read", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return fetches >= n
	})
	mu.Lock()
	defer mu.Unlock()
	return slices.Sorted(maps.Keys(asked))
}

// Two hundred changes leave no goroutines, open files or connections, and nothing that
// reads what isn't assigned any more. It runs alone: it counts the process's.
func TestManyAssignmentChanges(t *testing.T) {
	c := rlmmtest.NewCluster(t, 8)
	c.RunProcessor()
	var events []api.RemoteLogMetadata
	for p := range c.Partitions {
		events = append(events, finished(rlmmtest.Segment(c.PartitionOn(p, 0), 1, 0, 9))...)
	}
	c.PublishEvents(events...)
	c.WaitApplied()
	m := c.NewManager()
	reconcile(t, c, m, 0, 1)
	goroutines, files := 0, []string(nil)
	for n := range int32(200) {
		if n == 20 {
			reconcile(t, c, m, 0, 1)
			goroutines, files = runtime.NumGoroutine(), openFiles(t)
		}
		if err := m.ReconcileAssignment(c.Context(), []int32{n % 8, n / 2 % 8}); err != nil {
			t.Fatal(err)
		}
	}
	reconcile(t, c, m, 0, 1)
	wantSegment(t, m, c.PartitionOn(0, 0), 0, 5, rlmmtest.ID(1))
	wantSegment(t, m, c.PartitionOn(1, 0), 0, 5, rlmmtest.ID(1))
	if got := fetchedPartitions(c, 20); !slices.Equal(got, []int32{0, 1}) {
		t.Errorf("partitions %v of the table are read, want 0 and 1 only", got)
	}
	// LevelDB's goroutines end a second after it is closed.
	c.WaitFor("goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines+10 })
	if now := openFiles(t); len(now) > len(files)+4 {
		t.Errorf("open files: %s", cmp.Diff(files, now))
	}
}
