package store

import (
	"maps"
	"sync"
)

// Resets are the reasons for which a store is moved aside.
var Resets = []Reset{
	ResetCorrupt, ResetTopicRecreated, ResetBeyondEnd, ResetGap, ResetRegrown, ResetUnproven, ResetForeign,
	ResetFormat, ResetRequested, ResetWriteFailed,
}

// ResetCounter counts stores that were moved aside. The zero value is ready for use, from
// any goroutine.
type ResetCounter struct {
	mu     sync.Mutex
	counts map[string]int64
}

// Add counts one.
func (c *ResetCounter) Add(why Reset) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int64{}
	}
	c.counts[string(why)]++
}

// Counts returns the counts by reason, those of [Resets] also when there was none.
func (c *ResetCounter) Counts() map[string]int64 {
	counts := make(map[string]int64, len(Resets))
	for _, why := range Resets {
		counts[string(why)] = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(counts, c.counts)
	return counts
}
