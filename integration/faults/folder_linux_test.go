//go:build integration

package faults_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/integration/command"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/views"
)

// A processor that is started on a disk that is full, or mounted read-only, says so,
// waits, and works once the disk is well.
func TestProcessorStartsOnASickDisk(t *testing.T) {
	for _, sick := range []struct {
		cause string
		harm  func(*mounted) (heal func())
	}{
		{diskFull, (*mounted).fill},
		{readOnly, (*mounted).readOnly},
	} {
		t.Run(sick.cause, func(t *testing.T) {
			w := newWorld(t, kafkatest.Bootstrap(t))
			s := w.newServed()
			heal := sick.harm(s.disk)
			s.start()
			s.awaitFailure(sick.cause)
			s.wantPatience(sick.cause)
			heal()
			s.awaitStatus(http.StatusOK)
			w.loadFor(seconds(t) / 10)
			s.stop()
			w.verify()
		})
	}
}

// loadFor publishes for a while and waits until all of it is answered.
func (w *world) loadFor(d time.Duration) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), d)
	defer stop()
	w.t.Logf("published %d events", <-w.load(ctx, rate))
	w.awaitAnswers()
}

// A manager on such a disk isn't ready, or isn't made, and tells the cause and the folder.
func TestManagerStartsOnASickDisk(t *testing.T) {
	w := newWorld(t, kafkatest.Bootstrap(t))
	p := w.newMember()
	p.start()
	w.loadFor(seconds(t) / 10)
	cfg := views.Config{Kafka: w.settings(), MetadataTopic: w.topic, Group: w.group}
	t.Run(diskFull, func(t *testing.T) {
		cfg := cfg
		cfg.DataDir = t.TempDir()
		disk := mount(t, filepath.Join(cfg.DataDir, "views"), "16m")
		free := disk.fill()
		m := newManager(t, cfg)
		w.await("it tells of the full disk", func() bool { return wantCause(m.Ready(), syscall.ENOSPC, disk.dir) })
		free()
		w.await("it is ready", func() bool { return m.Ready() == nil })
	})
	t.Run(readOnly, func(t *testing.T) {
		cfg := cfg
		cfg.DataDir = t.TempDir()
		disk := mount(t, filepath.Join(cfg.DataDir, "views"), "16m")
		writable := disk.readOnly()
		_, err := views.NewManager(t.Context(), cfg)
		if !wantCause(err, syscall.EROFS, disk.dir) || !kafka.CanHeal(err) {
			t.Errorf("made a manager on a read-only disk: %v", err)
		}
		writable()
		m := newManager(t, cfg)
		w.await("it is ready", func() bool { return m.Ready() == nil })
	})
	p.stop()
	w.verify()
}

// newManager makes a manager with every partition assigned, ready or not.
func newManager(t *testing.T, cfg views.Config) *views.Manager {
	t.Helper()
	m, err := views.NewManager(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	all := make([]int32, partitions)
	for p := range all {
		all[p] = int32(p)
	}
	if err := m.ReconcileAssignment(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	return m
}

func wantCause(err, cause error, dir string) bool {
	return errors.Is(err, cause) && strings.Contains(err.Error(), dir)
}

// nobody is a user that may write next to nowhere.
const nobody = 65534

// What no retry mends ends the command at once, with the folder and the remedy.
func TestDataFolderThatNoRetryMends(t *testing.T) {
	w := newWorld(t, kafkatest.Bootstrap(t))
	if err := os.Chmod(filepath.Dir(command.Path(t)), 0o755); err != nil { // nobody may run it
		t.Fatal(err)
	}
	for _, verb := range []string{"processor", "serve"} {
		t.Run(verb+", no folder", func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			w.wantRefused(t, verb, file, "not a directory", nil)
		})
		t.Run(verb+", no permission", func(t *testing.T) {
			w.wantRefused(t, verb, "/rlmm-data", "permission denied", &syscall.Credential{Uid: nobody, Gid: nobody})
		})
	}
}

func (w *world) wantRefused(t *testing.T, verb, dir, cause string, as *syscall.Credential) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command.Path(t), verb, "--bootstrap", strings.Join(w.bootstrap, ","),
		"--topic", w.topic, "--group", w.group, "--data", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGKILL}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	var exit *exec.ExitError
	err := cmd.Run()
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("%s on %s: %v, want exit status 1\n%s", verb, dir, err, &output)
	}
	for _, want := range []string{dir, cause, "make it a folder that this process may write to"} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("%s on %s doesn't say %q:\n%s", verb, dir, want, &output)
		}
	}
}
