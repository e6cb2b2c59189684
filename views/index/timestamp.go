package index

import (
	"sort"

	"github.com/tieredlog/rlmm/api"
)

// RemoteLogSegmentByTimestamp finds the first finished segment that may hold a record of
// the time or later at the offset or behind it. The chain is the leader epochs of the
// partition's log with the offsets at which they begin, neither falling. It goes through
// the chain from the epoch of the offset on, in each epoch by start offset, then id, and
// takes the first segment that ends at or after the offset, has a max timestamp at or
// after the time and is of the chain.
//
// A segment is of the chain when each of its epochs lies where the chain has it, as
// Kafka's RemoteLogManager.isRemoteSegmentWithinLeaderEpochs has it: its epochs follow
// each other as they do in the chain, its first one doesn't begin before the chain's (but
// may where that is the chain's first, since the start of a log is cut off), and it ends
// before the chain's next epoch begins. Epochs before the chain's first don't count, nor
// do epochs that are empty, in the segment or in the chain. A segment of a divergent
// lineage is left out as a whole: which part of it the max timestamp is of nobody knows.
func (s *Snapshot) RemoteLogSegmentByTimestamp(chain api.LeaderEpochs, timestampMs, startOffset int64) (*Segment, bool) {
	lineage := withoutEmpty(chain)
	for i := epochAt(chain, startOffset); i < chain.Len(); i++ {
		for segment := range s.ListRemoteLogSegmentsByEpoch(chain.At(i).LeaderEpoch).All {
			late := segment.maxTimestamp >= timestampMs && segment.end() >= startOffset
			if late && segment.isFinished() && segment.isOf(lineage) {
				return segment, true
			}
		}
	}
	return nil, false
}

// epochAt returns the position of the epoch that holds the offset: of several that begin
// there the first, which is empty but for the last. An offset before the chain is the
// first epoch's.
func epochAt(chain api.LeaderEpochs, offset int64) int {
	i := sort.Search(chain.Len(), func(i int) bool { return chain.At(i).Offset >= offset })
	if i < chain.Len() && chain.At(i).Offset == offset {
		return i
	}
	return max(0, i-1)
}

// withoutEmpty leaves out the epochs that end where they begin.
func withoutEmpty(chain api.LeaderEpochs) api.LeaderEpochs {
	var kept []api.EpochOffset
	for i := range chain.Len() {
		if i+1 == chain.Len() || chain.At(i).Offset != chain.At(i+1).Offset {
			kept = append(kept, chain.At(i))
		}
	}
	return api.NewLeaderEpochs(kept...)
}

// isOf tells whether the segment is of the chain, which has no empty epochs, but has
// some.
func (s *Segment) isOf(chain api.LeaderEpochs) bool {
	next := 0 // where the chain must have the segment's next epoch; 0 before the first
	for i := range s.EpochCount() {
		e := s.EpochAt(i)
		empty := i+1 < s.EpochCount() && s.EpochAt(i+1).Offset == e.Offset
		switch {
		case empty || e.LeaderEpoch < chain.At(0).LeaderEpoch:
			continue
		case next == 0:
			at, ok := chain.Find(e.LeaderEpoch)
			if !ok || at > 0 && e.Offset < chain.At(at).Offset {
				return false
			}
			next = at
		case next == chain.Len() || chain.At(next) != e:
			return false
		}
		next++
	}
	return next > 0 && (next == chain.Len() || s.end() < chain.At(next).Offset)
}
