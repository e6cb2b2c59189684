package store_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

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
