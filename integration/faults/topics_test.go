//go:build integration

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/integration/command"
	"github.com/tieredlog/rlmm/integration/faults"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/views"
)

// admin does something as an operator does; an error fails the test.
func (w *world) admin(f func(context.Context, *kadm.Client) error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.bootstrap...))
	if err != nil {
		w.t.Fatal(err)
	}
	defer client.Close()
	if err := f(ctx, kadm.NewClient(client)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) deleteTopic(topic string) {
	w.t.Helper()
	w.admin(func(ctx context.Context, admin *kadm.Client) error {
		r, err := admin.DeleteTopic(ctx, topic)
		return errors.Join(err, r.Err)
	})
}

// recreate deletes the metadata topic and creates it again.
func (w *world) recreate() {
	w.t.Helper()
	w.deleteTopic(w.topic)
	w.admin(func(ctx context.Context, admin *kadm.Client) error {
		retention := "-1"
		var err error
		w.await("the topic can be created again", func() bool {
			_, err = admin.CreateTopic(ctx, partitions, -1, map[string]*string{"retention.ms": &retention}, w.topic)
			return err == nil
		})
		return err
	})
	for p := range w.acknowledged {
		w.acknowledged[p].Store(-1)
	}
	w.await("all know the new topic", func() bool { return w.client.RefreshMetadata(w.topic) == nil && w.end(w.topic, 0) >= 0 })
}

// addPartition gives the topic one more than there are.
func (w *world) addPartition(topic string) {
	w.t.Helper()
	w.admin(func(ctx context.Context, admin *kadm.Client) error {
		r, err := admin.UpdatePartitions(ctx, partitions+1, topic)
		return errors.Join(err, r.Error())
	})
}

// cutHead deletes the records of the input below an offset that is chosen for each
// partition from where it begins and ends.
func (w *world) cutHead(choose func(p int32, start, end int64) int64) {
	w.t.Helper()
	w.cutHeadOf(w.topic, choose)
}

func (w *world) cutHeadOf(topic string, choose func(p int32, start, end int64) int64) {
	w.t.Helper()
	w.admin(func(ctx context.Context, admin *kadm.Client) error {
		starts, err := admin.ListStartOffsets(ctx, topic)
		if err != nil {
			return err
		}
		offsets := kadm.Offsets{}
		for p := range int32(partitions) {
			start, _ := starts.Lookup(topic, p)
			offsets.AddOffset(topic, p, choose(p, start.Offset, w.end(topic, p)), -1)
		}
		r, err := admin.DeleteRecords(ctx, offsets)
		return errors.Join(err, r.Error())
	})
}

// keepHead notes what lies below the offset of a partition, before that is cut off.
func (w *world) keepHead(p int32, below int64) {
	w.t.Helper()
	if w.cut == nil {
		w.cut = map[int32][]*sarama.ConsumerMessage{}
	}
	for _, m := range w.read(w.topic, p) {
		if m.Offset < below {
			w.cut[p] = append(w.cut[p], m)
		}
	}
}

// publishFor publishes events for a while.
func (w *world) publishFor(d time.Duration) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), d)
	defer cancel()
	w.t.Logf("published %d events", <-w.load(ctx, rate))
}

// wantGivenUp waits until the process has ended by itself, with a code that isn't 0 and
// a message that has the words in it.
func (m *member) wantGivenUp(words ...string) {
	m.w.t.Helper()
	m.w.await("the process gives up", func() bool {
		select {
		case <-m.done:
			return true
		default:
			return false
		}
	})
	if code := m.cmd.ProcessState.ExitCode(); code != 1 {
		m.w.t.Errorf("exit code %d, want 1", code)
	}
	m.cmd = nil
	lines := m.lastLine()
	for _, word := range words {
		if !strings.Contains(lines, word) {
			m.w.t.Errorf("%q doesn't say %q", lines, word)
		}
	}
}

