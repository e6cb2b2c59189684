package source

import (
	"context"
	"errors"
	"iter"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

// folder reads the data folder of a stopped process.
type folder struct {
	stores   []store.Local // by metadata partition
	progress Progress
}

// OpenFolder returns the source that reads the stores in a data folder, processor/N and
// views/N; of two of one metadata partition the one that has applied more. Nothing is
// written. A store that a running process holds ends the reading with a
// [store.LocalInUseError].
func OpenFolder(dir string, progress Progress) (Source, error) {
	stores, err := store.Locals(dir)
	if err != nil {
		return nil, err
	}
	return folder{stores, progress}, nil
}

func (folder) Close() error { return nil }

func (f folder) Covers(context.Context) (int, error) {
	partitions := map[int32]bool{}
	for _, s := range f.stores {
		partitions[s.Partition] = true
	}
	return len(partitions), nil
}

func (f folder) Rows(ctx context.Context, selected Selector) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for at := 0; at < len(f.stores); {
			f.progress(int64(at), int64(len(f.stores)))
			number := f.stores[at].Partition
			reader, next, err := f.furthest(at)
			if err != nil {
				yield(Row{}, err)
				return
			}
			if !yieldStored(ctx, number, reader, selected, yield) {
				return
			}
			at = next
		}
		f.progress(int64(len(f.stores)), int64(len(f.stores)))
	}
}

// furthest opens the stores of one metadata partition, which lie together, and returns
// the one that has applied more, and where the next partition's stores begin.
func (f folder) furthest(at int) (best *store.Reader, next int, err error) {
	for next = at; next < len(f.stores) && f.stores[next].Partition == f.stores[at].Partition; next++ {
		reader, err := f.stores[next].Read()
		if err == nil && best != nil {
			best, err = further(best, reader)
		} else if err == nil {
			best = reader
		}
		if err != nil {
			return nil, next, errors.Join(err, closeReader(best))
		}
	}
	return best, next, nil
}

// further closes the reader that has applied less, and returns the other.
func further(a, b *store.Reader) (*store.Reader, error) {
	if b.Position().Applied > a.Position().Applied {
		a, b = b, a
	}
	return a, b.Close()
}

func closeReader(r *store.Reader) error {
	if r == nil {
		return nil
	}
	return r.Close()
}

// yieldStored decodes the rows in the order of keys and closes the reader; false ends the
// iteration.
func yieldStored(ctx context.Context, number int32, r *store.Reader, selected Selector, yield func(Row, error) bool) bool {
	defer r.Close() //nolint:errcheck // nothing is lost
	for stored, err := range r.Rows() {
		var row codec.Row
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			row, err = table.DecodeRow(string(stored.Key), stored.Value)
		}
		if err != nil {
			yield(Row{}, err)
			return false
		}
		if selected.Matches(row.Partition()) && !yield(Row{MetadataPartition: number, Row: row}, nil) {
			return false
		}
	}
	return true
}
