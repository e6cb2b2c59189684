// Package disktest is a disk in memory for LevelDB that breaks at a step of choice: each
// creation, write, sync, removal and renaming is one. What a kill, or a power cut, would
// leave of it can be had at any moment.
package disktest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/syndtr/goleveldb/leveldb/storage"
)

// Err is what a broken disk says.
var Err = errors.New("the disk is gone")

// Disk holds one store. It is safe for concurrent use.
type Disk struct {
	mu     sync.Mutex
	files  map[storage.FileDesc]*contents
	meta   storage.FileDesc
	locked bool

	steps   int
	breakAt int // 0 is never
	healAt  int // 0 is never
	torn    func(size int) (n int)
}

type contents struct {
	bytes  []byte
	synced int // how many of them a power cut leaves
}

// New returns an empty disk in good health.
func New() *Disk { return &Disk{files: map[storage.FileDesc]*contents{}} }

// BreakAt lets the disk fail from the step on, the first one that it ever took being 1.
// The write that it breaks in keeps torn(size) bytes; nothing when torn is nil.
func (d *Disk) BreakAt(step int, torn func(size int) int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.breakAt, d.healAt, d.torn = step, 0, torn
}

// FailOnce lets the disk fail at that step only.
func (d *Disk) FailOnce(step int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.breakAt, d.healAt, d.torn = step, step+1, nil
}

// Break lets the disk fail from now on.
func (d *Disk) Break() { d.BreakAt(d.Steps()+1, nil) }

// Heal lets the disk work from now on.
func (d *Disk) Heal() { d.BreakAt(0, nil) }

// Steps is how many steps the disk was asked for.
func (d *Disk) Steps() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.steps
}

// Copy returns the disk as a kill now would leave it, in good health.
func (d *Disk) Copy() *Disk {
	return d.copyOf(func(_ storage.FileDesc, c contents) int { return len(c.bytes) })
}

// AfterPowerCut returns the disk as a power cut now would leave it, in good health: what
// wasn't synced is gone, but for the files that keep chooses: a disk writes in any order.
func (d *Disk) AfterPowerCut(keep func(storage.FileDesc) bool) *Disk {
	return d.copyOf(func(fd storage.FileDesc, c contents) int {
		if keep(fd) {
			return len(c.bytes)
		}
		return c.synced
	})
}

func (d *Disk) copyOf(left func(storage.FileDesc, contents) int) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := New()
	c.meta = d.meta
	for fd, f := range d.files {
		n := left(fd, *f)
		c.files[fd] = &contents{bytes.Clone(f.bytes[:n]), n}
	}
	return c
}

// Contents is what a file holds, to be damaged in place.
func (d *Disk) Contents(fd storage.FileDesc) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files[fd].bytes
}

// Truncate cuts a file.
func (d *Disk) Truncate(fd storage.FileDesc, size int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[fd]
	f.bytes, f.synced = f.bytes[:size], min(f.synced, size)
}

// In is a store's hook for the folder. A folder on the real disk stands for this one:
// when it was moved away the disk is empty again.
func (d *Disk) In(dir string) (storage.Storage, error) {
	err := os.Mkdir(dir, 0o750)
	switch {
	case errors.Is(err, fs.ErrExist):
	case err != nil:
		return nil, fmt.Errorf("make the folder that stands for a disk: %w", err)
	default:
		d.mu.Lock()
		defer d.mu.Unlock()
		clear(d.files)
		d.meta = storage.FileDesc{}
	}
	return d, nil
}

// step counts one and tells whether the disk does it.
func (d *Disk) step() error {
	d.steps++
	if d.breakAt > 0 && d.steps >= d.breakAt && (d.healAt == 0 || d.steps < d.healAt) {
		return Err
	}
	return nil
}

// Lock is not counted: the disk is free again when its process is killed.
func (d *Disk) Lock() (storage.Locker, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked {
		return nil, storage.ErrLocked
	}
	d.locked = true
	return unlocker{d}, nil
}

type unlocker struct{ *Disk }

func (u unlocker) Unlock() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.locked = false
}

// Log forgets what LevelDB tells.
func (*Disk) Log(string) {}

// SetMeta is a step. LevelDB's own storage syncs it.
func (d *Disk) SetMeta(fd storage.FileDesc) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	d.meta = fd
	return nil
}

// GetMeta returns what SetMeta has set.
func (d *Disk) GetMeta() (storage.FileDesc, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.meta.Zero() {
		return d.meta, os.ErrNotExist
	}
	return d.meta, nil
}

// List returns the files of the types.
func (d *Disk) List(types storage.FileType) (found []storage.FileDesc, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for fd := range d.files {
		if fd.Type&types != 0 {
			found = append(found, fd)
		}
	}
	return found, nil
}

// Open reads a file as it is now.
func (d *Disk) Open(fd storage.FileDesc) (storage.Reader, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, ok := d.files[fd]
	if !ok {
		return nil, os.ErrNotExist
	}
	return reader{bytes.NewReader(f.bytes)}, nil
}

type reader struct{ *bytes.Reader }

// Close does nothing.
func (reader) Close() error { return nil }

// Create is a step.
func (d *Disk) Create(fd storage.FileDesc) (storage.Writer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return nil, err
	}
	f := &contents{}
	d.files[fd] = f
	return &writer{d, f}, nil
}

// Remove is a step.
func (d *Disk) Remove(fd storage.FileDesc) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	delete(d.files, fd)
	return nil
}

// Rename is a step.
func (d *Disk) Rename(from, to storage.FileDesc) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	d.files[to] = d.files[from]
	delete(d.files, from)
	return nil
}

// Close leaves the disk to those who open it again.
func (*Disk) Close() error { return nil }

type writer struct {
	disk *Disk
	file *contents
}

// Write is a step.
func (w *writer) Write(b []byte) (int, error) {
	d := w.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := len(b), d.step()
	switch {
	case err != nil && d.steps == d.breakAt && d.torn != nil:
		n = d.torn(len(b))
	case err != nil:
		n = 0
	}
	w.file.bytes = append(w.file.bytes, b[:n]...)
	return n, err
}

// Sync is a step.
func (w *writer) Sync() error {
	w.disk.mu.Lock()
	defer w.disk.mu.Unlock()
	if err := w.disk.step(); err != nil {
		return err
	}
	w.file.synced = len(w.file.bytes)
	return nil
}

// Close isn't a step.
func (*writer) Close() error { return nil }

var _ storage.Storage = (*Disk)(nil)
