// Package lag tells how far the reader of a partition is behind it, in records and in
// time, from looks at the partition's end.
package lag

import (
	"slices"
	"sync"
	"time"
)

// maxLooks bounds the looks that wait to be reached.
const maxLooks = 64

// Tracker is about one partition. It is safe for concurrent use, but for Looked, which is
// for one goroutine.
type Tracker struct {
	fresh time.Duration
	tail  tail

	mu      sync.Mutex
	last    Look
	failed  bool      // the look after the last one
	current time.Time // when the reader was last known to be at the end
	waiting []Look    // that the reader hasn't reached, by time
}

// Look is what was seen of a partition.
type Look struct {
	// End is the partition's end offset.
	End int64
	// Need is the greatest offset that a reader must have applied to be at the end:
	// End − 1, or less when no data record comes before the end.
	Need int64
	// At is when the look began; what comes later isn't in it.
	At time.Time
}

// Status is how far the reader is behind.
type Status struct {
	// End is the partition's end as last seen, −1 before; Seen is when.
	End  int64
	Seen time.Time
	// Lag is End − 1 − applied, by offsets; 0 when End isn't known.
	Lag int64
	// Staleness is how long ago the reader was last known to have applied everything:
	// 0 when the last look shows it, counted from the tracker's start when none ever did.
	Staleness time.Duration
}

// New returns a tracker. A look tells of the present for as long as fresh: later ones
// must have failed, or hang.
func New(now time.Time, fresh time.Duration) *Tracker {
	return &Tracker{fresh: fresh, last: Look{End: -1}, current: now}
}

// Saw notes a look that succeeded. One that began before the last is of no use.
func (t *Tracker) Saw(l Look) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.At.Before(t.last.At) {
		return
	}
	t.last, t.failed = l, false
	if len(t.waiting) == maxLooks {
		t.thin()
	}
	t.waiting = append(t.waiting, l)
}

// tail is what lies behind applied, where nothing has moved since the look before.
type tail struct {
	applied, end int64
	known, empty bool
}

// Looked is Saw for one who looks again and again. What isn't applied may be no data
// (control records, what retention took), which nobody can apply: hasData tells, and is
// asked once when nothing has moved since the look before. After an error it is asked
// again at the next look.
func (t *Tracker) Looked(end, applied int64, at time.Time, hasData func() (bool, error)) {
	if t.tail.applied != applied || t.tail.end != end {
		t.tail = tail{applied: applied, end: end}
	} else if !t.tail.known && applied < end-1 {
		found, err := hasData()
		t.tail.known, t.tail.empty = err == nil, err == nil && !found
	}
	need := end - 1
	if t.tail.empty {
		need = min(need, applied)
	}
	t.Saw(Look{End: end, Need: need, At: at})
}

// thin drops every other look; the reader is then known to be as late as the one before.
func (t *Tracker) thin() {
	n := 0
	t.waiting = slices.DeleteFunc(t.waiting, func(Look) bool { n++; return n%2 == 0 })
}

// Failed notes a look that failed.
func (t *Tracker) Failed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
}

// Status is how far behind a reader is that has applied everything up to the offset.
func (t *Tracker) Status(applied int64, now time.Time) Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reach(applied)
	s := Status{End: t.last.End, Seen: t.last.At}
	if s.End >= 0 {
		s.Lag = max(0, s.End-1-applied)
	}
	if !t.shows(applied, now) {
		s.Staleness = max(0, now.Sub(t.current))
	}
	return s
}

// reach forgets the looks up to the last one that the reader has reached.
func (t *Tracker) reach(applied int64) {
	for n, look := range slices.Backward(t.waiting) {
		if look.Need <= applied {
			t.current = look.At
			t.waiting = slices.Delete(t.waiting, 0, n+1)
			return
		}
	}
}

// shows tells whether the last look is of the present and the reader is where it was.
func (t *Tracker) shows(applied int64, now time.Time) bool {
	return !t.failed && t.last.End >= 0 && t.last.Need <= applied && now.Sub(t.last.At) <= t.fresh
}
