package source

import (
	"context"
	"iter"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
	"github.com/tieredlog/rlmm/views/check"
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

func (f folder) Rows(ctx context.Context, selected Selector) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for at := 0; at < len(f.stores); {
			f.progress(int64(at), int64(len(f.stores)))
			number := f.stores[at].Partition
			rows, next, err := f.furthest(at)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Row{}, err)
				return
			}
			if !yieldStored(number, rows, selected, yield) {
				return
			}
			at = next
		}
		f.progress(int64(len(f.stores)), int64(len(f.stores)))
	}
}

// furthest reads the stores of one metadata partition, which lie together, and returns
// the rows of the one that has applied more, and where the next partition's stores begin.
func (f folder) furthest(at int) (rows map[string]string, next int, err error) {
	applied := int64(-2) // less than that of an empty store
	for next = at; next < len(f.stores) && f.stores[next].Partition == f.stores[at].Partition; next++ {
		found, position, err := f.stores[next].Dump()
		if err != nil {
			return nil, next, err
		}
		if position.Applied > applied {
			rows, applied = found, position.Applied
		}
	}
	return rows, next, nil
}

// yieldStored decodes rows in the order of keys; false ends the iteration.
func yieldStored(number int32, rows map[string]string, selected Selector, yield func(Row, error) bool) bool {
	for stored, err := range check.InOrder(rows) {
		var row codec.Row
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
