package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// FolderError says that a data folder is no folder, or that this process may not write
// there. No retry mends it. A full disk, and one that is mounted read-only, are none:
// they may be well again.
type FolderError struct {
	Dir string
	Err error
}

// Error names the folder, the cause and the remedy.
func (e *FolderError) Error() string {
	return fmt.Sprintf("the data folder %s can't be used: %v; make it a folder that this process may write to, or choose another", e.Dir, e.Err)
}

// Unwrap returns the cause.
func (e *FolderError) Unwrap() error { return e.Err }

// Unhealable marks the error.
func (*FolderError) Unhealable() {}

// folderError returns the error, as a [FolderError] when it is one.
func folderError(dir string, err error) error {
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) {
		return &FolderError{dir, err}
	}
	return err
}
