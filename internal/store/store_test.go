package store

import (
	"strconv"
	"testing"

	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"
	"go.uber.org/goleak"

	"github.com/tieredlog/rlmm/internal/disktest"
)

func TestMain(m *testing.M) {
	// LevelDB leaves this one for a second after it was closed.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"))
}

// onto opens the store on the disk.
func onto(d *disktest.Disk, dir string, o *opt.Options) (*Store, error) {
	return openOn(func(string) (storage.Storage, error) { return d, nil }, dir, o)
}

// fresh opens a store on a disk of its own, closed with the test.
func fresh(t *testing.T) (*disktest.Disk, *Store) {
	t.Helper()
	d := disktest.New()
	s, err := onto(d, t.TempDir(), Options{}.leveldb())
	noError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return d, s
}

// reopened is the store as a kill would leave it.
func reopened(t *testing.T, d *disktest.Disk) *Store {
	t.Helper()
	s, err := onto(d.Copy(), t.TempDir(), Options{}.leveldb())
	noError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func set(key, value string, applied int64) Change {
	return Change{Key: key, Value: []byte(value), Applied: applied, Time: 100 + applied}
}

func remove(key string, applied int64) Change {
	return Change{Key: key, Applied: applied, Time: 100 + applied}
}

// following is a store that is recovered and has read the changes from offset 0, each
// for itself.
func following(t *testing.T, changes ...Change) (*disktest.Disk, *Store) {
	t.Helper()
	d, s := fresh(t)
	noError(t, s.MarkRecovered())
	for i, c := range changes {
		s.Stage(c)
		noError(t, s.SetOffset(int64(i)))
		noError(t, s.Flush())
	}
	return d, s
}

// owned is a store whose owner's fence is at the offset behind the changes.
func owned(t *testing.T, changes ...Change) (*disktest.Disk, *Store) {
	t.Helper()
	d, s := following(t, append(changes, Change{Applied: -1, Time: 99})...)
	noError(t, s.GoLive(int64(len(changes))))
	return d, s
}

func wantRow(t *testing.T, s *Store, key, want string) {
	t.Helper()
	got, err := s.Get(key)
	noError(t, err)
	if string(got) != want || (got == nil) != (want == "") {
		t.Fatalf("%s is %q, want %q", key, got, want)
	}
}

func TestChangeWithoutOffsetStaysInMemory(t *testing.T) {
	d, s := following(t, set("a", "1", 0))
	s.Stage(set("a", "2", 1))
	s.Stage(remove("b", 2))
	noError(t, s.Flush())
	wantRow(t, s, "a", "2")
	wantSame(t, "position", Position{Table: 0, Applied: 2, Time: 100}, s.Position())
	wantRow(t, reopened(t, d), "a", "1")
	wantSame(t, "committed", Position{Table: 0, Applied: 0, Time: 100}, reopened(t, d).Committed())
}

func TestOpenForgetsWhatHasNoOffset(t *testing.T) {
	_, s := fresh(t)
	s.Stage(set("a", "1", 0))
	noError(t, s.SetOffset(0))
	s.Stage(set("a", "2", 1))
	s.Stage(set("b", "1", 2))
	noError(t, s.Open())
	wantRow(t, s, "a", "1")
	wantRow(t, s, "b", "")
	wantSame(t, "position", Position{Table: 0, Applied: 0}, s.Position())
}

func TestReadsCommitInBatches(t *testing.T) {
	_, s := fresh(t)
	for i := range int64(2*readBatch + 1) {
		s.Stage(set("k"+strconv.FormatInt(i, 10), "v", i))
		noError(t, s.SetOffset(i))
		if want := (i+1)/readBatch*readBatch - 1; s.Committed().Table != want {
			t.Fatalf("after offset %d the disk is at %d, want %d", i, s.Committed().Table, want)
		}
	}
	noError(t, s.MarkRecovered())
	wantSame(t, "recovered", s.Position(), s.Committed())
	s.Stage(set("k", "v", 5000))
	noError(t, s.SetOffset(5000)) // compaction leaves gaps
	wantSame(t, "the disk's offset", 2*readBatch, int(s.Committed().Table))
	noError(t, s.Flush())
	wantSame(t, "flushed", s.Position(), s.Committed())
}

// A batch leaves each row as its last change of it does, whatever follows.
func TestBatchOfManyChangesOfARow(t *testing.T) {
	d, s := owned(t)
	for _, c := range []Change{
		set("a", "1", 0), set("b", "1", 1), set("a", "2", 2), remove("b", 3),
		{Applied: 4},
		set("a", "3", 5), set("c", "1", 6),
		set("a", "4", 7), set("b", "2", 8), remove("c", 9), // in the next one
	} {
		s.Stage(c)
	}
	wantRows := func(s *Store, a, b, c string) {
		t.Helper()
		wantRow(t, s, "a", a)
		wantRow(t, s, "b", b)
		wantRow(t, s, "c", c)
	}
	noError(t, s.Ack(1, 7))
	wantRows(reopened(t, d), "3", "", "1")
	wantRows(s, "4", "2", "")
	noError(t, s.Ack(8, 3))
	wantRows(reopened(t, d), "4", "2", "")
	wantRows(s, "4", "2", "")
}

// A row that a batch changes a hundred times is written once.
func TestBatchWritesARowOnce(t *testing.T) {
	journal := func(n int) int {
		d, s := owned(t)
		for i := range int64(n) {
			s.Stage(set("a", "1", i))
		}
		noError(t, s.Ack(1, n))
		fds, _ := d.List(storage.TypeJournal)
		return len(d.Contents(fds[len(fds)-1]))
	}
	if one, many := journal(1), journal(100); many > one {
		t.Errorf("the journal has %d bytes with a hundred changes of a row, %d with one", many, one)
	}
}

func TestAck(t *testing.T) {
	d, s := owned(t, set("a", "old", 0), set("gone", "x", 1))
	s.Stage(set("a", "1", 2))
	s.Stage(set("a", "2", 3))
	s.Stage(remove("gone", 4))
	noError(t, s.Ack(3, 1))
	wantRow(t, s, "a", "2")
	wantRow(t, s, "gone", "")
	killed := reopened(t, d)
	wantRow(t, killed, "a", "1")
	wantRow(t, killed, "gone", "x")
	wantSame(t, "after one", Position{Table: 3, Applied: 2, Time: 102}, killed.Committed())
	noError(t, s.Ack(4, 2))
	killed = reopened(t, d)
	wantRow(t, killed, "a", "2")
	wantRow(t, killed, "gone", "")
	wantSame(t, "after all", Position{Table: 5, Applied: 4, Time: 104}, killed.Committed())
}

func TestAckElsewhereBreaksTheStore(t *testing.T) {
	for _, base := range []int64{-1, 0, 1, 3, 1000} {
		d, s := owned(t, set("a", "old", 0))
		before := s.Committed()
		s.Stage(set("a", "new", 1))
		err := s.Ack(base, 1)
		if err == nil {
			t.Fatalf("acknowledged at %d, due was 2", base)
		}
		if again := s.Ack(2, 1); again == nil || again.Error() != err.Error() {
			t.Fatalf("then at 2: %v, want %v", again, err)
		}
		if s.Flush() == nil {
			t.Fatal("flushed after another writer was there")
		}
		noError(t, s.Close())
		killed := reopened(t, d)
		wantRow(t, killed, "a", "old")
		wantSame(t, "disk", before, killed.Committed())
	}
}

func TestOwnerIgnoresGokasOffsets(t *testing.T) {
	_, s := owned(t)
	s.Stage(set("a", "1", 0))
	noError(t, s.SetOffset(77))
	noError(t, s.Set("a", []byte("2")))
	noError(t, s.Delete("a"))
	noError(t, s.Open())
	noError(t, s.Flush())
	wantRow(t, s, "a", "1")
	wantSame(t, "position", Position{Table: 0, Applied: 0, Time: 99}, s.Position())
	noError(t, s.Ack(1, 1))
}

func TestGoLive(t *testing.T) {
	for _, fence := range []int64{-1, 0, 2, 100} {
		_, s := following(t, set("a", "1", 0), set("b", "1", 1))
		if err := s.GoLive(fence); err == nil {
			t.Fatalf("live at 1 with the fence at %d", fence)
		}
		noError(t, s.GoLive(1))
	}
	_, s := following(t, set("a", "1", 0))
	s.Stage(set("b", "1", 1))
	if err := s.GoLive(0); err == nil {
		t.Fatal("live with a change that no acknowledgement will be of")
	}
}

func TestGoLiveFlushes(t *testing.T) {
	d, s := fresh(t)
	s.Stage(set("a", "1", 0))
	noError(t, s.SetOffset(0))
	noError(t, s.GoLive(0))
	wantRow(t, reopened(t, d), "a", "1")
}

func TestGetOffset(t *testing.T) {
	_, s := fresh(t)
	for _, want := range []int64{-2, 0, 9} {
		if want >= 0 {
			noError(t, s.SetOffset(want))
		}
		got, err := s.GetOffset(-2)
		noError(t, err)
		if got != want {
			t.Fatalf("offset %d, want %d", got, want)
		}
	}
}

func TestRows(t *testing.T) {
	d, s := following(t, set("!3", "hidden", 0), set("a:0", "1", 1), set("a:0/x", "2", 2), set("b:0", "3", 3))
	s.Stage(set("c:0", "in memory only", 4))
	for _, c := range []struct {
		name, start, limit string
		want               []string
	}{
		{"all", "", "", []string{"a:0=1", "a:0/x=2", "b:0=3"}},
		{"from the hidden ones", "\x00", "", []string{"a:0=1", "a:0/x=2", "b:0=3"}},
		{"below the hidden ones", "", "!", nil},
		{"one partition", "a:0", "a:00", []string{"a:0=1", "a:0/x=2"}},
		{"behind all", "c", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			start, limit := bytesOrNil(c.start), bytesOrNil(c.limit)
			var got, gokas []string
			for row, err := range s.Rows(start, limit) {
				noError(t, err)
				got = append(got, string(row.Key)+"="+string(row.Value))
			}
			it, err := s.IteratorWithRange(start, limit)
			noError(t, err)
			defer it.Release()
			for it.Next() {
				v, err := it.Value()
				noError(t, err)
				gokas = append(gokas, string(it.Key())+"="+string(v))
			}
			noError(t, it.Err())
			wantSame(t, "rows", c.want, got)
			wantSame(t, "goka's iterator", c.want, gokas)
		})
	}
	it, err := reopened(t, d).Iterator()
	noError(t, err)
	defer it.Release()
	if !it.Next() || string(it.Key()) != "a:0" {
		t.Fatalf("the first row is %q", it.Key())
	}
}

func bytesOrNil(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

func TestRowsEndsWhenAsked(t *testing.T) {
	_, s := following(t, set("a", "1", 0), set("b", "1", 1))
	for row, err := range s.Rows(nil, nil) {
		noError(t, err)
		if string(row.Key) != "a" {
			t.Fatalf("went on to %q", row.Key)
		}
		break
	}
}

func TestClosedStore(t *testing.T) {
	_, s := following(t, set("a", "1", 0))
	noError(t, s.Close())
	noError(t, s.Close())
	if _, err := s.Get("a"); err == nil {
		t.Error("a closed store was read")
	}
	s.Stage(set("a", "2", 1))
	noError(t, s.SetOffset(1))
	if s.Flush() == nil {
		t.Error("a closed store was written")
	}
}
