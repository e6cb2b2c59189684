package store

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/util"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

var identity = Identity{
	ClusterID:       "cluster",
	MetadataTopicID: api.UUID{0: 1},
	TableTopicID:    api.UUID{0: 2},
}

const (
	// end is a table end that no store of these tests is near.
	end = 1000
	// anyAge keeps a store whose last record is from 1970.
	anyAge = time.Duration(math.MaxInt64)
)

// filled makes a store with rows a and b up to table offset 1 and returns its folder.
func filled(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "views", "7")
	s := opened(t, dir, Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}, ResetNone)
	for i, c := range []Change{set("a", "1", 10), set("b", strings.Repeat("x", 5000), 11)} {
		s.Stage(c)
		noError(t, s.SetOffset(int64(i)))
	}
	noError(t, s.Close())
	return dir
}

func opened(t *testing.T, dir string, want Expect, reset Reset) *Store {
	t.Helper()
	s, got, err := Open(dir, Options{}, want)
	noError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	wantSame(t, "reset", reset, got)
	return s
}

func files(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	noError(t, err)
	return found
}

// compacted moves all rows from the journal to a data file.
func compacted(t *testing.T, dir string) {
	t.Helper()
	s := opened(t, dir, Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}, ResetNone)
	noError(t, s.db.CompactRange(util.Range{}))
	noError(t, s.Close())
}

// grow adds rows that fill several blocks of a file, compressed or not.
func grow(t *testing.T, dir string) {
	t.Helper()
	s := opened(t, dir, Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}, ResetNone)
	noError(t, s.MarkRecovered())
	random := rand.NewChaCha8([32]byte{})
	for i := range int64(30) {
		value := make([]byte, 3000)
		_, _ = random.Read(value)
		s.Stage(Change{Key: fmt.Sprintf("r%02d", i), Value: value, Applied: 12 + i, Time: 112 + i})
		noError(t, s.SetOffset(2+i))
		noError(t, s.Flush())
	}
	noError(t, s.Close())
}

func overwrite(t *testing.T, files []string, change func([]byte) []byte) {
	t.Helper()
	if len(files) == 0 {
		t.Fatal("no such file")
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		noError(t, err)
		noError(t, os.WriteFile(f, change(b), 0o600))
	}
}

func garbage(b []byte) []byte { return []byte(strings.Repeat("\xee", len(b))) }

func TestOpenKeepsWhatFits(t *testing.T) {
	now := time.UnixMilli(111).Add(time.Hour) // the last record's time and an hour
	for name, want := range map[string]Expect{
		"behind the end":                {Identity: identity, TableEnd: end, MaxAge: anyAge},
		"at the end":                    {Identity: identity, TableEnd: 2, MaxAge: anyAge},
		"at the end, and nothing kept":  {Identity: identity, TableEnd: 2},
		"young":                         {Identity: identity, TableEnd: end, MaxAge: time.Hour, Now: now},
		"old at the end misses nothing": {Identity: identity, TableEnd: 2, MaxAge: time.Minute, Now: now},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			s := opened(t, dir, want, ResetNone)
			wantRow(t, s, "a", "1")
			wantSame(t, "position", Position{Table: 1, Applied: 11, Time: 111}, s.Committed())
			reset, err := s.Check(want)
			noError(t, err)
			wantSame(t, "check", ResetNone, reset)
			wantSame(t, "aside", []string(nil), files(t, filepath.Dir(dir), "*.aside-*"))
		})
	}
}

// damaged is a store's folder in a test.
type damaged struct {
	*testing.T
	dir string
}

// A start opens fifty stores: what each writes and syncs is what it takes.
func TestOpenOfAnUnchangedStoreWritesNoRows(t *testing.T) {
	dir := filled(t)
	reopen := func() []string {
		s := opened(t, dir, Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}, ResetNone)
		noError(t, s.Close())
		return files(t, dir, "*.ldb")
	}
	before := reopen() // moves what was written since into a file
	wantSame(t, "files", before, reopen())
	for _, journal := range files(t, dir, "*.log") {
		info, err := os.Stat(journal)
		noError(t, err)
		wantSame(t, "bytes of "+journal, int64(0), info.Size())
	}
}