// manager starts a manager on all partitions, ready or not, in the folder.
func (w *world) manager(dir string) *views.Manager {
	w.t.Helper()
	m, err := views.NewManager(w.t.Context(), views.Config{Kafka: w.settings(), MetadataTopic: w.topic, Group: w.group, DataDir: dir})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = m.Close() })
	if err := m.ReconcileAssignment(w.t.Context(), everyPartition()); err != nil {
		w.t.Fatal(err)
	}
	return m
}

// wantNotReady waits until no partition of the manager is ready, for good, and says what
// must be done. The process that it is in goes on.
func (w *world) wantNotReady(m *views.Manager, words ...string) {
	w.t.Helper()
	for _, word := range words {
		w.await("every partition says "+word, func() bool {
			err := m.Ready()
			return err != nil && strings.Count(err.Error(), word) >= partitions
		})
	}
	for _, tip := range faults.LoadPartitions() {
		if _, err := m.ListRemoteLogSegments(w.t.Context(), tip); !errors.Is(err, api.ErrNotReady) {
			w.t.Errorf("%s is answered: %v", tip, err)
		}
		if caught, err := m.CaughtUp(w.t.Context(), tip); caught || err == nil {
			w.t.Errorf("%s: caught up: %t, %v", tip, caught, err)
		}
	}
}

// quiet ends the observers' mutations and lets the fleet answer what there is. From then
// on the input has a history, which it returns.
func (w *world) quiet() *faults.History {
	w.t.Helper()
	w.awaitAnswers()
	return w.history()
}

// dismiss ends the observers and judges what they said by the history, without a last
// question: they may never be ready again.
func (w *world) dismiss(history *faults.History) {
	w.t.Helper()
	for _, o := range w.observers {
		o.Stop()
		o.close()
		counts, findings := o.Judge(history)
		if len(findings) > 0 {
			w.t.Errorf("%s:\n%s", o.name, findings)
		}
		w.t.Logf("%s: %+v", o.name, counts)
	}
	w.observers = nil
}

// answers counts the answers in the table.
func (w *world) answers() (n int) {
	w.t.Helper()
	for p := range int32(partitions) {
		replay, _ := faults.CheckTable(w.read(w.table(), p), faults.Expected{})
		n += replay.Answers
	}
	return n
}

// rlmm runs the command on the world's cluster, topic and group.
func (w *world) rlmm(verb string, args ...string) {
	w.t.Helper()
	args = append([]string{verb, "--bootstrap", strings.Join(w.bootstrap, ","), "--topic", w.topic, "--group", w.group}, args...)
	if out, err := exec.Command(command.Path(w.t), args...).CombinedOutput(); err != nil {
		w.t.Fatalf("rlmm %v: %v\n%s", args, err, out)
	}
}

// startAnew does what the messages say, and sees that it helps.
func (w *world) startAnew(m *member, dir string) {
	w.t.Helper()
	w.rlmm("reset")
	if err := w.client.RefreshMetadata(w.table()); err != nil {
		w.t.Errorf("without --execute it did something: %v", err)
	}
	w.rlmm("reset", "--execute")
	w.await("the table is gone", func() bool { return w.client.RefreshMetadata(w.table()) != nil })
	w.cut = nil
	m.start()
	w.observe(func(c *views.Config) { c.DataDir = dir })
	w.publishFor(2 * time.Second)
	w.conclude([]*member{m})
}

// The metadata topic is deleted and created again. Nothing of the new one may get into
// the table, nothing of the old one be answered as if it were still there, and all say
// what helps.
func TestRecreatedMetadataTopicIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name      string
		processor bool // runs meanwhile
		view      bool // runs meanwhile
		filled    bool // beyond what was applied
		reset     bool // afterwards
	}{
		{name: "everything runs, left empty", processor: true, view: true},
		{name: "everything runs, filled", processor: true, view: true, filled: true, reset: true},
		{name: "processor down, filled", view: true, filled: true},
		{name: "view down, filled", processor: true, filled: true, reset: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, kafkatest.Bootstrap(t))
			m := w.newMember()
			m.start()
			observer := w.observe()
			w.publishFor(time.Second)
			history := w.quiet()
			before := w.answers()
			if !tt.processor {
				m.stop()
			}
			dir := observer.dir
			if !tt.view {
				w.dismiss(history)
			}
			w.recreate()
			if tt.filled {
				w.publishFor(3 * time.Second)
			}
			if !tt.processor {
				m.start()
			}
			m.wantGivenUp("rlmm reset")
			if tt.view {
				dir = t.TempDir()
			}
			manager := w.manager(dir)
			w.wantNotReady(manager, "rlmm reset")
			if err := manager.Close(); err != nil {
				t.Error(err)
			}
			if tt.view {
				dir = observer.dir
				w.await("the observer's manager isn't ready", func() bool { return !observer.CaughtUp(t.Context()) })
				w.dismiss(history)
			}
			if after := w.answers(); after != before {
				t.Errorf("%d answers, there were %d", after, before)
			}
			if tt.reset {
				w.startAnew(m, dir)
			}
		})
	}
}

