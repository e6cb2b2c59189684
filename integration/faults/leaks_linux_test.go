//go:build integration

package faults_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/integration/kafkatest"
)

// held is what this process holds.
type held struct{ Goroutines, Files, Connections int }

func holds(t *testing.T) held {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	h := held{Goroutines: runtime.NumGoroutine()}
	for _, l := range links {
		switch name, err := os.Readlink(l); {
		case err != nil: // closed meanwhile
		case strings.HasPrefix(name, "socket:"):
			h.Connections++
		default:
			h.Files++
		}
	}
	return h
}

// within tells whether no more is held than before, but for what comes and goes: LevelDB's
// files under load, for one. What one change leaves behind would be far more after all.
func (h held) within(before held) bool {
	return h.Goroutines <= before.Goroutines+20 && h.Files <= before.Files+20 && h.Connections <= before.Connections+4
}

const changes = 200

// Two hundred changes of a manager's assignment, asked all the time and under load, leave
// no goroutines, files or connections behind.
func TestAssignmentChangesLeakNothing(t *testing.T) {
	w := newWorld(t, kafkatest.Bootstrap(t))
	p := w.newMember()
	p.start()
	o := w.observe()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	published := w.load(ctx, rate/10)
	var before held
	for n := range changes {
		if n == changes/10 {
			o.assign(everyPartition())
			before = holds(t)
		}
		o.assign(w.somePartitions())
	}
	o.assign(everyPartition())
	stop()
	t.Logf("published %d events", <-published)
	var after held
	w.await("all that was left is gone", func() bool {
		after = holds(t)
		return after.within(before)
	})
	t.Logf("held before and after (-before +after): %s", cmp.Diff(before, after))
	w.awaitAnswers()
	p.stop()
	w.verify()
}

// assign reconciles and waits until what is assigned is ready.
func (o *observer) assign(partitions []int32) {
	o.w.t.Helper()
	ctx, cancel := context.WithTimeout(o.w.t.Context(), patience)
	defer cancel()
	if err := o.manager.ReconcileAssignment(ctx, partitions); err != nil {
		o.w.t.Fatal(err)
	}
	if o.w.random.IntN(2) == 0 { // the next change may meet a view that isn't ready
		return
	}
	if err := o.manager.WaitReady(ctx); err != nil {
		o.w.t.Fatal(err)
	}
}

// somePartitions are any, maybe none.
func (w *world) somePartitions() (some []int32) {
	for _, p := range everyPartition() {
		if w.random.IntN(2) == 0 {
			some = append(some, p)
		}
	}
	return some
}
