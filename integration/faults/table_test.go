//go:build integration

package faults_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/integration/kafkatest"
)

// The head of the table is deleted. Who has read it goes on and stays right; who hasn't
// refuses, and says what helps.
func TestTableWithoutItsHeadIsRefused(t *testing.T) {
	w := newWorld(t, kafkatest.Bootstrap(t))
	m := w.newMember()
	m.start()
	observer := w.observe()
	w.publishFor(2 * time.Second)
	w.awaitCaughtUp()
	m.stop()
	w.alterTable("cleanup.policy", "compact,delete") // DeleteRecords wants it
	w.cutHeadOf(w.table(), func(_ int32, _, end int64) int64 { return end / 2 })
	w.alterTable("cleanup.policy", "compact")
	m.start()
	w.publishFor(time.Second)
	history := w.quiet()
	manager := w.manager(t.TempDir())
	w.wantNotReady(manager, "lost its head", "rlmm reset")
	if err := manager.Close(); err != nil {
		t.Error(err)
	}
	w.dismiss(history)
	m.stop()
	if err := os.RemoveAll(filepath.Join(m.dir, "processor")); err != nil {
		t.Fatal(err)
	}
	m.start()
	m.wantGivenUp("lost its head", "rlmm reset")
	w.startAnew(m, observer.dir)
}

// Somebody writes tombstones under rows' keys, and compaction leaves nothing else there.
// The fleet writes the rows again: who begins afterwards answers as who knew them.
func TestForeignTombstonesLoseNothing(t *testing.T) {
	w := newWorld(t, kafkatest.Bootstrap(t))
	m := w.newMember()
	m.start()
	w.observe()
	w.publishFor(2 * time.Second)
	w.awaitCaughtUp()
	foreign := w.writeForeign(20)
	w.await("the rows are written again", func() bool { return w.count(isRepair) >= foreign })
	for setting, value := range compacting {
		w.alterTable(setting, value)
	}
	w.await("compaction has taken what was there", func() bool {
		w.publishFor(100 * time.Millisecond) // a segment ends only when something follows
		return w.count(isForeign) == 0
	})
	w.observe()
	w.publishFor(time.Second)
	w.dismiss(w.quiet())
	t.Logf("%d foreign tombstones", foreign)
}

// writeForeign writes tombstones under the keys of up to n rows of each partition, and
// returns how many.
func (w *world) writeForeign(n int) (written int) {
	w.t.Helper()
	history := w.history()
	var tombstones []*sarama.ProducerMessage
	for p := range int32(partitions) {
		left := n
		for key := range history.Expected(p).Rows {
			if left--; left < 0 {
				break
			}
			tombstones = append(tombstones, &sarama.ProducerMessage{Topic: w.table(), Partition: p, Key: sarama.StringEncoder(key)})
		}
	}
	w.send(tombstones)
	return len(tombstones)
}

// count counts the records that the table holds now and that are so.
func (w *world) count(isSo func(*sarama.ConsumerMessage) bool) (n int) {
	w.t.Helper()
	for p := range int32(partitions) {
		for _, m := range w.read(w.table(), p) {
			if isSo(m) {
				n++
			}
		}
	}
	return n
}

func isForeign(m *sarama.ConsumerMessage) bool { return len(m.Headers) == 0 }

func isRepair(m *sarama.ConsumerMessage) bool {
	for _, h := range m.Headers {
		if string(h.Value) == codec.OutcomeRepair.String() {
			return true
		}
	}
	return false
}