// The head of the input is deleted, as far as it is applied: that changes nothing.
func TestTruncationBelowAppliedChangesNothing(t *testing.T) {
	cuts := 0
	w := newWorld(t, kafkatest.Bootstrap(t))
	members := w.startMembers(2)
	w.observe()
	w.underLoad(func(ctx context.Context) {
		w.again(ctx, 3, func() {
			w.pause(t.Context(), 2*time.Second, 4*time.Second)
			w.cutApplied(func(p int32) int64 { return faults.LastAnswered(w.read(w.table(), p)) })
			cuts++
		})
	})
	w.conclude(members)
	for _, m := range members {
		if n := m.logged("gone before they were applied"); n > 0 {
			t.Errorf("%d gaps", n)
		}
	}
	t.Logf("%d cuts", cuts)
}

// cutApplied deletes some of what is applied from each partition's head.
func (w *world) cutApplied(applied func(p int32) int64) {
	w.t.Helper()
	w.cutHead(func(p int32, start, _ int64) int64 {
		below := start + w.random.Int64N(max(1, applied(p)-start))
		w.keepHead(p, below)
		return below
	})
}

// The head of the input is deleted beyond what is applied: that is a gap. It is told, the
// fleet goes on behind it, and nobody is caught up before.
func TestTruncationBeyondAppliedIsAGap(t *testing.T) {
	w := newWorld(t, kafkatest.Bootstrap(t))
	m := w.newMember()
	m.start()
	observer := w.observe()
	w.publishFor(2 * time.Second)
	w.quiet()
	m.stop()
	for p := range int32(partitions) {
		w.keepHead(p, w.end(w.topic, p))
	}
	w.publishFor(2 * time.Second)
	w.cutHead(func(p int32, start, end int64) int64 {
		applied := faults.LastAnswered(w.read(w.table(), p))
		return applied + 2 + w.random.Int64N(end-applied-2)
	})
	if observer.CaughtUp(t.Context()) {
		t.Error("caught up, without a processor")
	}
	m.start()
	w.publishFor(time.Second)
	w.conclude([]*member{m})
	if n := m.logged("gone before they were applied"); n != partitions {
		t.Errorf("%d gaps are told, want one a partition", n)
	}
}

// A partition is added to a topic.
func TestAddedPartitionIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name  string
		topic func(*world) string
		heals bool // by a reset
	}{
		{"metadata topic", func(w *world) string { return w.topic }, false},
		{"table", (*world).table, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, kafkatest.Bootstrap(t))
			m := w.newMember()
			m.start()
			observer := w.observe()
			w.publishFor(time.Second)
			history := w.quiet()
			w.addPartition(tt.topic(w))
			m.wantGivenUp("the partition count is", "rlmm reset", tt.topic(w))
			w.await("the observer's manager isn't ready", func() bool { return !observer.CaughtUp(t.Context()) })
			w.dismiss(history)
			if tt.heals {
				w.startAnew(m, observer.dir)
			}
		})
	}
}

// The table is deleted under load. A processor that may create topics makes it anew from
// the input; readers wait meanwhile.
func TestDeletedTableIsRebuilt(t *testing.T) {
	deletions := 0
	trouble(t, func(w *world, members []*member) {
		w.pause(t.Context(), 4*time.Second, 6*time.Second)
		w.deleteTopic(w.table())
		w.await("the table is there again", func() bool { return w.client.RefreshMetadata(w.table()) == nil })
		deletions++
		for _, m := range members {
			if !m.runs() { // it wrote to the new table before it saw that it was new
				m.wantGivenUp("rlmm reset")
				t.Log("a member gave up")
			}
		}
	})
	t.Logf("%d deletions", deletions)
}

