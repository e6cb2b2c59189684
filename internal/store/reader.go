package store

import (
	"errors"
	"iter"
)

// Reader reads a store that no process has open. Nothing is written.
type Reader struct{ store *Store }

// Read opens the store in a folder; Close ends it.
func Read(dir string) (*Reader, error) {
	s, err := openExisting(dir)
	if err != nil {
		return nil, err
	}
	return &Reader{s}, nil
}

// Rows iterates over all visible rows, in key order. Key and value are valid until the next
// step. An error is the last step.
func (r *Reader) Rows() iter.Seq2[Row, error] { return r.store.Rows(nil, nil) }

// Position is how far the store is.
func (r *Reader) Position() Position { return r.store.committed }

// Close frees the store.
func (r *Reader) Close() error { return r.store.closeFiles() }

// Dump reads all visible rows of a store that no process has open into memory, and how far
// it is.
func Dump(dir string) (map[string]string, Position, error) {
	r, err := Read(dir)
	if err != nil {
		return nil, none, err
	}
	rows := map[string]string{}
	for row, err := range r.Rows() {
		if err != nil {
			return nil, none, errors.Join(err, r.Close())
		}
		rows[string(row.Key)] = string(row.Value)
	}
	return rows, r.Position(), r.Close()
}
