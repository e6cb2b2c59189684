//go:build integration

package integration_test

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/integration/command"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/views"
)

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// fleet is what the processes of a test share.
type fleet struct {
	bootstrap []string
	topic     string
	group     string
}

// newFleet names a fleet of the test's own on the cluster.
func newFleet(bootstrap []string) fleet {
	id := strings.Trim(api.RandomUUID().String(), "-_")
	return fleet{bootstrap, "rlmm-it-" + id, "rlmm-it-" + id}
}

// lockedBuffer is a process's output, which is read while it writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// running is a process of the command.
type running struct {
	cmd  *exec.Cmd
	out  lockedBuffer
	done chan struct{} // closed when it has ended
}

// start runs the command until the test ends, and shows its output if the test failed.
func start(t *testing.T, path string, args ...string) *running {
	t.Helper()
	r := &running{cmd: exec.Command(path, args...), done: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = r.cmd.Wait() // the exit code tells
		close(r.done)
	}()
	t.Cleanup(func() {
		r.stop()
		if t.Failed() {
			t.Logf("%s %s:\n%s", filepath.Base(path), strings.Join(args, " "), r.out.String())
		}
	})
	return r
}

// stop ends the process in order, and returns its exit code.
func (r *running) stop() int {
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	<-r.done
	return r.cmd.ProcessState.ExitCode()
}

// await looks again and again until it is so; the test fails when that takes too long.
func await(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !isSo() {
		select {
		case <-ctx.Done():
			t.Fatalf("not in time: %s", what)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// startProcessor runs a member of the fleet in a process of its own.
func (f fleet) startProcessor(t *testing.T) {
	t.Helper()
	f.startProcessorIn(t, t.TempDir())
}

// startProcessorIn is startProcessor with a data folder.
func (f fleet) startProcessorIn(t *testing.T, dir string) *running {
	t.Helper()
	return start(t, command.Path(t), "processor", "--bootstrap", strings.Join(f.bootstrap, ","), "--topic", f.topic, "--group", f.group,
		"--create-topics", "--replication-factor", "1", "--data", dir)
}

func (f fleet) settings() kafka.Settings { return kafka.Settings{Bootstrap: f.bootstrap} }

// manager returns a manager that is ready for all metadata partitions. It waits for
// the topics that the fleet creates.
func (f fleet) manager(t *testing.T, bounds views.Bounds) *views.Manager {
	t.Helper()
	m := f.managerIn(t, bounds, t.TempDir())
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// managerIn is manager with a data folder; the caller closes it.
func (f fleet) managerIn(t *testing.T, bounds views.Bounds, dir string) *views.Manager {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cfg := views.Config{
		Kafka: f.settings(), MetadataTopic: f.topic, Group: f.group, DataDir: dir, HighestOffsetBounds: bounds,
	}
	m := connected(ctx, t, cfg)
	all := make([]int32, m.MetadataPartitions())
	for p := range all {
		all[p] = int32(p)
	}
	if err := m.ReconcileAssignment(ctx, all); err != nil {
		t.Fatal(err)
	}
	if err := m.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return m
}

func connected(ctx context.Context, t *testing.T, cfg views.Config) *views.Manager {
	t.Helper()
	for {
		m, err := views.NewManager(ctx, cfg)
		if err == nil {
			return m
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
