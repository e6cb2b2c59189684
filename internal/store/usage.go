package store

import "github.com/syndtr/goleveldb/leveldb"

// Usage is what stores take.
type Usage struct {
	// Bytes is the size of their table files; what is only in a journal or in memory isn't in
	// it.
	Bytes int64
	// OpenFiles is how many of those are open.
	OpenFiles int
}

// Add adds what another store takes.
func (u *Usage) Add(other Usage) {
	u.Bytes += other.Bytes
	u.OpenFiles += other.OpenFiles
}

// Usage is what the store takes now; nothing when it is closed. It reads no disk.
func (s *Store) Usage() (u Usage) {
	var stats leveldb.DBStats
	if s.db.Stats(&stats) != nil {
		return u
	}
	for _, size := range stats.LevelSizes {
		u.Bytes += size
	}
	u.OpenFiles = stats.OpenedTablesCount
	return u
}
