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
	return &syncedJournal{w, f}, nil
}

type syncedJournal struct {
	storage.Writer
	files *inOrder
}

// Write fails once a journal couldn't be synced: LevelDB doesn't look at what Close
// says.
func (j *syncedJournal) Write(b []byte) (int, error) {
	if err := j.files.failed.Load(); err != nil {
		return 0, *err
	}
	return j.Writer.Write(b)
}

// Close syncs first.
func (j *syncedJournal) Close() error {
	err := j.Sync()
	if err != nil {
		j.files.failed.CompareAndSwap(nil, &err)
	}
	return errors.Join(err, j.Writer.Close())
}
