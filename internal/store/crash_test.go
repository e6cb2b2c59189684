package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/syndtr/goleveldb/leveldb/opt"

	"github.com/tieredlog/rlmm/internal/disktest"
)

const (
	recoveredChanges = 620 // one full batch and a part
	followedChanges  = 30
	ownChanges       = 60
)

// crashTable is the table that crashRun reads and then writes.
func crashTable() []Change {
	var table []Change
	for i := range int64(recoveredChanges + followedChanges + 1 + ownChanges) {
		c := set(fmt.Sprintf("k%02d", i*7%41), fmt.Sprintf("%d %s", i, strings.Repeat("v", int(i%50))), i)
		if i%5 == 4 {
			c.Value = nil
		}
		if i == recoveredChanges+followedChanges {
			c = Change{Applied: -1, Time: 100 + i} // the fence
		}
		table = append(table, c)
	}
	return table
}

// crashRun recovers, follows, goes live and writes, up to the first error. It returns
// how far the disk was told to be.
func crashRun(s *Store, table []Change) (Position, error) {
	const fence = recoveredChanges + followedChanges
	for i, c := range table[:fence+1] {
		s.Stage(c)
		if err := s.SetOffset(int64(i)); err != nil {
			return s.Committed(), err
		}
		if i == recoveredChanges {
			if err := s.MarkRecovered(); err != nil {
				return s.Committed(), err
			}
		}
		if i <= recoveredChanges {
			continue
		}
		if err := s.Flush(); err != nil {
			return s.Committed(), err
		}
	}
	if err := s.GoLive(fence); err != nil {
		return s.Committed(), err
	}
	for base := int64(fence + 1); base < int64(len(table)); base += 3 {
		for _, c := range table[base : base+3] {
			s.Stage(c)
		}
		if err := s.Ack(base, 3); err != nil {
			return s.Committed(), err
		}
	}
	return s.Committed(), nil
}

// TestDiskDies lets the disk die in every single step of a store's life, with what it
// was just writing kept in part, and opens what is left.
func TestDiskDies(t *testing.T) {
	diskDies(t, Options{}.leveldb(), 50)
}

func diskDies(t *testing.T, o *opt.Options, leastSteps int) {
	t.Helper()
	for name, how := range disktest.Deaths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, dir := crashTable(), t.TempDir()
			dieAt := 1
			for dieAndOpen(t, dir, o, table, dieAt, how) {
				dieAt++
			}
			if dieAt < leastSteps {
				t.Fatalf("the run had %d steps only", dieAt)
			}
		})
	}
}

// dieAndOpen returns false when the disk outlived the run.
func dieAndOpen(t *testing.T, dir string, o *opt.Options, table []Change, dieAt int, how disktest.Death) bool {
	t.Helper()
	d := disktest.New()
	d.BreakAt(dieAt, how.Torn)
	told := none
	s, err := onto(d, dir, o)
	if err == nil {
		told, err = crashRun(s, table)
		if refused := s.Flush(); err != nil && !errors.Is(refused, err) {
			t.Fatalf("step %d: after %v it went on: %v", dieAt, err, refused)
		}
		_ = s.Close()
	}
	left, openErr := onto(how.Left(d), dir, o)
	if isCorrupt(openErr) && (told == none || how.Loses) {
		return true // died while the store was made; Open makes another
	}
	if openErr != nil {
		t.Fatalf("step %d: %v, then: %v", dieAt, err, openErr)
	}
	defer left.Close()
	position := left.Committed()
	if position.Table < told.Table && !how.Loses {
		t.Fatalf("step %d: the disk was told to be at %d and is at %d", dieAt, told.Table, position.Table)
	}
	wantSame(t, fmt.Sprintf("step %d", dieAt), prefix(table, position.Table+1), onDisk(t, left))
	return err != nil
}

// TestBrokenStoreSaysSo: LevelDB refuses all writes after a failed one, so a store has
// to be opened again once the disk is well.
func TestBrokenStoreSaysSo(t *testing.T) {
	d, s := following(t, set("a", "1", 0))
	noError(t, s.writeIdentity(identity))
	d.Break()
	s.Stage(set("a", "2", 1))
	noError(t, s.SetOffset(1))
	if err := s.Flush(); !errors.Is(err, disktest.Err) {
		t.Fatalf("wrote to a dead disk: %v", err)
	}
	d.Heal()
	s.Stage(set("a", "3", 2))
	noError(t, s.SetOffset(2))
	if err := s.Flush(); !errors.Is(err, disktest.Err) {
		t.Fatalf("went on after a failed write: %v", err)
	}
	wantRow(t, s, "a", "3")
	reset, err := s.Check(Expect{Identity: identity, TableEnd: 10, MaxAge: anyAge})
	noError(t, err)
	wantSame(t, "reason", ResetWriteFailed, reset)
	noError(t, s.Close())
	wantSame(t, "disk", Position{Table: 0, Applied: 0, Time: 100}, reopened(t, d).Committed())
}
