//go:build integration

package faults_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tieredlog/rlmm/integration/faults"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/processor"
	"github.com/tieredlog/rlmm/views"
)

// purgingVerb makes the test's own binary a processor that purges all the time, which no
// flag of the command does: markers are kept for a day.
const purgingVerb = "purging-processor"

// runPurging is that processor.
func runPurging(ctx context.Context, args []string) error {
	p, err := newPurging(args)
	if err != nil {
		return err
	}
	return p.Run(ctx)
}

// newPurging is made of a broker's address, the topic, the group and a data folder.
func newPurging(args []string) (*processor.Processor, error) {
	return processor.New(processor.Config{
		Kafka:         processor.Kafka{Bootstrap: args[:1], SessionTimeout: 6 * time.Second},
		MetadataTopic: args[1], Group: args[2], DataDir: args[3], CreateTopics: true, ReplicationFactor: 1,
		PurgeAfter: time.Millisecond, MaintainEvery: 500 * time.Millisecond,
		Store: smallStore,
	})
}

// purging is a member that purges all the time.
func (w *world) purging() *member {
	w.t.Helper()
	m := w.newProgram(purgingVerb, w.bootstrap[0])
	w.dirs = append(w.dirs, m.dir)
	return m
}

// newProgram is one of this binary's programs that isn't started yet; all take a broker's
// address, the topic, the group and a data folder, some take more.
func (w *world) newProgram(verb, bootstrap string, more ...string) *member {
	w.t.Helper()
	m := w.newProcess(verb)
	m.program, m.args = os.Args[0], append([]string{verb, bootstrap, w.topic, w.group, m.dir}, more...)
	return m
}

// compacting has a table compacted all the time, a few seconds after it is written.
var compacting = map[string]string{"segment.ms": "1000", "min.cleanable.dirty.ratio": "0.001", "max.compaction.lag.ms": "2001"}

// notCompacting undoes compacting.
var notCompacting = map[string]string{"segment.ms": "604800000", "min.cleanable.dirty.ratio": "1", "max.compaction.lag.ms": "604800000"}

// createForgetfulTable creates the table so that compaction takes tombstones as soon as
// it may.
func (w *world) createForgetfulTable(settings map[string]string) {
	w.t.Helper()
	settings = maps.Clone(settings)
	maps.Copy(settings, map[string]string{"cleanup.policy": "compact", "delete.retention.ms": "0", "min.compaction.lag.ms": "2000"})
	configs := map[string]*string{}
	for k, v := range settings {
		configs[k] = &v
	}
	w.admin(func(ctx context.Context, admin *kadm.Client) error {
		_, err := admin.CreateTopic(ctx, partitions, 1, configs, w.table())
		return err
	})
}

// tap reads the table as it is written, before compaction takes anything.
type tap struct {
	mu      sync.Mutex
	records map[int32][]*sarama.ConsumerMessage
	last    [partitions]int64 // answered
}

func (w *world) tap() *tap {
	w.t.Helper()
	consumer, err := sarama.NewConsumerFromClient(w.client)
	if err != nil {
		w.t.Fatal(err)
	}
	t := &tap{records: map[int32][]*sarama.ConsumerMessage{}}
	for p := range int32(partitions) {
		w.end(w.table(), p) // it has a leader
		pc, err := consumer.ConsumePartition(w.table(), p, sarama.OffsetOldest)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = pc.Close() })
		t.last[p] = -1
		go func() {
			for range pc.Errors() { // it goes on by itself
			}
		}()
		go func() {
			for m := range pc.Messages() {
				t.add(m)
			}
		}()
	}
	return t
}

func (t *tap) add(m *sarama.ConsumerMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := m.Partition
	t.records[p] = append(t.records[p], m)
	t.last[p] = max(t.last[p], faults.LastAnswered([]*sarama.ConsumerMessage{m}))
}

// answered is the greatest offset of the partition's input that is answered, −1 is none.
func (t *tap) answered(p int32) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last[p]
}

// longestStall is the longest time without an answer since then.
func (t *tap) longestStall(since time.Time) faults.Stall {
	t.mu.Lock()
	defer t.mu.Unlock()
	recent := map[int32][]*sarama.ConsumerMessage{}
	for p, all := range t.records {
		i := len(all)
		for i > 0 && !all[i-1].Timestamp.Before(since) {
			i--
		}
		recent[p] = all[i:]
	}
	return faults.LongestStall(recent, since, time.Now())
}

