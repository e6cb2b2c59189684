package store

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"
)

var errDisk = errors.New("the disk is gone")

// disk is LevelDB's storage in memory. It can be copied as it is at any moment, as a
// kill would leave it, and it dies at a step of choice: each creation, write, sync,
// removal and renaming is one.
type disk struct {
	mu     sync.Mutex
	files  map[storage.FileDesc][]byte
	meta   storage.FileDesc
	locked bool

	steps int
	dieAt int                    // 0 is never
	torn  func(size int) (n int) // how much of the write that it dies in is kept
}

func newDisk() *disk { return &disk{files: map[storage.FileDesc][]byte{}} }

// copy returns the disk as it is, in good health.
func (d *disk) copy() *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := newDisk()
	c.meta = d.meta
	for fd, b := range d.files {
		c.files[fd] = bytes.Clone(b)
	}
	return c
}

// open opens the store on the disk.
func (d *disk) open(dir string, o *opt.Options) (*Store, error) {
	s, err := openFiles(d, o)
	if err == nil {
		s.dir = dir
	}
	return s, err
}

// step counts one and tells whether the disk is alive after it.
func (d *disk) step() error {
	d.steps++
	if d.dieAt > 0 && d.steps >= d.dieAt {
		return errDisk
	}
	return nil
}

// Lock is not counted: the disk is free again when its process is killed.
func (d *disk) Lock() (storage.Locker, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked {
		return nil, storage.ErrLocked
	}
	d.locked = true
	return unlocker{d}, nil
}

type unlocker struct{ *disk }

func (u unlocker) Unlock() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.locked = false
}

func (*disk) Log(string) {}

func (d *disk) SetMeta(fd storage.FileDesc) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	d.meta = fd
	return nil
}

func (d *disk) GetMeta() (storage.FileDesc, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.meta.Zero() {
		return d.meta, os.ErrNotExist
	}
	return d.meta, nil
}

func (d *disk) List(types storage.FileType) (found []storage.FileDesc, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for fd := range d.files {
		if fd.Type&types != 0 {
			found = append(found, fd)
		}
	}
	return found, nil
}

func (d *disk) Open(fd storage.FileDesc) (storage.Reader, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, ok := d.files[fd]
	if !ok {
		return nil, os.ErrNotExist
	}
	return file{bytes.NewReader(b)}, nil
}

type file struct{ *bytes.Reader }

func (file) Close() error { return nil }

func (d *disk) Create(fd storage.FileDesc) (storage.Writer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return nil, err
	}
	d.files[fd] = nil
	return &writer{d, fd}, nil
}

func (d *disk) Remove(fd storage.FileDesc) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	delete(d.files, fd)
	return nil
}

func (d *disk) Rename(from, to storage.FileDesc) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	d.files[to] = d.files[from]
	delete(d.files, from)
	return nil
}

func (*disk) Close() error { return nil }

type writer struct {
	disk *disk
	fd   storage.FileDesc
}

func (w *writer) Write(b []byte) (int, error) {
	d := w.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := len(b), d.step()
	switch {
	case err != nil && d.steps == d.dieAt && d.torn != nil:
		n = d.torn(len(b))
	case err != nil:
		n = 0
	}
	if old, ok := d.files[w.fd]; ok {
		d.files[w.fd] = append(old, b[:n]...)
	}
	return n, err
}

func (w *writer) Sync() error {
	w.disk.mu.Lock()
	defer w.disk.mu.Unlock()
	return w.disk.step()
}

func (*writer) Close() error { return nil }

var (
	_ storage.Storage = (*disk)(nil)
	_ io.Closer       = (*disk)(nil)
)
