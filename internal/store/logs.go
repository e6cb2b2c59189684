package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/syndtr/goleveldb/leveldb/journal"
	"github.com/syndtr/goleveldb/leveldb/storage"
)

// checkLogs looks for damage that LevelDB passes over in silence. Of a log it skips
// what fails its checksum and goes on with what follows: a store that is no prefix of
// the table any more, but has its position. Only a torn end is what a kill leaves.
func checkLogs(files storage.Storage) error {
	manifest, err := files.GetMeta()
	if errors.Is(err, os.ErrNotExist) {
		return nil // a new store; or LevelDB says what is missing
	}
	if err != nil {
		return err
	}
	journals, err := files.List(storage.TypeJournal)
	if err != nil {
		return err
	}
	slices.SortFunc(journals, func(a, b storage.FileDesc) int { return int(a.Num - b.Num) })
	// One journal goes on where the one before ended.
	return errors.Join(checkLog(files, manifest), checkLog(files, journals...))
}

func checkLog(files storage.Storage, parts ...storage.FileDesc) error {
	var damage damage
	for _, fd := range parts {
		if err := damage.scan(files, fd); err != nil {
			return fmt.Errorf("check %s: %w", fd, err)
		}
	}
	return nil
}

// damage is the first one in a log, nil while there is none.
type damage struct{ first error }

// Drop is journal's report of what it skips.
func (d *damage) Drop(err error) {
	if d.first == nil {
		d.first = err
	}
}

// scan fails when anything readable follows the damage.
func (d *damage) scan(files storage.Storage, fd storage.FileDesc) error {
	f, err := files.Open(fd)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	log := journal.NewReader(f, d, false, true)
	for {
		record, err := log.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			_, err = io.Copy(io.Discard, record)
		}
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF): // told to Drop
		case err != nil:
			return err
		case d.first != nil:
			return fmt.Errorf("%w: records follow after %w", errCorrupt, d.first)
		}
	}
}
