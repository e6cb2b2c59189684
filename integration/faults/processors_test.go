//go:build integration

package faults_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/integration/faults"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/internal/table"
)

// rate is how many events a second the load publishes.
const rate = 1500

// trouble runs two members under load, makes trouble at random times for a while, lets
// them finish, and checks. harm gets both members and is called again and again.
func trouble(t *testing.T, harm func(w *world, members []*member)) *world {
	t.Helper()
	return troubleAtLeast(t, 0, harm)
}

// troubleAtLeast is trouble that calls harm at least so often in the long form.
func troubleAtLeast(t *testing.T, least int, harm func(w *world, members []*member)) *world {
	t.Helper()
	w := newWorld(t, kafkatest.Bootstrap(t))
	members := w.startMembers(2)
	w.observe()
	w.underLoad(func(ctx context.Context) {
		w.again(ctx, least, func() {
			w.pause(t.Context(), 500*time.Millisecond, 2500*time.Millisecond)
			harm(w, members)
		})
	})
	w.conclude(members)
	return w
}

// startMembers starts a fleet.
func (w *world) startMembers(n int) []*member {
	w.t.Helper()
	members := make([]*member, n)
	for i := range members {
		members[i] = w.newMember()
		members[i].start()
	}
	return members
}

// underLoad publishes while the trouble is made; its context says when that was long
// enough.
func (w *world) underLoad(trouble func(ctx context.Context)) {
	w.t.Helper()
	w.underLoadOf(rate, trouble)
}

// underLoadOf is underLoad with so many events a second. It returns how many there were.
func (w *world) underLoadOf(rate int, trouble func(ctx context.Context)) (published int) {
	w.t.Helper()
	loading, stop := context.WithCancel(w.t.Context())
	defer stop()
	loaded := w.load(loading, rate)
	ctx, cancel := context.WithTimeout(loading, seconds(w.t))
	defer cancel()
	trouble(ctx)
	stop()
	published = <-loaded
	w.t.Logf("published %d events", published)
	return published
}

// again makes trouble until the context ends, and in the long form at least so often.
func (w *world) again(ctx context.Context, least int, f func()) {
	w.t.Helper()
	for n := 0; ctx.Err() == nil || n < full(w.t, least); n++ {
		f()
	}
}

// conclude lets the fleet answer everything, ends it, and checks.
func (w *world) conclude(members []*member) {
	w.t.Helper()
	w.awaitAnswers()
	w.finish(members)
}

// pause waits for a random time.
func (w *world) pause(ctx context.Context, least, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(least + time.Duration(w.random.Int64N(int64(most-least)))):
	}
}

// awaitAnswers ends the observers' mutations and waits until every input record is
// answered in the table.
func (w *world) awaitAnswers() {
	w.t.Helper()
	for _, o := range w.observers {
		o.StopMutating()
	}
	for p := range int32(partitions) {
		w.await(fmt.Sprintf("partition %d is answered", p), func() bool { return w.answered(p) })
	}
}

func TestKilledProcessorsLoseAndDoubleNothing(t *testing.T) {
	kills := 0
	troubleAtLeast(t, 20, func(w *world, members []*member) {
		m := members[w.random.IntN(len(members))]
		m.kill()
		if w.random.IntN(4) == 0 {
			members[0].kill()
			members[1].kill()
		}
		for _, m := range members {
			if m.cmd == nil {
				kills++
				m.start()
			}
		}
	})
	t.Logf("%d kills", kills)
}

// beyondSession is longer than the fleet's sessions last.
const beyondSession = 7 * time.Second

// standStill pauses the process for a random time.
func (m *member) standStill(least, most time.Duration) {
	m.signal(syscall.SIGSTOP)
	m.w.pause(m.w.t.Context(), least, most)
	m.signal(syscall.SIGCONT)
}

// An owner that is paused past its session goes on writing when it wakes up. Its
// records must be refused.
func TestPausedOwnersAreRefused(t *testing.T) {
	pauses := 0
	troubleAtLeast(t, 6, func(w *world, members []*member) {
		members[w.random.IntN(len(members))].standStill(beyondSession, beyondSession+2*time.Second)
		pauses++
	})
	t.Logf("%d pauses", pauses)
}

// The broker goes and comes back, with its data.
func TestKilledBrokerLosesNothing(t *testing.T) {
	broker := kafkatest.Start(t)
	w := newWorld(t, broker.Bootstrap())
	members := w.startMembers(2)
	w.observe()
	kills := 0
	w.underLoad(func(ctx context.Context) {
		w.again(ctx, 5, func() {
			w.pause(t.Context(), 4*time.Second, 8*time.Second)
			w.crash(broker)
			w.awaitAnswersBehind(0)
			kills++
		})
	})
	w.conclude(members)
	t.Logf("%d kills", kills)
}

// crash kills the broker and starts it again after a while.
func (w *world) crash(broker *kafkatest.Broker) {
	w.t.Helper()
	broker.Kill(w.t)
	w.pause(w.t.Context(), 100*time.Millisecond, 3*time.Second)
	broker.Restart(w.t)
}

// answered tells whether the table has an answer to the partition's last input record.
func (w *world) answered(p int32) bool {
	w.t.Helper()
	input, answers := w.read(w.topic, p), w.read(table.TopicOf(w.group), p)
	if len(input) == 0 {
		return true
	}
	return faults.LastAnswered(answers) >= input[len(input)-1].Offset
}
