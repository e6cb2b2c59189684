//go:build integration

package faults_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/views"
)

// viewUnderLoad harms the disk of a manager in the middle of a load. It must say so, not
// answer meanwhile as if nothing were wrong, leave no files open, and go on by itself
// when the disk is well again.
func viewUnderLoad(t *testing.T, cause syscall.Errno, harm func(*mounted) (heal func())) {
	t.Helper()
	w := newWorld(t, kafkatest.Bootstrap(t))
	p := w.newMember()
	p.start()
	dir := t.TempDir()
	disk := mount(t, filepath.Join(dir, "views"), "48m")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	o := w.observe(func(cfg *views.Config) {
		cfg.DataDir, cfg.Logger = dir, slog.New(slog.NewTextHandler(log, nil))
		cfg.Store.WriteBuffer = 32 << 10 // new files often
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	published := w.load(ctx, rate)
	w.pause(ctx, seconds(t)/4, seconds(t)/3)
	heal := harm(disk)
	w.await("the view isn't ready and tells why", func() bool { return wantCause(o.manager.Ready(), cause, disk.dir) })
	w.wantNoMoreFiles(disk, log.Name(), cause.Error())
	heal()
	w.await("the view is ready again", func() bool { return o.manager.Ready() == nil })
	w.pause(ctx, seconds(t)/4, seconds(t)/3)
	stop()
	t.Logf("published %d events", <-published)
	w.awaitAnswers()
	p.stop()
	w.verify()
}

// wantNoMoreFiles waits for some tries of each partition and fails when they left files
// open.
func (w *world) wantNoMoreFiles(disk *mounted, log, cause string) {
	w.t.Helper()
	await := func() int {
		told := disk.complaints(log, cause)
		w.await("it tries again", func() bool { return disk.complaints(log, cause) >= told+3*partitions })
		return disk.open()
	}
	first, last := await(), await()
	w.t.Logf("while it can't work: %d tries told, %d and then %d files open", disk.complaints(log, cause), first, last)
	if last > first+partitions { // a try may be under way
		w.t.Errorf("%d files are open after some tries, %d after more", first, last)
	}
}

// open is how many files of the disk this process has open.
func (m *mounted) open() (n int) {
	m.t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		m.t.Fatal(err)
	}
	for _, l := range links {
		if name, err := os.Readlink(l); err == nil && strings.HasPrefix(name, m.dir) {
			n++
		}
	}
	return n
}

func TestFullDiskOfAView(t *testing.T) {
	viewUnderLoad(t, syscall.ENOSPC, (*mounted).fill)
}

// A disk that turns read-only is met when the next file is made.
func TestReadOnlyDiskOfAView(t *testing.T) {
	viewUnderLoad(t, syscall.EROFS, (*mounted).cover)
}
