package check

import (
	"cmp"
	"math"
	"slices"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// scan answers the queries of a partition from lists of its rows, by looking at each.
type scan struct {
	deletion api.RemotePartitionDeleteState
	segments []*codec.Row // those that aren't deleted, in the order of lists
	reached  map[int32]int64
}

func newScan(rows []codec.Row) *scan {
	s := &scan{deletion: api.DeletePartitionNone, reached: map[int32]int64{}}
	for i := range rows {
		row := &rows[i]
		switch row.Kind {
		case codec.RowPartition:
			s.deletion = row.Delete.State
		case codec.RowSegment:
			s.segments = append(s.segments, row)
		}
		s.reach(row)
	}
	slices.SortFunc(s.segments, func(a, b *codec.Row) int {
		return cmp.Or(cmp.Compare(a.Segment.StartOffset, b.Segment.StartOffset), a.Segment.ID.ID.Compare(b.Segment.ID.ID))
	})
	return s
}

// reach takes in the highest offsets that the row tells.
func (s *scan) reach(row *codec.Row) {
	for epoch, offset := range row.Highest.All() {
		s.raise(epoch, offset)
	}
	if row.Kind != codec.RowSegment || row.FinishedOffset < 0 {
		return
	}
	for epoch := range row.Segment.LeaderEpochs.All() {
		_, last, _ := row.Segment.EpochRange(epoch)
		s.raise(epoch, last)
	}
}

func (s *scan) raise(epoch int32, offset int64) {
	if old, known := s.reached[epoch]; !known || offset > old {
		s.reached[epoch] = offset
	}
}

func (s *scan) isDeleted() bool { return s.deletion == api.DeletePartitionFinished }

// visible is what queries see: nothing of a deleted partition.
func (s *scan) visible() []*codec.Row {
	if s.isDeleted() {
		return nil
	}
	return s.segments
}

// epochs are those that rows tell of, and their neighbours, of which nothing may be told.
func (s *scan) epochs() []int32 {
	near := map[int32]bool{}
	add := func(epoch int32) {
		for _, e := range [...]int64{int64(epoch) - 1, int64(epoch), int64(epoch) + 1} {
			if e >= math.MinInt32 && e <= math.MaxInt32 {
				near[int32(e)] = true
			}
		}
	}
	for epoch := range s.reached {
		add(epoch)
	}
	for _, row := range s.segments {
		for epoch := range row.Segment.LeaderEpochs.All() {
			add(epoch)
		}
	}
	all := make([]int32, 0, len(near))
	for epoch := range near {
		all = append(all, epoch)
	}
	slices.Sort(all)
	return all
}

// held is a finished segment and what it holds of an epoch; nothing when last < first.
type held struct {
	first, last int64
	row         *codec.Row
}

func (h held) isEmpty() bool { return h.last < h.first }

// epochScan is what queries see of an epoch.
type epochScan struct {
	segments []*codec.Row // in every state, in the order of lists
	finished []held       // in the same order
}

func (s *scan) epoch(number int32) (e epochScan) {
	for _, row := range s.visible() {
		first, last, ok := row.Segment.EpochRange(number)
		if !ok {
			continue
		}
		e.segments = append(e.segments, row)
		if row.Segment.State == api.CopySegmentFinished {
			e.finished = append(e.finished, held{first, last, row})
		}
	}
	return e
}

// get is RemoteLogSegmentMetadata; nil is none.
func (e epochScan) get(offset int64) *codec.Row {
	best := held{}
	for _, h := range e.finished {
		if offset < h.first || h.last < offset {
			continue
		}
		if best.row == nil || h.first > best.first || h.first == best.first && h.row.FinishedOffset > best.row.FinishedOffset {
			best = h
		}
	}
	return best.row
}

// nextTxn is NextSegmentWithTxnIndex; nil is none.
func (e epochScan) nextTxn(offset int64) *codec.Row {
	best := held{}
	for _, h := range e.finished {
		if h.last < offset || h.isEmpty() || h.row.Segment.TxnIndexEmpty {
			continue
		}
		if best.row == nil || h.first < best.first || h.first == best.first && h.row.Segment.ID.ID.Compare(best.row.Segment.ID.ID) < 0 {
			best = h
		}
	}
	return best.row
}

// highest is HighestOffsetForEpoch.
func (e epochScan) highest() (offset int64, ok bool) {
	for _, h := range e.finished {
		offset, ok = max(offset, h.row.Segment.EndOffset), true
	}
	return offset, ok
}

// size is RemoteLogSize.
func (e epochScan) size() (bytes int64) {
	for _, h := range e.finished {
		bytes += int64(h.row.Segment.SegmentSizeInBytes)
	}
	return bytes
}

// offsets are those at which an answer may change, with their neighbours, and both ends of
// all there are.
func (e epochScan) offsets(number int32) []int64 {
	all := []int64{0, math.MaxInt64}
	for _, row := range e.segments {
		first, last, _ := row.Segment.EpochRange(number)
		for _, o := range [...]int64{row.Segment.StartOffset, row.Segment.EndOffset, first, last} {
			all = append(all, o-1, o, o+1)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(o int64) bool { return o < 0 })
}
