//go:build integration

package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/integration/kafkatest"
)

// A view that is killed at any time goes on from its store, and never answers from
// before its start.
func TestKilledViewsNeverAnswerFalsely(t *testing.T) {
	kills := 0
	viewTrouble(t, 10, func(s *server) {
		s.kill()
		s.restart()
		kills++
	})
	t.Logf("%d kills", kills)
}

// A view that is paused for longer than its connections last answers as old as it is,
// but never that it is caught up.
func TestPausedViewsNeverAnswerFalsely(t *testing.T) {
	pauses := 0
	viewTrouble(t, 6, func(s *server) {
		s.standStill(3*time.Second, 9*time.Second)
		pauses++
	})
	t.Logf("%d pauses", pauses)
}

// viewTrouble is troubleAtLeast with a server, next to a view that is left alone.
func viewTrouble(t *testing.T, least int, harm func(*server)) {
	t.Helper()
	w := newWorld(t, kafkatest.Bootstrap(t))
	members := w.startMembers(2)
	w.observe()
	s := w.serve()
	w.underLoad(func(ctx context.Context) {
		w.again(ctx, least, func() {
			w.pause(t.Context(), 500*time.Millisecond, 5*time.Second)
			harm(s)
		})
	})
	w.conclude(members)
}
