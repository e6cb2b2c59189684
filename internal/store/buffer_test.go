package store

import (
	"sync/atomic"
	"testing"

	"github.com/syndtr/goleveldb/leveldb/storage"
)

// A store gets the large buffer when it has a whole table to read, and the small one when
// it only follows: fifty large ones would be most of a view's memory.
func TestBufferSuitsWhatIsToBeRead(t *testing.T) {
	options := Options{WriteBuffer: 256 << 10, FollowBuffer: 16 << 10}
	for _, c := range []struct {
		name    string
		options Options
		have    int64 // records in the store before, −1 for no store
		end     int64 // the table's
		want    int64 // files of rows that the writes make at least
		most    int64
	}{
		{"a new store of a new table", options, -1, 0, 5, 20},
		{"a new store of a long table", options, -1, farBehind + 2, 0, 0},
		{"a store near the end", options, 10, 20, 5, 20},
		{"a store far behind", options, 10, farBehind + 12, 0, 0},
		{"a smaller buffer for all", Options{WriteBuffer: 16 << 10, FollowBuffer: 1 << 20}, 10, 20, 5, 20},
		{"one buffer for all", Options{WriteBuffer: 256 << 10}, 10, 20, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir() + "/0"
			if c.have > 0 {
				s := openedStore(t, dir, c.options, Expect{TableEnd: c.have})
				s.Stage(Change{Applied: 1, Time: 1})
				noError(t, s.SetOffset(c.have-1))
				noError(t, s.Close())
			}
			var created atomic.Int64
			c.options.Storage = func(dir string) (storage.Storage, error) {
				files, err := storage.OpenFile(dir, false)
				return &counted{files, &created}, err
			}
			s := openedStore(t, dir, c.options, Expect{TableEnd: c.end, MaxAge: 1 << 62})
			created.Store(0)
			for i := range int64(800) {
				s.Stage(benchChange(int(i)))
				noError(t, s.SetOffset(c.end+i))
				noError(t, s.Flush())
			}
			noError(t, s.Close())
			if n := created.Load(); n < c.want || n > c.most {
				t.Errorf("%d files of rows, want %d to %d", n, c.want, c.most)
			}
		})
	}
}

func openedStore(t *testing.T, dir string, o Options, want Expect) *Store {
	t.Helper()
	s, reset, err := Open(dir, o, want)
	if err != nil || reset != ResetNone {
		t.Fatal(reset, err)
	}
	return s
}

// counted counts the files of rows that are created.
type counted struct {
	storage.Storage
	created *atomic.Int64
}

func (c *counted) Create(fd storage.FileDesc) (storage.Writer, error) {
	if fd.Type == storage.TypeTable {
		c.created.Add(1)
	}
	return c.Storage.Create(fd)
}
