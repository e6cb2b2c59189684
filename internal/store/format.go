package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/syndtr/goleveldb/leveldb"

	"github.com/tieredlog/rlmm/codec"
)

// format is the version of what a store holds beside its rows: position, identity, and
// this. It is raised when one of them changes.
const format = 1

// formatKey holds two bytes: the store's format, and the newest row version that a release
// knew which wrote to it.
var formatKey = []byte("\x00format")

// FormatError says that a release wrote the store whose formats this one doesn't read. Who
// is to use the store moves it aside and builds it anew from the table.
type FormatError struct {
	// Format is the store's; 0 of one that is older than formats were told.
	Format uint8
	// Rows is the newest version of a row that may be in the store.
	Rows codec.RowVersion
}

// Error names the formats and the remedy.
func (e *FormatError) Error() string {
	return fmt.Sprintf("the store has format %d and rows up to version %d, and this release reads format %d and rows up to version %d: read it with the release that wrote it",
		e.Format, e.Rows, format, codec.NewestRowVersion)
}

// fitFormat returns a [FormatError] for a store that another release wrote and this one
// can't read. Into one that it can, and is to write to, it writes the formats first.
func fitFormat(db *leveldb.DB, readOnly bool) error {
	ours := []byte{format, byte(codec.NewestRowVersion)}
	b, err := db.Get(formatKey, nil)
	switch {
	case errors.Is(err, leveldb.ErrNotFound):
		err = checkNew(db)
	case err != nil:
		err = fmt.Errorf("read the store's format: %w", err)
	case len(b) != len(ours):
		err = fmt.Errorf("the store's format has %d bytes, not %d: %w", len(b), len(ours), errCorrupt)
	case b[0] != format || codec.RowVersion(b[1]) > codec.NewestRowVersion:
		err = &FormatError{b[0], codec.RowVersion(b[1])}
	}
	if err != nil || readOnly || bytes.Equal(b, ours) {
		return err
	}
	if err := db.Put(formatKey, ours, nil); err != nil {
		return fmt.Errorf("write the store's format: %w", err)
	}
	return nil
}

// checkNew returns a [FormatError] unless the store was never written to.
func checkNew(db *leveldb.DB) error {
	it := db.NewIterator(nil, nil)
	defer it.Release()
	if it.Next() {
		return &FormatError{}
	}
	if err := it.Error(); err != nil {
		return fmt.Errorf("read the store: %w", err)
	}
	return nil
}
