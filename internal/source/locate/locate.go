// Package locate finds the segment that holds an offset of a user partition, and tells
// why when none does. It is pure.
package locate

import (
	"fmt"
	"slices"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/source"
	"github.com/tieredlog/rlmm/views/check"
	"github.com/tieredlog/rlmm/views/index"
)

// Reason is why no finished segment holds an offset.
type Reason string

// The reasons.
const (
	// ReasonNoPartition is a partition that no event was about.
	ReasonNoPartition Reason = "no_partition"
	// ReasonPartitionDeleted is a partition whose deletion is finished.
	ReasonPartitionDeleted Reason = "partition_deleted"
	// ReasonOnlyDeleted is a partition all of whose segments are deleted.
	ReasonOnlyDeleted Reason = "only_deleted"
	// ReasonState is an offset of a segment that isn't finished: still being copied, or
	// being deleted.
	ReasonState Reason = "state"
	// ReasonNoneFinished is a partition without a finished segment.
	ReasonNoneFinished Reason = "none_finished"
	// ReasonNoEpoch is a leader epoch that no finished segment carries.
	ReasonNoEpoch Reason = "no_epoch"
	// ReasonOtherEpoch is an offset that finished segments hold for other epochs only.
	ReasonOtherEpoch Reason = "other_epoch"
	// ReasonBeforeFirst is an offset below all that finished segments hold.
	ReasonBeforeFirst Reason = "before_first"
	// ReasonAfterLast is an offset above all of it.
	ReasonAfterLast Reason = "after_last"
	// ReasonGap is an offset between two ranges that finished segments hold.
	ReasonGap Reason = "gap"
	// ReasonNoneSoLate is a timestamp that no finished segment of the partition's last
	// lineage reaches, at or behind the offset.
	ReasonNoneSoLate Reason = "none_so_late"
)

// Query is what to look for.
type Query struct {
	// Offset isn't negative.
	Offset int64
	// Epoch is the leader epoch; nil looks in all.
	Epoch *int32
	// TimestampMs, in milliseconds since 1970, asks for the first record of that time or
	// later at the offset or behind it, whatever the epoch; nil asks for the offset.
	TimestampMs *int64
}

// Answer is a segment, or why there is none.
type Answer struct {
	// Segment is nil when there is none.
	Segment *api.RemoteLogSegmentMetadata
	// Epoch is the leader epoch for which the segment holds the offset; nil without one,
	// and when the query was for a time.
	Epoch *int32
	// Reason and Message say why there is no segment; empty when there is one.
	Reason  Reason
	Message string
}

// Find looks for the query in a partition. Without an epoch in the query there may be
// several answers, the highest epoch first: of partitions whose lineages diverged.
func Find(p source.Partition, q Query) []Answer {
	s := search{p.Snapshot(), q}
	if len(p.Rows) == 0 {
		return none(ReasonNoPartition, "no event on the metadata topic is about the partition")
	}
	if s.Deletion() == api.DeletePartitionFinished {
		return none(ReasonPartitionDeleted, "the partition's deletion is finished")
	}
	if s.ListRemoteLogSegments().Len() == 0 {
		return none(ReasonOnlyDeleted, "all of the partition's segments are deleted")
	}
	if q.TimestampMs != nil {
		return s.byTime(*q.TimestampMs)
	}
	if found := s.byOffset(s.asked()); len(found) > 0 {
		return found
	}
	return s.whyNot()
}

func none(r Reason, format string, args ...any) []Answer {
	return []Answer{{Reason: r, Message: fmt.Sprintf(format, args...)}}
}

// search is a query of a partition that has segments.
type search struct {
	*index.Snapshot
	Query
}

// asked are the epochs to look in.
func (s search) asked() []int32 {
	if s.Epoch != nil {
		return []int32{*s.Epoch}
	}
	return s.epochs()
}

// epochs are those of finished segments, the highest first.
func (s search) epochs() []int32 {
	epochs := slices.DeleteFunc(s.Epochs(), func(epoch int32) bool {
		_, finished := s.HighestOffsetForEpoch(epoch)
		return !finished
	})
	slices.Reverse(epochs)
	return epochs
}

