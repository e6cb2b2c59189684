//go:build integration

package faults_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// mounted is a tmpfs of a few MiB over a folder. A data folder on it can be filled and
// made read-only; the tests' user may do neither without it, since root may write
// anywhere.
type mounted struct {
	t   *testing.T
	dir string
}

// mount puts an empty tmpfs of the size over the folder, which it makes if needed, until
// the test ends. Without the right to mount the test fails.
func mount(t *testing.T, dir, size string) *mounted {
	t.Helper()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	m := &mounted{t, dir}
	m.do(0, "size="+size)
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return m
}

func (m *mounted) do(flags uintptr, options string) {
	m.t.Helper()
	if err := syscall.Mount("tmpfs", m.dir, "tmpfs", flags, options); err != nil {
		m.t.Fatalf("mount a tmpfs on %s (this test needs the right to, CAP_SYS_ADMIN): %v", m.dir, err)
	}
}

// readOnly remounts, and returns how to take that back; nobody may have a file open to
// write.
func (m *mounted) readOnly() (writable func()) {
	m.t.Helper()
	m.do(syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	return func() { m.do(syscall.MS_REMOUNT, "") }
}

// cover puts an empty read-only tmpfs on top: nothing that isn't open already can be
// reached, and nothing be made. It returns how to take it away.
func (m *mounted) cover() (uncover func()) {
	m.t.Helper()
	m.do(syscall.MS_RDONLY, "size=1m")
	return func() {
		if err := syscall.Unmount(m.dir, syscall.MNT_DETACH); err != nil {
			m.t.Errorf("unmount %s: %v", m.dir, err)
		}
	}
}

// fill takes all space that is left, and returns how to free it.
func (m *mounted) fill() (free func()) {
	m.t.Helper()
	filler, err := os.Create(filepath.Join(m.dir, "filler"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer filler.Close()
	if _, err := io.Copy(filler, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		m.t.Fatalf("filled %s up to %v", m.dir, err)
	}
	return func() {
		if err := os.Remove(filler.Name()); err != nil {
			m.t.Error(err)
		}
	}
}

// zeros never end.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
