//go:build integration

package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/integration/faults"
	"github.com/tieredlog/rlmm/integration/kafkatest"
)

// fleetChange is when a fleet was made another size.
type fleetChange struct {
	at       time.Time
	from, to int
}

// A fleet grows and shrinks under load. How long nothing is answered is reported.
func TestFleetOfOneThreeOneLosesAndDoublesNothing(t *testing.T) {
	w := newWorld(t, kafkatest.Bootstrap(t))
	first := w.startMembers(1)
	w.observe()
	others := []*member{w.newMember(), w.newMember()}
	var changes []fleetChange
	var ended time.Time
	w.underLoad(func(ctx context.Context) {
		w.pause(t.Context(), 2*time.Second, 3*time.Second)
		w.again(ctx, 3, func() {
			changes = append(changes, fleetChange{time.Now(), 1, 3})
			w.each(others, (*member).start)
			w.pause(t.Context(), 4*time.Second, 8*time.Second)
			changes = append(changes, fleetChange{time.Now(), 3, 1})
			w.each(others, (*member).stop)
			w.pause(t.Context(), 4*time.Second, 8*time.Second)
		})
		ended = time.Now()
	})
	w.conclude(first)
	w.reportStalls(changes, ended)
}

// each does the same to members at the same time.
func (w *world) each(members []*member, do func(*member)) {
	done := make(chan struct{})
	for _, m := range members {
		go func() {
			do(m)
			done <- struct{}{}
		}()
	}
	for range members {
		<-done
	}
}

// reportStalls tells for each change how long nothing was answered behind it.
func (w *world) reportStalls(changes []fleetChange, ended time.Time) {
	w.t.Helper()
	tables := map[int32][]*sarama.ConsumerMessage{}
	for p := range int32(partitions) {
		tables[p] = w.read(w.table(), p)
	}
	for i, c := range changes {
		to := ended
		if i+1 < len(changes) {
			to = changes[i+1].at
		}
		s := faults.LongestStall(tables, c.at, to)
		w.t.Logf("fleet %d to %d: nothing answered for %v, on some partition for %v", c.from, c.to, s.All, s.One)
	}
}
