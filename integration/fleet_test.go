//go:build integration

package integration_test

import (
	"bytes"
	"context"
	"os/exec"
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

// start runs the command until the test ends, and shows its output if the test failed.
func start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(command.Path(t), args...)
	var out lockedBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("rlmm %s:\n%s", strings.Join(args, " "), out.String())
		}
	})
	return cmd
}

// startProcessor runs a member of the fleet in a process of its own.
func (f fleet) startProcessor(t *testing.T, more ...string) {
	t.Helper()
	args := []string{
		"processor", "--bootstrap", strings.Join(f.bootstrap, ","), "--topic", f.topic, "--group", f.group,
		"--create-topics", "--replication-factor", "1", "--data", t.TempDir(),
	}
	start(t, append(args, more...)...)
}

func (f fleet) settings() kafka.Settings { return kafka.Settings{Bootstrap: f.bootstrap} }

// manager returns a manager that is ready for all metadata partitions. It waits for
// the topics that the fleet creates.
func (f fleet) manager(t *testing.T, bounds views.Bounds) *views.Manager {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cfg := views.Config{
		Kafka: f.settings(), MetadataTopic: f.topic, Group: f.group, DataDir: t.TempDir(), HighestOffsetBounds: bounds,
	}
	m := connected(ctx, t, cfg)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
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
