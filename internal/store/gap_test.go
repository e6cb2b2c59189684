package store

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// A store of two records goes on reading after a while. What it missed matters only where
// the table has a hole.
func TestCheckNext(t *testing.T) {
	day := 24 * time.Hour
	for _, tt := range []struct {
		name      string
		maxAge    time.Duration
		checked   time.Duration // how long ago it was found to fit
		written   time.Duration // how long ago its last record was
		following bool
		next      int64
		gap       bool
	}{
		{name: "the next record", next: 2, checked: day, written: day, following: true},
		{name: "the next record again", next: 1, checked: day, written: day, following: true},
		{name: "a hole", next: 3, maxAge: time.Hour, checked: day, written: day, following: true, gap: true},
		{name: "a hole, read in time", next: 3, maxAge: 2 * day, checked: 3 * day, written: day, following: true},
		{name: "a hole, opened a moment ago", next: 3, maxAge: time.Hour, written: day, following: true},
		{name: "a hole where nothing is kept", next: 3, checked: time.Second, written: time.Second, following: true, gap: true},
		{name: "recovery where nothing is kept", next: 3, checked: time.Second, written: day},
		{name: "recovery that took too long", next: 3, checked: day, written: day, gap: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := Expect{Identity: identity, TableEnd: end, MaxAge: tt.maxAge, Now: time.Now().Add(-tt.checked)}
			s := opened(t, filepath.Join(t.TempDir(), "views", "7"), want, ResetNone)
			for offset := range int64(2) {
				s.Stage(Change{Key: "a", Value: []byte("1"), Applied: offset, Time: time.Now().Add(-tt.written).UnixMilli()})
				noError(t, s.SetOffset(offset))
			}
			noError(t, s.Flush())
			if tt.following {
				noError(t, s.MarkRecovered())
			}
			err := s.CheckNext(tt.next)
			if gap := (*GapError)(nil); errors.As(err, &gap) != tt.gap || err != nil != tt.gap {
				t.Errorf("%v, want a gap: %t", err, tt.gap)
			}
		})
	}
}

// A store that has met a gap is built anew when it is checked.
func TestGapIsResetOnCheck(t *testing.T) {
	want := Expect{Identity: identity, TableEnd: end, MaxAge: time.Hour, Now: time.UnixMilli(111)}
	s := opened(t, filled(t), want, ResetNone)
	noError(t, s.MarkRecovered())
	if err := s.CheckNext(3); err == nil {
		t.Fatal("no gap")
	}
	want.Now = time.Time{}
	reset, err := s.Check(want)
	noError(t, err)
	wantSame(t, "reason", ResetGap, reset)
}

// A record from a clock that was far ahead tells nothing of its age, and one from a clock
// that was a little ahead was written no later than it came.
func TestClockAheadMakesNoStoreYoung(t *testing.T) {
	day := 24 * time.Hour
	now := time.Now()
	for _, tt := range []struct {
		name    string
		written time.Duration // from now
		later   time.Duration // when the store is opened again, from now
		end     int64
		reset   Reset
	}{
		{name: "a month ahead, opened 20 days later", written: 30 * day, later: 20 * day, end: end, reset: ResetGap},
		{name: "a month ahead, opened at once", written: 30 * day, end: end, reset: ResetGap},
		{name: "a month ahead, at the end", written: 30 * day, later: 20 * day, end: 1},
		{name: "an hour ahead, opened at once", written: time.Hour, end: end},
		{name: "two days ahead, opened four days later", written: 2 * day, later: 4 * day, end: end, reset: ResetGap},
		{name: "the local clock was four days ahead", later: -4 * day, end: end, reset: ResetGap},
		{name: "the local clock was an hour ahead", later: -time.Hour, end: end},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "views", "7")
			want := Expect{Identity: identity, TableEnd: tt.end, MaxAge: 84 * time.Hour}
			s := opened(t, dir, want, ResetNone)
			s.Stage(Change{Key: "a", Value: []byte("1"), Time: now.Add(tt.written).UnixMilli()})
			noError(t, s.SetOffset(0))
			noError(t, s.Close())
			want.Now = now.Add(tt.later)
			opened(t, dir, want, tt.reset)
		})
	}
}
