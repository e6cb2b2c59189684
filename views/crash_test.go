package views

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/internal/disktest"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

// lives are what is done with a store, up to the first error.
var lives = map[string]func(*recorded, *store.Store) error{
	"view":      (*recorded).follow,
	"processor": (*recorded).own,
}

// follow reads the table to its end, as a view does.
func (r *recorded) follow(s *store.Store) error { return r.read(s, int64(len(r.records))) }

// own recovers up to the fence and writes the rest, three records a batch, as a
// processor does.
func (r *recorded) own(s *store.Store) error {
	if err := r.read(s, r.fence+1); err != nil {
		return err
	}
	if err := s.GoLive(r.fence); err != nil {
		return err
	}
	for batch := range slices.Chunk(r.records[r.fence+1:], 3) {
		base := s.Position().Table + 1
		for _, rec := range batch {
			s.Stage(rec.Change())
		}
		if err := s.Ack(base, len(batch)); err != nil {
			return err
		}
	}
	return nil
}

// read reads the table from where the store is, what comes after recovery record by record.
func (r *recorded) read(s *store.Store, end int64) error {
	for i := s.Position().Table + 1; i < end; i++ {
		if _, err := table.Apply(s, r.records[i]); err != nil {
			return err
		}
		err := s.SetOffset(i)
		switch {
		case err == nil && i == r.recovered:
			err = s.MarkRecovered()
		case err == nil && i > r.recovered:
			err = s.Flush()
		}
		if err != nil {
			return err
		}
	}
	return s.MarkRecovered()
}

// crash is one way to live and to die.
type crash struct {
	*recorded
	options store.Options
	live    func(*recorded, *store.Store) error
	death   disktest.Death
	want    []string // the answers of a clean load
}

func (c *crash) open(d *disktest.Disk, dir string) (*store.Store, store.Reset, error) {
	o := c.options
	o.Storage = d.In
	return store.Open(dir, o, store.Expect{TableEnd: int64(len(c.records)), MaxAge: time.Hour, Now: time.UnixMilli(0)})
}

// dieAt lets the disk die at the step, opens what is left, looks at it, reads the rest
// of the table and asks everything. It tells whether the disk died, and what is wrong.
func (c *crash) dieAt(t *testing.T, step int) (died bool, wrong error) {
	t.Helper()
	d, dir := disktest.New(), filepath.Join(t.TempDir(), "store")
	d.BreakAt(step, c.death.Torn)
	told := store.Position{Table: -1}
	s, _, err := c.open(d, dir)
	if err == nil {
		err = c.live(c.recorded, s)
		told = s.Committed()
		_ = s.Close()
	}
	left, reset, opened := c.open(c.death.Left(d), dir)
	if opened != nil {
		return err != nil, fmt.Errorf("%w, then: %w", err, opened)
	}
	defer left.Close()
	at := left.Committed()
	if lost := at.Table < told.Table || reset != store.ResetNone && told.Table >= 0; lost && !c.death.Loses {
		return err != nil, fmt.Errorf("the disk was told to be at %d and is at %d, reset %q", told.Table, at.Table, reset)
	}
	return err != nil, c.check(t, left)
}

func (c *crash) check(t *testing.T, left *store.Store) error {
	t.Helper()
	at := left.Committed().Table
	if diff := cmp.Diff(c.prefix(at), contentOf(t, left)); diff != "" {
		return fmt.Errorf("not the table up to %d (-want +got):\n%s", at, diff)
	}
	if err := c.follow(left); err != nil {
		return fmt.Errorf("read the rest: %w", err)
	}
	if diff := cmp.Diff(c.want, c.answers(t, left)); diff != "" {
		return fmt.Errorf("answers (-clean load +after the crash):\n%s", diff)
	}
	return nil
}

// A disk that dies in any single step leaves a store that answers, when the rest of the
// table is read, as one that was loaded in peace.
func TestAnswersAfterTheDiskDied(t *testing.T) {
	t.Parallel()
	answersAfterTheDiskDied(t, store.Options{}, 30)
}

func answersAfterTheDiskDied(t *testing.T, o store.Options, leastSteps int) {
	t.Helper()
	r := recordTable(t, 5)
	want := r.cleanAnswers(t)
	for life, live := range lives {
		for name, death := range disktest.Deaths {
			t.Run(fmt.Sprintf("%s, %s", life, name), func(t *testing.T) {
				t.Parallel()
				c := &crash{r, o, live, death, want}
				step, died := 0, true
				for died {
					step++
					var wrong error
					if died, wrong = c.dieAt(t, step); wrong != nil {
						t.Errorf("step %d: %v", step, wrong)
					}
				}
				if step < leastSteps {
					t.Errorf("only %d steps", step)
				}
			})
		}
	}
}

func (r *recorded) cleanAnswers(t *testing.T) []string {
	t.Helper()
	c := &crash{recorded: r}
	s, _, err := c.open(disktest.New(), filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := r.follow(s); err != nil {
		t.Fatal(err)
	}
	return r.answers(t, s)
}

// What the check is for: a row that isn't there though the position says so, and
// answers that aren't those of the clean load.
func TestCrashCheckFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	r := recordTable(t, 5)
	want := r.cleanAnswers(t)
	skips := func(r *recorded, s *store.Store) error { return s.SetOffset(r.recovered) }
	for name, c := range map[string]*crash{
		"ahead of its rows": {r, store.Options{}, skips, disktest.Deaths["all kept"], want},
		"other answers":     {r, store.Options{}, (*recorded).follow, disktest.Deaths["all kept"], want[1:]},
		"lost":              {r, store.Options{}, (*recorded).follow, disktest.Death{Left: func(*disktest.Disk) *disktest.Disk { return disktest.New() }}, want},
	} {
		if died, wrong := c.dieAt(t, 0); died || wrong == nil {
			t.Errorf("%s isn't found", name)
		}
	}
}
