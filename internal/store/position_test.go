package store

import (
	"errors"
	"fmt"
	"testing"
)

// summed is a change with sums that tell of its number.
func summed(n int64) Change {
	c := set(fmt.Sprint("k", n), "v", n)
	c.Sum, c.Input = uint32(100+n), uint32(200+n)
	return c
}

func TestMarksGoToDiskWithTheRow(t *testing.T) {
	d, s := following(t, summed(0))
	wantSame(t, "one", Position{0, 0, 100, Mark{0, 100}, 200}, reopened(t, d).Committed())
	s.Stage(summed(1))
	wantSame(t, "without an offset", Position{0, 1, 100, Mark{0, 100}, 201}, s.Position())
	wantSame(t, "on disk", Position{0, 0, 100, Mark{0, 100}, 200}, reopened(t, d).Committed())
	noError(t, s.SetOffset(7))
	noError(t, s.Flush())
	wantSame(t, "two", Position{7, 1, 101, Mark{7, 101}, 201}, reopened(t, d).Committed())
	noError(t, s.SetOffset(9)) // a record that changes nothing, and isn't ours
	noError(t, s.Flush())
	wantSame(t, "a gap", Position{9, 1, 101, Mark{7, 101}, 201}, reopened(t, d).Committed())
}

func TestMarksOfAcknowledgedChanges(t *testing.T) {
	d, s := owned(t, summed(0))
	for n := range int64(3) {
		s.Stage(summed(1 + n))
	}
	noError(t, s.Ack(2, 2))
	wantSame(t, "two", Position{3, 2, 102, Mark{3, 102}, 202}, reopened(t, d).Committed())
	noError(t, s.Ack(4, 1))
	wantSame(t, "all", Position{4, 3, 103, Mark{4, 103}, 203}, reopened(t, d).Committed())
}

func TestInputSumIsThatOfTheGreatestOffset(t *testing.T) {
	_, s := following(t, summed(5))
	for _, c := range []struct {
		name    string
		applied int64
		input   uint32
		want    int64
		wantSum uint32
	}{
		{"an older one", 4, 1, 5, 205},
		{"none", -1, 0, 5, 205},
		{"the same without a sum", 5, 0, 5, 205},
		{"the same with one", 5, 7, 5, 7},
		{"a newer one without", 6, 0, 6, 0},
	} {
		s.Stage(Change{Applied: c.applied, Input: c.input})
		p := s.Position()
		if p.Applied != c.want || p.Input != c.wantSum {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

func TestPositionOnDisk(t *testing.T) {
	want := Position{3, 2, 1, Mark{3, 1 << 31}, 1<<32 - 1}
	got, err := parsePosition(want.bytes())
	noError(t, err)
	wantSame(t, "position", want, got)
	for n := range 64 {
		if _, err := parsePosition(make([]byte, n)); (err == nil) != (n == positionSize) || err != nil && !isCorrupt(err) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestStoreMustBeOfTheTablesHistory(t *testing.T) {
	away := errors.New("away")
	for _, c := range []struct {
		name  string
		sumAt func(int64) (uint32, Fate, error)
		want  Reset
		err   error
	}{
		{"nobody asks", nil, ResetNone, nil},
		{"the same record", func(int64) (uint32, Fate, error) { return 100, Kept, nil }, ResetNone, nil},
		{"another record", func(int64) (uint32, Fate, error) { return 101, Kept, nil }, ResetRegrown, nil},
		{"a foreign one", func(int64) (uint32, Fate, error) { return 0, Kept, nil }, ResetRegrown, nil},
		{"compacted", func(int64) (uint32, Fate, error) { return 0, Compacted, nil }, ResetUnproven, nil},
		{"trimmed", func(int64) (uint32, Fate, error) { return 0, Trimmed, nil }, ResetNone, nil},
		{"no answer", func(int64) (uint32, Fate, error) { return 0, 0, away }, ResetNone, away},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir() + "/0"
			want := Expect{Identity: identity, TableEnd: 1, MaxAge: anyAge}
			s := opened(t, dir, want, ResetNone)
			s.Stage(summed(0))
			noError(t, s.SetOffset(0))
			noError(t, s.Flush())
			want.SumAt = c.sumAt
			reset, err := s.Check(want)
			if reset != c.want || !errors.Is(err, c.err) {
				t.Errorf("check: %q, %v", reset, err)
			}
			noError(t, s.Close())
			s, reset, err = Open(dir, Options{}, want)
			if reset != c.want || !errors.Is(err, c.err) {
				t.Errorf("open: %q, %v", reset, err)
			}
			if err == nil {
				noError(t, s.Close())
			}
		})
	}
}
