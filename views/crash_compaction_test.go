//go:build !race

package views

import (
	"testing"

	"github.com/tieredlog/rlmm/internal/store"
)

// The same with a journal that LevelDB turns over, and files that it compacts, every few
// records. The race detector dislikes how LevelDB 1.0.0 takes back a file number after a
// failed compaction.
func TestAnswersAfterTheDiskDiedCompacting(t *testing.T) {
	t.Parallel()
	answersAfterTheDiskDied(t, store.Options{WriteBuffer: 1 << 10, BlockCache: 1 << 10}, 60)
}