func TestOpenResets(t *testing.T) {
	fits := Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}
	recreated := fits
	recreated.Identity.TableTopicID = api.UUID{0: 3}
	allRecreated := recreated
	allRecreated.Identity.MetadataTopicID = api.UUID{0: 4}
	for _, c := range []struct {
		name   string
		damage func(d damaged)
		want   Expect
		reset  Reset
	}{
		{"manifest is garbage", func(d damaged) {
			overwrite(d.T, files(d.T, d.dir, "MANIFEST-*"), garbage)
		}, fits, ResetCorrupt},
		{"manifest is empty", func(d damaged) {
			overwrite(d.T, files(d.T, d.dir, "MANIFEST-*"), func([]byte) []byte { return nil })
		}, fits, ResetCorrupt},
		{"manifest is missing", func(d damaged) {
			noError(d, os.Remove(files(d.T, d.dir, "MANIFEST-*")[0]))
		}, fits, ResetCorrupt},
		{"CURRENT is garbage", func(d damaged) {
			overwrite(d.T, files(d.T, d.dir, "CURRENT"), garbage)
		}, fits, ResetCorrupt},
		{"CURRENT is missing", func(d damaged) {
			noError(d, os.Remove(filepath.Join(d.dir, "CURRENT")))
		}, fits, ResetCorrupt},
		{"data file is garbage", func(d damaged) {
			compacted(d.T, d.dir)
			overwrite(d.T, files(d.T, d.dir, "*.ldb"), garbage)
		}, fits, ResetCorrupt},
		{"data file is missing", func(d damaged) {
			compacted(d.T, d.dir)
			noError(d, os.Remove(files(d.T, d.dir, "*.ldb")[0]))
		}, fits, ResetCorrupt},
		{"journal is damaged inside", func(d damaged) {
			grow(d.T, d.dir)
			overwrite(d.T, files(d.T, d.dir, "*.log"), func(b []byte) []byte { b[20] ^= 1; return b })
		}, fits, ResetCorrupt},
		{"position is no position", func(d damaged) { put(d.T, d.dir, positionKey, "?") }, fits, ResetCorrupt},
		{"identity is no identity", func(d damaged) { put(d.T, d.dir, identityKey, "{") }, fits, ResetCorrupt},
		{"format isn't told, as before there was one", func(d damaged) { put(d.T, d.dir, formatKey, "") }, fits, ResetFormat},
		{"format is older", func(d damaged) { put(d.T, d.dir, formatKey, "\x00\x01") }, fits, ResetFormat},
		{"format is newer, and its position another", func(d damaged) {
			put(d.T, d.dir, formatKey, "\x02\x01")
			put(d.T, d.dir, positionKey, "?")
		}, fits, ResetFormat},
		{"rows may be newer", func(d damaged) { put(d.T, d.dir, formatKey, string([]byte{format, newer})) }, fits, ResetFormat},
		{"format is no format", func(d damaged) { put(d.T, d.dir, formatKey, "?") }, fits, ResetCorrupt},
		{"identity is missing", func(d damaged) { put(d.T, d.dir, identityKey, "") }, fits, ResetCorrupt},
		{"table is another", nil, recreated, ResetTopicRecreated},
		{"table and metadata topic are others", nil, allRecreated, ResetTopicRecreated},
		{"store is at the end's offset", nil, Expect{Identity: identity, TableEnd: 1}, ResetBeyondEnd},
		{"table is empty", nil, Expect{Identity: identity}, ResetBeyondEnd},
		{"tombstones may be gone", nil, Expect{Identity: identity, TableEnd: 3, MaxAge: time.Hour}, ResetGap},
		{"tombstones aren't kept at all", nil, Expect{Identity: identity, TableEnd: 3}, ResetGap},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filled(t)
			if c.damage != nil {
				c.damage(damaged{t, dir})
			}
			s := opened(t, dir, c.want, c.reset)
			wantSame(t, "position", none, s.Committed())
			wantSame(t, "rows", map[string]string{}, onDisk(t, s).Rows)
			aside := files(t, filepath.Dir(dir), "7.aside-"+string(c.reset)+"-*")
			if len(aside) != 1 || len(files(t, aside[0], "LOG")) != 1 {
				t.Fatalf("moved aside: %v", aside)
			}
			noError(t, s.Close())
			opened(t, dir, c.want, ResetNone)
		})
	}
}

// newer is a row version that this release doesn't know.
const newer = byte(codec.NewestRowVersion + 1)

// A store of another release is read by nobody who can't read it: what is in it may look
// right.
func TestReadOfAnotherFormat(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		want  FormatError
	}{
		"before formats": {"", FormatError{}},
		"a newer format": {"\x02\x01", FormatError{2, 1}},
		"newer rows":     {string([]byte{format, newer}), FormatError{format, codec.RowVersion(newer)}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			put(t, dir, formatKey, c.value)
			_, err := Read(dir)
			var other *FormatError
			if !errors.As(err, &other) || *other != c.want {
				t.Errorf("%v", err)
			}
			wantSame(t, "position", none, Peek(dir))
		})
	}
}

// An older release's rows are read: the newest version that may be there is told anew.
func TestOpenTellsTheNewestRowVersion(t *testing.T) {
	dir := filled(t)
	put(t, dir, formatKey, string([]byte{format, 0}))
	s := opened(t, dir, Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}, ResetNone)
	wantRow(t, s, "a", "1")
	told, err := s.db.Get(formatKey, nil)
	noError(t, err)
	wantSame(t, "format", []byte{format, byte(codec.NewestRowVersion)}, told)
}

// put writes a key past the store; an empty value deletes it.
func put(t *testing.T, dir string, key []byte, value string) {
	t.Helper()
	db, err := leveldb.OpenFile(dir, nil)
	noError(t, err)
	if value == "" {
		noError(t, db.Delete(key, nil))
	} else {
		noError(t, db.Put(key, []byte(value), nil))
	}
	noError(t, db.Close())
}

