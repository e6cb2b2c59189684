package store

import (
	"fmt"
	"iter"

	"github.com/lovoo/goka/storage"
	"github.com/syndtr/goleveldb/leveldb/iterator"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"
)

// firstRow is the least key that a visible row can have: below it lie our own keys
// (zero byte) and the hidden ones ('!').
var firstRow = []byte{'!' + 1}

// firstKey is the least key that the table can have.
var firstKey = []byte{1}

// Rows iterates, in key order, over the visible rows on disk from start (nil: the
// first) to limit, exclusive (nil: all). What is staged isn't seen: Flush first. Key
// and value are valid until the next step. An error is the last step.
func (s *Store) Rows(start, limit []byte) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		it := s.iterator(start, limit)
		defer it.Release()
		for it.Next() {
			if !yield(Row{it.Key(), it.Value()}, nil) {
				return
			}
		}
		if err := it.Error(); err != nil {
			yield(Row{}, s.suspect(fmt.Errorf("scan the store: %w", err)))
		}
	}
}

// isEmpty tells whether there is no row on disk, hidden ones included.
func (s *Store) isEmpty() (bool, error) {
	it := s.db.NewIterator(&util.Range{Start: firstKey}, nil)
	defer it.Release()
	some := it.First()
	if err := it.Error(); err != nil {
		return false, s.suspect(fmt.Errorf("look for a row in the store: %w", err))
	}
	return !some, nil
}

// Row is a key and its value.
type Row struct{ Key, Value []byte }

func (s *Store) iterator(start, limit []byte) iterator.Iterator {
	if string(start) < string(firstRow) {
		start = firstRow
	}
	// A scan sees each block once: cached they would push out what is read again.
	return s.db.NewIterator(&util.Range{Start: start, Limit: limit}, &opt.ReadOptions{DontFillCache: true})
}

// Iterator is goka's view of Rows.
func (s *Store) Iterator() (storage.Iterator, error) { return s.IteratorWithRange(nil, nil) }

// IteratorWithRange is Iterator from start to limit, exclusive; nil is open.
func (s *Store) IteratorWithRange(start, limit []byte) (storage.Iterator, error) {
	return gokaIterator{s.iterator(start, limit)}, nil
}

// gokaIterator has LevelDB's methods under goka's names.
type gokaIterator struct{ iterator.Iterator }

func (it gokaIterator) Err() error             { return it.Error() }
func (it gokaIterator) Value() ([]byte, error) { return it.Iterator.Value(), nil }
