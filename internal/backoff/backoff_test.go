package backoff

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestPausesDoubleToTheMostAndAreShortAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Second, 4*time.Second)
		for i, about := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second} {
			wantPause(t, i, b, about)
		}
		<-time.After(2 * lasted) // a try that goes well, by the test's own clock
		wantPause(t, 4, b, time.Second)
	})
}

func wantPause(t *testing.T, i int, b *Backoff, about time.Duration) {
	t.Helper()
	began := time.Now()
	b.Wait(t.Context())
	if d := time.Since(began); d < about/2 || d >= about/2+about {
		t.Errorf("pause %d took %v, want about %v", i, d, about)
	}
}

func TestPauseEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		New(time.Hour, time.Hour).Wait(ctx)
		if d := time.Since(began); d != 0 {
			t.Errorf("took %v", d)
		}
	})
}
