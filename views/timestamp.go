package views

import (
	"context"
	"fmt"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/views/index"
)

// RemoteLogSegmentByTimestamp finds the remote segment with which a look-up of an offset
// by time goes on (ListOffsets; Kafka's RemoteLogManager.findOffsetByTimestamp): the first
// finished segment, in offset order along the leader epoch chain, whose max timestamp is
// at or after timestampMs, in milliseconds since 1970, and that ends at or after
// startOffset. The record itself is for the caller to find in the segment; there may be
// none at or after startOffset, as in Kafka.
//
// Epochs is the chain: what a broker's leader epoch cache holds of the log, each epoch
// with the offset at which it begins. The search begins with the epoch of startOffset and
// ends with the last one. A segment counts only when it is of this chain: each of its
// epochs lies in the range that the chain gives it, as Kafka's
// isRemoteSegmentWithinLeaderEpochs demands. Segments of a divergent lineage, one that
// ends behind the start of the chain's next epoch for instance, are passed over whole,
// since their max timestamp may be that of a record that the log doesn't have. The last
// epoch has no end here: to leave out segments that end behind the log is for the caller.
//
// A max timestamp of −1, which is unknown, matches no time. Gaps between segments don't end
// the search. False means that no segment matches, be it that the partition or the chain
// is empty. From a startOffset before the chain the search begins with its first epoch
// (Kafka finds nothing there, and never asks).
//
// A negative time (ListOffsets' special values are for the broker to answer), a negative
// startOffset and a chain whose offsets are negative or fall are ErrInvalidArgument; else
// it fails as the other reads do.
func (m *Manager) RemoteLogSegmentByTimestamp(_ context.Context, tip api.TopicIdPartition, epochs api.LeaderEpochs, timestampMs, startOffset int64) (found api.RemoteLogSegmentMetadata, ok bool, err error) {
	if timestampMs < 0 {
		return found, false, &api.InvalidArgumentError{Field: "timestampMs", Reason: fmt.Sprintf("must not be negative: %d", timestampMs)}
	}
	if err := validateChain(epochs); err != nil {
		return found, false, err
	}
	ok, err = m.find(&found, &tip, startOffset, func(s *index.Snapshot) (*index.Segment, bool) {
		return s.RemoteLogSegmentByTimestamp(epochs, timestampMs, startOffset)
	})
	return found, ok, err
}

func validateChain(epochs api.LeaderEpochs) error {
	before := int64(0)
	for epoch, offset := range epochs.All() {
		if offset < before {
			return &api.InvalidArgumentError{Field: "leaderEpochs", Reason: fmt.Sprintf("epoch %d begins at %d, which is before %d", epoch, offset, before)}
		}
		before = offset
	}
	return nil
}
