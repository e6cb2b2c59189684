//go:build !race

package store

import "testing"

// TestDiskDiesCompacting is TestDiskDies with a journal that LevelDB turns over, and
// files that it compacts, every few records. The race detector dislikes how LevelDB
// 1.0.0 takes back a file number after a failed compaction.
func TestDiskDiesCompacting(t *testing.T) {
	o := Options{WriteBuffer: 1 << 10, BlockCache: 1 << 10}.leveldb()
	o.CompactionTableSize, o.CompactionL0Trigger = 2<<10, 2
	diskDies(t, o, 100)
}
