package lag_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/internal/lag"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func second(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }

func seen(end int64, at int) lag.Look { return lag.Look{End: end, Need: end - 1, At: second(at)} }

func want(t *testing.T, tracker *lag.Tracker, applied int64, at int, want lag.Status) {
	t.Helper()
	if diff := cmp.Diff(want, tracker.Status(applied, second(at))); diff != "" {
		t.Errorf("at %d s with %d applied (-want +got):\n%s", at, applied, diff)
	}
}

func TestStaleness(t *testing.T) {
	const s = time.Second
	tracker := lag.New(start, 10*s)
	want(t, tracker, -1, 3, lag.Status{End: -1, Staleness: 3 * s}) // never looked
	tracker.Saw(seen(0, 4))
	want(t, tracker, -1, 5, lag.Status{Seen: second(4)}) // empty
	tracker.Saw(seen(8, 6))
	want(t, tracker, 4, 7, lag.Status{End: 8, Seen: second(6), Lag: 3, Staleness: 3 * s})
	want(t, tracker, 7, 8, lag.Status{End: 8, Seen: second(6)}) // caught up
	tracker.Saw(seen(9, 10))
	want(t, tracker, 7, 12, lag.Status{End: 9, Seen: second(10), Lag: 1, Staleness: 6 * s})
	tracker.Saw(lag.Look{End: 9, Need: 7, At: second(13)}) // a control record
	want(t, tracker, 7, 14, lag.Status{End: 9, Seen: second(13), Lag: 1})
	tracker.Failed()
	want(t, tracker, 7, 14, lag.Status{End: 9, Seen: second(13), Lag: 1, Staleness: s})
	tracker.Saw(seen(9, 15))
	want(t, tracker, 8, 24, lag.Status{End: 9, Seen: second(15)})
	want(t, tracker, 8, 26, lag.Status{End: 9, Seen: second(15), Staleness: 11 * s}) // later looks hang
	tracker.Saw(seen(20, 1))                                                         // late, and older
	want(t, tracker, 8, 26, lag.Status{End: 9, Seen: second(15), Staleness: 11 * s})
}

// A reader that is always some seconds behind a busy partition is that late, however
// long it lasts.
func TestSteadyLag(t *testing.T) {
	tracker := lag.New(start, 10*time.Second)
	for n := range 1000 {
		tracker.Saw(seen(int64(100*n), n))
		got := tracker.Status(int64(100*(n-12)), second(n)).Staleness
		if n > 24 && (got < 12*time.Second || got > 13*time.Second) {
			t.Fatalf("at %d s it is %v", n, got)
		}
	}
}

// Where nothing moves it is asked once whether anything is left to apply.
func TestTailWithoutData(t *testing.T) {
	tracker, asked, fails := lag.New(start, 10*time.Second), 0, true
	look := func(end, applied int64, at int) {
		tracker.Looked(end, applied, second(at), func() (bool, error) {
			asked++
			if fails {
				return false, errors.New("out of reach")
			}
			return applied == 5, nil // there is data behind 5
		})
	}
	for at := range 3 {
		look(10, 9, at) // nothing is left
	}
	look(12, 9, 3) // something moved
	if asked != 0 {
		t.Errorf("asked %d times without need", asked)
	}
	look(12, 9, 4)
	want(t, tracker, 9, 5, lag.Status{End: 12, Seen: second(4), Lag: 2, Staleness: 3 * time.Second})
	fails = false
	for at := 6; at < 9; at++ {
		look(12, 9, at)
	}
	want(t, tracker, 9, 9, lag.Status{End: 12, Seen: second(8), Lag: 2})
	if asked != 2 {
		t.Errorf("asked %d times, want once after the failure", asked)
	}
	look(12, 5, 10) // rebuilt
	look(12, 5, 11)
	want(t, tracker, 5, 12, lag.Status{End: 12, Seen: second(11), Lag: 6, Staleness: 4 * time.Second})
}

// Whatever was seen and applied, staleness is 0 only when the last look is reached, and
// never less than the age of the last look that is.
func TestStalenessIsNeverTooLow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tracker := lag.New(start, 5*time.Second)
		now, end, applied, failed := 0, int64(0), int64(-1), false
		last, reached := -1, 0
		type look struct {
			at   int
			need int64
		}
		var looks []look
		t.Repeat(map[string]func(*rapid.T){
			"wait":    func(t *rapid.T) { now += rapid.IntRange(1, 9).Draw(t, "seconds") },
			"publish": func(*rapid.T) { end++ },
			"apply":   func(*rapid.T) { applied = min(applied+1, end-1) },
			"fail":    func(*rapid.T) { tracker.Failed(); failed = true },
			"look": func(*rapid.T) {
				tracker.Saw(seen(end, now))
				looks = append(looks, look{now, end - 1})
				last, failed = len(looks)-1, false
			},
			"": func(t *rapid.T) {
				for _, l := range looks {
					if l.need <= applied {
						reached = l.at
					}
				}
				got := tracker.Status(applied, second(now)).Staleness
				if last >= 0 && !failed && looks[last].need <= applied && now-looks[last].at <= 5 {
					if got != 0 {
						t.Fatalf("%v, though the last look shows the end", got)
					}
				} else if got < time.Duration(now-reached)*time.Second {
					t.Fatalf("%v at %d, last known to be at the end at %d", got, now, reached)
				}
			},
		})
	})
}