func TestOnlyTheLastIsKeptAside(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a[b") // no pattern
	dir, other := filepath.Join(root, "7"), filepath.Join(root, "77.aside-corrupt-1")
	noError(t, os.MkdirAll(other, 0o750))
	for i := range 3 {
		want := Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}
		want.Identity.TableTopicID[1] = byte(i)
		reset := ResetTopicRecreated
		if i == 0 {
			reset = ResetNone
		}
		noError(t, opened(t, dir, want, reset).Close())
	}
	entries, err := os.ReadDir(root)
	noError(t, err)
	var aside []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "7.aside-topic_recreated-") {
			aside = append(aside, e.Name())
		}
	}
	if len(aside) != 1 || len(entries) != 3 {
		t.Fatalf("found %v, want the store, the last one aside, and that of another", entries)
	}
}

func TestIdentityErrorLeavesTheFolder(t *testing.T) {
	for name, id := range map[string]Identity{
		"another metadata topic": {"cluster", api.UUID{0: 9}, identity.TableTopicID},
		"another cluster":        {"other", identity.MetadataTopicID, identity.TableTopicID},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			s, reset, err := Open(dir, Options{}, Expect{Identity: id, TableEnd: end, MaxAge: anyAge})
			var wrong *IdentityError
			if s != nil || reset != ResetNone || !errors.As(err, &wrong) {
				t.Fatalf("got %v, %q, %v", s, reset, err)
			}
			wantSame(t, "error", IdentityError{identity, id}, *wrong)
			if !strings.Contains(err.Error(), "rlmm reset") {
				t.Errorf("%q names no remedy", err)
			}
			wantSame(t, "aside", []string(nil), files(t, filepath.Dir(dir), "*.aside-*"))
			wantRow(t, opened(t, dir, Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}, ResetNone), "a", "1")
		})
	}
}

func TestOpenErrors(t *testing.T) {
	dir := filled(t)
	s := opened(t, dir, Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}, ResetNone)
	if _, reset, err := Open(dir, Options{}, Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}); err == nil || reset != ResetNone {
		t.Errorf("opened twice: %q, %v", reset, err)
	}
	wantRow(t, s, "a", "1")
	occupied := filepath.Join(t.TempDir(), "file")
	noError(t, os.WriteFile(occupied, nil, 0o600))
	for _, dir := range []string{occupied, filepath.Join(occupied, "below")} {
		if _, reset, err := Open(dir, Options{}, Expect{}); err == nil || reset != ResetNone {
			t.Errorf("opened in %s: %q, %v", dir, reset, err)
		}
	}
}

// TestDamageFoundInUse: LevelDB reads most data files long after it was opened.
func TestDamageFoundInUse(t *testing.T) {
	want := Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}
	for name, touch := range map[string]func(*Store) error{
		"get": func(s *Store) (last error) {
			for i := range 30 {
				if _, err := s.Get(fmt.Sprintf("r%02d", i)); err != nil {
					last = err
				}
			}
			return last
		},
		"scan": func(s *Store) (last error) {
			for _, err := range s.Rows(nil, nil) {
				last = err
			}
			return last
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			grow(t, dir)
			compacted(t, dir)
			overwrite(t, files(t, dir, "*.ldb"), func(b []byte) []byte {
				b[len(b)/2] ^= 1
				return b
			})
			s := opened(t, dir, want, ResetNone)
			if err := touch(s); err == nil {
				t.Fatal("read what is damaged")
			}
			reset, err := s.Check(want)
			noError(t, err)
			wantSame(t, "check", ResetCorrupt, reset)
			noError(t, s.Close())
			wantSame(t, "position", none, opened(t, dir, want, ResetCorrupt).Committed())
		})
	}
}

func TestCheck(t *testing.T) {
	s := opened(t, filled(t), Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}, ResetNone)
	other := identity
	other.MetadataTopicID = api.UUID{}
	if _, err := s.Check(Expect{Identity: other, TableEnd: end}); err == nil {
		t.Error("another metadata topic fits")
	}
	reset, err := s.Check(Expect{Identity: identity, TableEnd: 1})
	noError(t, err)
	wantSame(t, "truncated", ResetBeyondEnd, reset)
	noError(t, s.Close())
	if reset, err = s.Check(Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}); err == nil || reset != ResetNone {
		t.Errorf("a closed store: %q, %v", reset, err)
	}
}

func TestPeek(t *testing.T) {
	dir := filled(t)
	before := files(t, dir, "*")
	wantSame(t, "closed store", Position{Table: 1, Applied: 11, Time: 111}, Peek(dir))
	wantSame(t, "files", before, files(t, dir, "*"))
	s := opened(t, dir, Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}, ResetNone)
	wantSame(t, "open store", none, Peek(dir))
	noError(t, s.Close())
	missing := filepath.Join(t.TempDir(), "none")
	wantSame(t, "no store", none, Peek(missing))
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the look left something: %v", err)
	}
	overwrite(t, files(t, dir, "CURRENT"), garbage)
	wantSame(t, "corrupt store", none, Peek(dir))
}
