// Package backoff is the pause between tries of what may heal.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// lasted is how long a try must have gone well for the pause to be short again.
const lasted = time.Minute

// Backoff is a pause that doubles from try to try, with jitter so that many don't try
// in step, and is short again after a try that lasted. It is for one goroutine.
type Backoff struct {
	least, most, next time.Duration
	since             time.Time // when the last pause ended
}

// New returns a pause of about least, and of about most in the end.
func New(least, most time.Duration) *Backoff {
	return &Backoff{least, most, least, time.Now()}
}

// Wait pauses, or returns when the context ends.
func (b *Backoff) Wait(ctx context.Context) {
	if time.Since(b.since) > lasted {
		b.next = b.least
	}
	select {
	case <-ctx.Done():
	case <-time.After(b.next/2 + rand.N(b.next)):
	}
	b.next, b.since = min(2*b.next, b.most), time.Now()
}
