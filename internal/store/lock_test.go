package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/tieredlog/rlmm/internal/store"
)

func TestLockIsOneProcesssAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "views")
	unlock, err := store.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Lock(dir)
	if inUse := (*store.InUseError)(nil); !errors.As(err, &inUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second lock: %v, want an error that names the folder", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	again, err := store.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
}

// What is no folder, or isn't ours to write to, is told as such; a disk that is full or
// mounted read-only may be well again.
func TestFolderThatNoRetryMends(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, inLock := store.Lock(filepath.Join(file, "views"))
	_, _, inOpen := store.Open(filepath.Join(file, "views", "0"), store.Options{}, store.Expect{})
	onStorage := func(cause error) error {
		failing := func(dir string) (storage.Storage, error) {
			return nil, &fs.PathError{Op: "open", Path: dir, Err: cause}
		}
		_, _, err := store.Open(filepath.Join(t.TempDir(), "file", "0"), store.Options{Storage: failing}, store.Expect{})
		return err
	}
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"no folder":           {inLock, true},
		"no folder to open":   {inOpen, true},
		"no permission":       {onStorage(syscall.EACCES), true},
		"operation forbidden": {onStorage(syscall.EPERM), true},
		"full":                {onStorage(syscall.ENOSPC), false},
		"read-only":           {onStorage(syscall.EROFS), false},
	} {
		var folder *store.FolderError
		if errors.As(tt.err, &folder) != tt.want || !strings.Contains(tt.err.Error(), "file") {
			t.Errorf("%s: %v", name, tt.err)
		}
	}
}
