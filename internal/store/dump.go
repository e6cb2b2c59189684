package store

import "errors"

// Dump reads all visible rows of a store that no process has open, and how far it is.
// Nothing is written.
func Dump(dir string) (map[string]string, Position, error) {
	s, err := openExisting(dir)
	if err != nil {
		return nil, none, err
	}
	rows := map[string]string{}
	for r, err := range s.Rows(nil, nil) {
		if err != nil {
			return nil, none, errors.Join(err, s.closeFiles())
		}
		rows[string(r.Key)] = string(r.Value)
	}
	return rows, s.committed, s.closeFiles()
}
