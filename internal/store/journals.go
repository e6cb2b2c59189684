package store

import (
	"errors"
	"sync/atomic"

	"github.com/syndtr/goleveldb/leveldb/storage"
)

// inOrder is files whose journals reach the disk in their order. LevelDB syncs none and
// begins a new one before the rows of the old one are in a synced file: a power cut
// might take the old one's end and leave the new one, a store that has its position and
// lacks rows.
type inOrder struct {
	storage.Storage
	failed atomic.Pointer[error] // the first sync that failed
}

// Create makes a journal be synced when it is closed, which is before the next one is
// written to.
func (f *inOrder) Create(fd storage.FileDesc) (storage.Writer, error) {
	w, err := f.Storage.Create(fd)
	if err != nil || fd.Type != storage.TypeJournal {
		return w, err
	}
	return &syncedJournal{Writer: w, files: f}, nil
}

type syncedJournal struct {
	storage.Writer
	files   *inOrder
	written bool
}

// Write fails once a journal couldn't be synced: LevelDB doesn't look at what Close
// says.
func (j *syncedJournal) Write(b []byte) (int, error) {
	if err := j.files.failed.Load(); err != nil {
		return 0, *err
	}
	j.written = true
	return j.Writer.Write(b)
}

// Close syncs what was written first.
func (j *syncedJournal) Close() error {
	if !j.written {
		return j.Writer.Close()
	}
	err := j.Sync()
	if err != nil {
		j.files.failed.CompareAndSwap(nil, &err)
	}
	return errors.Join(err, j.Writer.Close())
}
