package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// doubtMark is the file in a store's folder that says that some of its rows may be wrong:
// what must be read to know, or written, lies behind its position and before the table's
// end, and a reader that dies meanwhile forgets it.
const doubtMark = "DOUBT"

// Doubt marks the store: opened again, or checked, it is built anew, until Believe.
func (s *Store) Doubt() error {
	if s.doubted.Swap(true) {
		return nil
	}
	if err := os.WriteFile(filepath.Join(s.dir, doubtMark), nil, 0o600); err != nil {
		return fmt.Errorf("mark the store in %s: %w", s.dir, err)
	}
	return nil
}

// Believe takes the mark off. What makes the rows right must be on disk: it flushes.
func (s *Store) Believe() error {
	if err := s.Flush(); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(s.dir, doubtMark)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unmark the store in %s: %w", s.dir, err)
	}
	s.doubted.Store(false)
	return nil
}
