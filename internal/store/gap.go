package store

import (
	"fmt"
	"time"
)

// recoveryTime is how long a recovery may take at least, however soon the table drops
// its tombstones (delete.retention.ms may be 0): the pass of the log cleaner that drops
// one comes after the pass that drops the row before it.
const recoveryTime = time.Minute

// freshness is until when the table can be trusted to have kept the tombstones that the
// store hasn't seen.
type freshness struct {
	at     time.Time // when the store was found to fit
	maxAge time.Duration
}

// GapError says that the table lacks records between the store and the next one, and that
// tombstones may be among them. Opened or checked again the store is built anew.
type GapError struct{ Table, Next int64 }

// Error names both offsets.
func (e *GapError) Error() string {
	return fmt.Sprintf("the table goes on at %d after %d, and tombstones in between may be gone; if this comes again and again, raise the table's delete.retention.ms: it must be longer than twice what reading the table takes", e.Next, e.Table)
}

// writtenAt is when a record was written at the latest that goes to disk now; before, that
// of the record before it, when its own time is ahead by more than that: the clock of who
// wrote it was wrong, and the record may be of any age. All are in milliseconds.
func writtenAt(ms, before, now, ahead int64) int64 {
	if ms > now+ahead {
		return before
	}
	return min(ms, now)
}

func (s *Store) fitted(want Expect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = freshness{want.now(), want.MaxAge}
}

// CheckNext returns a [GapError] when the record at the table offset, the next one that is
// read, comes so late after the last one that tombstones between the two may be gone. A
// reader that was stopped or cut off for days goes on where it was, and nothing else tells
// it. Where no offset is missing nothing is gone.
func (s *Store) CheckNext(offset int64) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	maxAge := s.fresh.maxAge
	if !s.following {
		maxAge = max(maxAge, recoveryTime)
	}
	age := min(time.Since(s.fresh.at).Abs(), time.Since(time.UnixMilli(s.position.Time)).Abs())
	if offset <= s.position.Table+1 || age <= maxAge {
		return nil
	}
	return &GapError{s.position.Table, offset}
}
