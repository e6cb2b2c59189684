package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/tieredlog/rlmm/internal/disktest"
)

const (
	recoveredChanges = 620 // one full recovery batch and a part
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

// death is how a disk dies, and what is left of it.
type death struct {
	torn func(int) int // of the write that it dies in
	left func(*disktest.Disk) *disktest.Disk
	// loses says that what the disk was told may be gone, the store's beginning too.
	loses bool
}

func (d death) isExpected(err error, told Position) bool {
	return isCorrupt(err) && (told == none || d.loses) // Open makes another
}

var deaths = map[string]death{
	"nothing kept":         {torn: func(int) int { return 0 }, left: (*disktest.Disk).Copy},
	"half of a write kept": {torn: func(n int) int { return n / 2 }, left: (*disktest.Disk).Copy},
	"all but a byte kept":  {torn: func(n int) int { return max(0, n-1) }, left: (*disktest.Disk).Copy},
	"all kept":             {torn: func(n int) int { return n }, left: (*disktest.Disk).Copy},
	"unsynced lost":        {left: unsyncedLost, loses: true},
	"older unsynced lost":  {torn: func(n int) int { return n }, left: olderUnsyncedLost, loses: true},
}

func unsyncedLost(d *disktest.Disk) *disktest.Disk {
	return d.AfterPowerCut(func(storage.FileDesc) bool { return false })
}

// olderUnsyncedLost keeps the newest journal: a disk writes in any order.
func olderUnsyncedLost(d *disktest.Disk) *disktest.Disk {
	journals, _ := d.List(storage.TypeJournal)
	newest := slices.MaxFunc(append(journals, storage.FileDesc{}), func(a, b storage.FileDesc) int { return cmp.Compare(a.Num, b.Num) })
	return d.AfterPowerCut(func(fd storage.FileDesc) bool { return fd == newest })
}

// TestDiskDies lets the disk die in every single step of a store's life, with what it
// was just writing kept in part, and opens what is left.
func TestDiskDies(t *testing.T) {
	diskDies(t, Options{}.leveldb(), 50)
}

func diskDies(t *testing.T, o *opt.Options, leastSteps int) {
	t.Helper()
	for name, how := range deaths {
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
func dieAndOpen(t *testing.T, dir string, o *opt.Options, table []Change, dieAt int, how death) bool {
	t.Helper()
	d := disktest.New()
	d.BreakAt(dieAt, how.torn)
	told := none
	s, err := onto(d, dir, o)
	if err == nil {
		told, err = crashRun(s, table)
		if refused := s.Flush(); err != nil && !errors.Is(refused, err) {
			t.Fatalf("step %d: after %v it went on: %v", dieAt, err, refused)
		}
		_ = s.Close()
	}
	left, openErr := onto(how.left(d), dir, o)
	if how.isExpected(openErr, told) {
		return true
	}
	if openErr != nil {
		t.Fatalf("step %d: %v, then: %v", dieAt, err, openErr)
	}
	defer left.Close()
	position := left.Committed()
	if position.Table < told.Table && !how.loses {
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
	if err := s.SetOffset(1); !errors.Is(err, disktest.Err) {
		t.Fatalf("wrote to a dead disk: %v", err)
	}
	d.Heal()
	s.Stage(set("a", "3", 2))
	if err := s.SetOffset(2); !errors.Is(err, disktest.Err) {
		t.Fatalf("went on after a failed write: %v", err)
	}
	wantRow(t, s, "a", "3")
	reset, err := s.Check(Expect{Identity: identity, TableEnd: 10})
	noError(t, err)
	wantSame(t, "reason", ResetWriteFailed, reset)
	noError(t, s.Close())
	wantSame(t, "disk", Position{Table: 0, Applied: 0, Time: 100}, reopened(t, d).Committed())
}