func (s search) byOffset(epochs []int32) (found []Answer) {
	for _, epoch := range epochs {
		if segment, ok := s.RemoteLogSegmentMetadata(epoch, s.Offset); ok {
			m := segment.Metadata()
			found = append(found, Answer{Segment: &m, Epoch: &epoch})
		}
	}
	return found
}

func (s search) byTime(timestampMs int64) []Answer {
	if segment, ok := s.RemoteLogSegmentByTimestamp(s.lineage(), timestampMs, s.Offset); ok {
		m := segment.Metadata()
		return []Answer{{Segment: &m}}
	}
	return none(ReasonNoneSoLate, "no finished segment of the last lineage has a record of %d ms or later at or behind offset %d", timestampMs, s.Offset)
}

// lineage is the leader epochs of the log that the highest epoch's leader had, as far as
// the finished segments tell. An epoch that began at or behind a later one's start is of
// another lineage.
func (s search) lineage() api.LeaderEpochs {
	begins := map[int32]int64{}
	for segment := range s.ListRemoteLogSegments().All {
		for i := range segment.EpochCount() {
			e := segment.EpochAt(i)
			if first, ok := begins[e.LeaderEpoch]; segment.State() == api.CopySegmentFinished && (!ok || e.Offset < first) {
				begins[e.LeaderEpoch] = e.Offset
			}
		}
	}
	var chain []api.EpochOffset
	for _, epoch := range s.epochs() {
		if n := len(chain); n == 0 || begins[epoch] < chain[n-1].Offset {
			chain = append(chain, api.EpochOffset{LeaderEpoch: epoch, Offset: begins[epoch]})
		}
	}
	return api.NewLeaderEpochs(chain...)
}

// whyNot tells why no finished segment holds the offset for the epochs that were asked.
func (s search) whyNot() []Answer {
	if unfinished := s.unfinished(); unfinished != nil {
		return none(ReasonState, "segment %s, which holds it, is in %s", unfinished.ID.ID, unfinished.State)
	}
	epochs := s.epochs()
	if len(epochs) == 0 {
		return none(ReasonNoneFinished, "the partition has no finished segment")
	}
	if s.Epoch != nil {
		if others := s.byOffset(epochs); len(others) > 0 {
			return none(ReasonOtherEpoch, "epoch %d doesn't reach it: a finished segment holds it for epoch %d", *s.Epoch, *others[0].Epoch)
		}
		if !slices.Contains(epochs, *s.Epoch) {
			return none(ReasonNoEpoch, "no finished segment carries epoch %d", *s.Epoch)
		}
	}
	return s.outside(s.held())
}

// unfinished is a segment that would hold the offset if it were finished.
func (s search) unfinished() *api.RemoteLogSegmentMetadata {
	for segment := range s.ListRemoteLogSegments().All {
		m := segment.Metadata()
		if m.State == api.CopySegmentFinished {
			continue
		}
		for epoch := range m.LeaderEpochs.All() {
			first, last, _ := m.EpochRange(epoch)
			if (s.Epoch == nil || *s.Epoch == epoch) && first <= s.Offset && s.Offset <= last {
				return &m
			}
		}
	}
	return nil
}

// held is what finished segments hold for the epochs that were asked, by first offset.
func (s search) held() (spans []check.Span) {
	for _, epoch := range s.asked() {
		spans = append(spans, check.Held(s.ListRemoteLogSegments().All, epoch)...)
	}
	return spans
}

// outside tells where the offset lies among ranges that don't hold it.
func (s search) outside(held []check.Span) []Answer {
	var below, above *check.Span
	for i := range held {
		h := &held[i]
		if h.Last < s.Offset && (below == nil || h.Last > below.Last) {
			below = h
		}
		if h.First > s.Offset && (above == nil || h.First < above.First) {
			above = h
		}
	}
	switch {
	case below == nil && above == nil:
		return none(ReasonNoEpoch, "no finished segment has offsets of the epoch")
	case below == nil:
		return none(ReasonBeforeFirst, "it is before the first offset, %d", above.First)
	case above == nil:
		return none(ReasonAfterLast, "it is after the last offset, %d", below.Last)
	}
	return none(ReasonGap, "it is in a gap between %d and %d", below.Last, above.First)
}