// upTo returns the partition's records below the end, once they are there.
func (t *tap) upTo(w *world, p int32, end int64) []*sarama.ConsumerMessage {
	w.t.Helper()
	var records []*sarama.ConsumerMessage
	w.await(fmt.Sprintf("table %d is read up to %d", p, end), func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		records = t.records[p]
		return len(records) > 0 && records[len(records)-1].Offset >= end-1
	})
	return records[:end:end]
}

// Markers are purged and the table compacted all the time, tombstones too, while owners
// are paused past their sessions. Who stops, or stands still, and comes back when the
// tombstones are gone mustn't miss a deletion; who comes new must see the same.
func TestPurgedAndCompactedTable(t *testing.T) {
	broker := kafkatest.Start(t, kafkatest.WithProperty("log.cleaner.backoff.ms", "200"))
	w := newWorld(t, broker.Bootstrap())
	w.createForgetfulTable(compacting)
	tap := w.tap()
	members := []*member{w.purging(), w.purging(), w.purging()}
	for _, m := range members {
		m.start()
	}
	stopped := w.observe()
	w.observe()
	w.publishFor(2 * time.Second)
	stopped.Stop()
	stopped.close()
	members[2].stop()
	w.observers = w.observers[1:]
	pauses := 0
	w.underLoad(func(ctx context.Context) {
		w.again(ctx, 6, func() {
			members[w.random.IntN(2)].standStill(beyondSession, beyondSession+2*time.Second)
			pauses++
			w.pause(t.Context(), time.Second, 3*time.Second)
		})
	})
	w.awaitAnswers()
	w.awaitCompacted(tap)
	members[2].start()
	w.observe(func(c *views.Config) { c.DataDir = stopped.dir })
	w.observe()
	w.publishFor(time.Second)
	w.awaitAnswers()
	for _, m := range members {
		m.stop()
	}
	history, _ := w.verifyPurged(tap)
	if _, findings := stopped.Judge(history); len(findings) > 0 {
		t.Errorf("the view that stopped: %s", findings)
	}
	t.Logf("%d pauses", pauses)
}

// awaitCompacted waits until the cleaner has taken most of what was written to each
// partition, in two passes: the first one takes rows, the next one their tombstones.
func (w *world) awaitCompacted(tap *tap) {
	w.t.Helper()
	for p := range int32(partitions) {
		w.await(fmt.Sprintf("table %d is compacted", p), func() bool {
			w.publishFor(100 * time.Millisecond) // a segment ends only when something follows
			left := len(w.read(w.table(), p))
			return left*2 < len(tap.upTo(w, p, w.end(w.table(), p)))
		})
	}
}

// purged is how much verifyPurged has checked.
type purged struct{ written, left, inputs, answers, fences, purges, stores int }

// verifyPurged is verify for a table that was purged and compacted. It returns what the
// input came to.
func (w *world) verifyPurged(tap *tap) (*faults.History, purged) {
	w.t.Helper()
	history := w.history()
	for _, o := range w.observers {
		o.StopMutating()
	}
	for _, o := range w.observers {
		o.conclude(history)
	}
	var n purged
	for p := range int32(partitions) {
		records := tap.upTo(w, p, w.end(w.table(), p))
		replay, findings := faults.CheckPurgedTable(p, partitions, records, history.Input(p))
		scratch := w.read(w.table(), p)
		findings = append(findings, faults.Diff(fmt.Sprintf("table %d", p), replay.Rows, faults.RowsOf(scratch))...)
		for _, dir := range w.stores(p) {
			rows, at := w.local(dir)
			n.stores++
			findings = append(findings, faults.Diff(fmt.Sprintf("store %s at %d", dir, at.Table), replay.At(at.Table), rows)...)
		}
		if len(findings) > 0 {
			w.t.Errorf("partition %d:\n%s", p, findings)
		}
		n.written, n.left, n.inputs = n.written+len(records), n.left+len(scratch), n.inputs+history.Len(p)
		n.answers, n.fences, n.purges = n.answers+replay.Answers, n.fences+replay.Fences, n.purges+replay.Purges
	}
	if n.purges == 0 {
		w.t.Error("nothing was purged")
	}
	w.t.Logf("verified: %+v, %d stores rebuilt", n, w.rebuilt())
	return history, n
}

// rebuilt is how many stores were moved aside.
func (w *world) rebuilt() (n int) {
	w.t.Helper()
	for _, dir := range w.dirs {
		aside, _ := filepath.Glob(filepath.Join(dir, "processor", "*.aside-*"))
		n += len(aside)
	}
	for _, o := range w.observers {
		aside, _ := filepath.Glob(filepath.Join(o.dir, "views", "*.aside-*"))
		n += len(aside)
	}
	return n
}
