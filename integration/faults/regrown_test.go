//go:build integration

package faults_test

import (
	"testing"
	"time"

	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/views"
)

// backedUp is a world whose broker has a backup, and what was applied since.
func backedUp(t *testing.T) (*world, *member, *kafkatest.Backup) {
	t.Helper()
	broker := kafkatest.Start(t)
	w := newWorld(t, broker.Bootstrap())
	m := w.newMember()
	m.start()
	w.publishFor(time.Second)
	w.awaitAnswers()
	backup := broker.Backup(t)
	w.outgrow(w.inputEnds())
	w.awaitAnswers()
	return w, m, backup
}

// outgrow publishes until every partition of the input is longer.
func (w *world) outgrow(ends []int64) {
	w.t.Helper()
	for p, end := range ends {
		for w.end(w.topic, int32(p)) <= end {
			w.publishFor(500 * time.Millisecond)
		}
	}
}

// lose restores the backup and lets the input grow again beyond what was applied.
func (w *world) lose(backup *kafkatest.Backup, topic string) {
	w.t.Helper()
	before := w.inputEnds()
	backup.Restore(w.t, topic)
	for p := range w.acknowledged {
		w.acknowledged[p].Store(-1)
	}
	w.outgrow(before)
}

// The metadata topic loses its end, with a broker that is restored from a backup, and grows
// again. Nothing that was applied since the backup may be answered any more, nothing be
// folded on top of it, and all say what helps.
func TestRegrownMetadataTopicIsRefused(t *testing.T) {
	for _, running := range []bool{true, false} {
		t.Run(map[bool]string{true: "everything runs", false: "everything is down"}[running], func(t *testing.T) {
			w, m, backup := backedUp(t)
			dir := t.TempDir()
			manager := w.manager(dir)
			if err := manager.WaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := w.answers()
			if !running {
				m.stop()
				if err := manager.Close(); err != nil {
					t.Fatal(err)
				}
			}
			w.lose(backup, w.topic)
			if !running {
				m.start()
				manager = w.manager(dir)
			}
			m.wantGivenUp("rlmm reset")
			w.wantNotReady(manager, "rlmm reset")
			if after := w.answers(); after != before {
				t.Errorf("%d answers, there were %d", after, before)
			}
			if err := manager.Close(); err != nil {
				t.Error(err)
			}
			w.startAnew(m, dir)
		})
	}
}

// Metadata topic and table lose their ends, and another processor makes the table grow past
// what the stores have read: they are built anew.
func TestStoresOfARegrownTableAreRebuilt(t *testing.T) {
	w, m, backup := backedUp(t)
	observer := w.observe()
	history := w.quiet()
	m.stop()
	w.dismiss(history)
	w.lose(backup, "")
	other := w.newMember()
	other.start()
	w.awaitAnswers()
	other.stop()
	m.start()
	w.observe(func(c *views.Config) { c.DataDir = observer.dir })
	w.publishFor(time.Second)
	w.conclude([]*member{m})
	if n := m.logged("table_regrown"); n == 0 {
		t.Error("no store was moved aside")
	}
}
