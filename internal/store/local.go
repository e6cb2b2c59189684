package store

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// Local is the store of a metadata partition in the data folder of a processor or server.
type Local struct {
	// Name is where it lies in the folder, processor/7 for one.
	Name string
	// Partition is the metadata partition.
	Partition int32

	data string
}

// Locals lists the stores of a data folder by metadata partition, a processor's before a
// view's; those that were moved aside are left out. To find none is an error.
func Locals(data string) ([]Local, error) {
	var all []Local
	for _, part := range []string{"processor", "views"} {
		entries, err := os.ReadDir(filepath.Join(data, part))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if number, err := strconv.ParseUint(e.Name(), 10, 31); err == nil && e.IsDir() {
				all = append(all, Local{path.Join(part, e.Name()), int32(number), data})
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no store in %s: there is neither processor/N nor views/N", data)
	}
	slices.SortStableFunc(all, func(a, b Local) int { return cmp.Compare(a.Partition, b.Partition) })
	return all, nil
}

func (l Local) dir() string { return filepath.Join(l.data, filepath.FromSlash(l.Name)) }

// Read opens the store to be read; nothing is written. One that a running process holds is
// a [LocalInUseError].
func (l Local) Read() (*Reader, error) {
	r, err := Read(l.dir())
	if errors.Is(err, syscall.EAGAIN) { // the lock of its folder
		err = &LocalInUseError{l.Name, err}
	}
	return r, err
}

// LocalInUseError is a store that a running process holds.
type LocalInUseError struct {
	Name string
	Err  error
}

// Error names the store and the remedy.
func (e *LocalInUseError) Error() string {
	return fmt.Sprintf("the store %s is in use by a running process; stop it first: %v", e.Name, e.Err)
}

// Unwrap returns the lock's error.
func (e *LocalInUseError) Unwrap() error { return e.Err }