// The table is deleted and the input's head is gone: what is left isn't the state.
func TestDeletedTableOfATruncatedTopicIsRefused(t *testing.T) {
	w := newWorld(t, kafkatest.Bootstrap(t))
	m := w.newMember()
	m.start()
	observer := w.observe()
	w.publishFor(2 * time.Second)
	history := w.quiet()
	w.cutHead(func(_ int32, _, end int64) int64 { return end / 2 })
	w.await("everything is committed", func() bool { return w.committed() })
	w.deleteTopic(w.table())
	m.wantGivenUp("rlmm reset", "can't be made anew")
	w.dismiss(history)
	w.startAnew(m, observer.dir)
}

// committed tells whether the group has committed all of the input.
func (w *world) committed() (all bool) {
	w.t.Helper()
	w.admin(func(ctx context.Context, admin *kadm.Client) error {
		offsets, err := admin.FetchOffsets(ctx, w.group)
		if err != nil {
			return err
		}
		all = true
		for p := range int32(partitions) {
			o, ok := offsets.Lookup(w.topic, p)
			all = all && ok && o.At == w.end(w.topic, p)
		}
		return nil
	})
	return all
}

// Without the right to create topics a processor says that the table is missing.
func TestMissingTableIsNamed(t *testing.T) {
	w := newWorld(t, kafkatest.Bootstrap(t))
	m := w.newProcess("processor")
	m.start()
	m.wantGivenUp(w.table(), "--create-topics")
}

// Operators move the group's offsets, or delete the group, while the fleet is down. The
// position is state: they change nothing.
func TestMovedGroupChangesNothing(t *testing.T) {
	w := newWorld(t, kafkatest.Bootstrap(t))
	m := w.newMember()
	m.start()
	w.observe()
	w.publishFor(time.Second)
	w.awaitCaughtUp()
	for name, move := range map[string]func(end int64) int64{
		"to the earliest":   func(int64) int64 { return 0 },
		"to the latest":     func(end int64) int64 { return end },
		"to the middle":     func(end int64) int64 { return end / 2 },
		"behind the latest": func(end int64) int64 { return end + 1000 },
		"nowhere":           nil,
	} {
		t.Log("offsets moved", name)
		m.stop()
		w.publishFor(500 * time.Millisecond)
		w.moveGroup(move)
		m.start()
		w.awaitCaughtUp()
	}
	w.conclude([]*member{m})
}

// awaitCaughtUp waits until all of the input is answered, while observers go on.
func (w *world) awaitCaughtUp() {
	w.t.Helper()
	for p, end := range w.inputEnds() {
		w.await(fmt.Sprintf("partition %d is answered up to %d", p, end), func() bool {
			return faults.LastAnswered(w.read(w.table(), int32(p))) >= end-1
		})
	}
}

// moveGroup commits other offsets for the group, which must have no members; nil deletes
// the group.
func (w *world) moveGroup(move func(end int64) int64) {
	w.t.Helper()
	w.admin(func(ctx context.Context, admin *kadm.Client) error {
		if move == nil {
			r, err := admin.DeleteGroup(ctx, w.group)
			return errors.Join(err, r.Err)
		}
		offsets := kadm.Offsets{}
		for p, end := range w.inputEnds() {
			offsets.AddOffset(w.topic, int32(p), move(end), -1)
		}
		return admin.CommitAllOffsets(ctx, w.group, offsets)
	})
}

// runs tells whether the process hasn't ended.
func (m *member) runs() bool {
	select {
	case <-m.done:
		return false
	default:
		return true
	}
}

// lastLine is the last line that the process has logged.
func (m *member) lastLine() string {
	m.w.t.Helper()
	b, err := os.ReadFile(m.log.Name())
	if err != nil {
		m.w.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}
