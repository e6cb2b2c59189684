package store

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// InUseError says that another process works in a data folder. No retry mends it while
// that process lives.
type InUseError struct{ Dir string }

// Error names the folder and the remedy.
func (e *InUseError) Error() string {
	return fmt.Sprintf("the data folder %s is in use by a running process; give each a folder of its own", e.Dir)
}

// Unhealable marks the error.
func (*InUseError) Unhealable() {}

// Lock makes the folder, if needed, and takes it for this process until unlock. It is
// free again when the process ends, however that is. Another process in it is an
// [InUseError]; what is no folder to write to is a [FolderError].
func Lock(dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, folderError(dir, fmt.Errorf("make the data folder: %w", err))
	}
	lock := flock.New(filepath.Join(dir, "LOCK"))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, folderError(dir, fmt.Errorf("lock the data folder: %w", err))
	}
	if !ok {
		return nil, &InUseError{dir}
	}
	return lock.Unlock, nil
}
