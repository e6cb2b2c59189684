package rlmmtest

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/syndtr/goleveldb/leveldb"

	"github.com/tieredlog/rlmm/internal/store"
)

// StoreFormats are two bytes each, as docs/formats.md has them: of stores that another
// release wrote, older and newer than this one.
var StoreFormats = map[string]string{"older": "\x00\x01", "newer": "\xff\x01", "newer rows": "\x01\xff"}

// SetFormat writes the formats into a store that nobody has open.
func SetFormat(t testing.TB, dir, formats string) {
	t.Helper()
	db, err := leveldb.OpenFile(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Put([]byte("\x00format"), []byte(formats), nil), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// WantMovedAside fails the test unless just one store is aside for the reason.
func WantMovedAside(t testing.TB, dir string, why store.Reset) {
	t.Helper()
	if found, _ := filepath.Glob(dir + ".aside-*"); len(found) != 1 || !isAside(found[0], dir, why) {
		t.Errorf("moved aside: %q, want one for %s", found, why)
	}
}

func isAside(folder, dir string, why store.Reset) bool {
	ok, _ := filepath.Match(dir+".aside-"+string(why)+"-*", folder)
	return ok
}
