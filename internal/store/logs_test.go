package store

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/tieredlog/rlmm/internal/disktest"
)

// TestDamagedLog flips each byte of the journal and of the manifest in turn. What
// opens must be a prefix of the table all the same.
func TestDamagedLog(t *testing.T) {
	for name, typ := range map[string]storage.FileType{"journal": storage.TypeJournal, "manifest": storage.TypeManifest} {
		t.Run(name, func(t *testing.T) {
			var table []Change
			for i := range int64(5) {
				table = append(table, set(fmt.Sprint("k", i%3), fmt.Sprint(i), i))
			}
			d, _ := following(t, table...)
			fds, _ := d.List(typ)
			for i := range d.Contents(fds[0]) {
				damaged := d.Copy()
				damaged.Contents(fds[0])[i] ^= 0x41
				wantPrefix(t, damaged, table, fmt.Sprintf("byte %d", i))
			}
		})
	}
}

// TestHoleInLog zeroes a block, as an unsynced page after a power failure.
func TestHoleInLog(t *testing.T) {
	const block = 32 << 10
	var table []Change
	for i := range int64(60) {
		table = append(table, set(fmt.Sprint("k", i%5), string(bytes.Repeat([]byte("v"), 3000)), i))
	}
	d, _ := following(t, table...)
	fds, _ := d.List(storage.TypeJournal)
	size := len(d.Contents(fds[0]))
	for from := 0; from < size; from += block {
		holed := d.Copy()
		clear(holed.Contents(fds[0])[from:min(from+block, size)])
		wantPrefix(t, holed, table, fmt.Sprintf("hole at %d", from))
		cut := d.Copy()
		cut.Truncate(fds[0], from+block/2)
		s, err := onto(cut, t.TempDir(), Options{}.leveldb())
		noError(t, err) // a torn end is no damage
		noError(t, s.Close())
		wantPrefix(t, cut, table, fmt.Sprintf("cut at %d", from))
	}
}

func wantPrefix(t *testing.T, d *disktest.Disk, table []Change, what string) {
	t.Helper()
	s, err := onto(d, t.TempDir(), Options{}.leveldb())
	if err != nil {
		if !isCorrupt(err) {
			t.Fatalf("%s: %v is no corruption", what, err)
		}
		return
	}
	defer s.Close()
	wantSame(t, what, prefix(table, s.Committed().Table+1), onDisk(t, s))
}

func TestIsCorrupt(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{disktest.Err, false},
		{errCorrupt, true},
		{fmt.Errorf("a: %w", errors.Join(fmt.Errorf("b: %w", &storage.ErrCorrupted{Err: disktest.Err}), nil)), true},
	} {
		if got := isCorrupt(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
