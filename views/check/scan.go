package check

import (
	"cmp"
	"math"
	"slices"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// scan answers the queries of a partition from sorted lists of its rows. It shares nothing
// with the index, and takes n·log n time for n segments.
type scan struct {
	deletion api.RemotePartitionDeleteState
	segments []*codec.Row // those that aren't deleted, in the order of lists
	reached  map[int32]int64
	byEpoch  map[int32]epochScan // what queries see
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
	s.sortByEpoch()
	return s
}

func (s *scan) sortByEpoch() {
	s.byEpoch = map[int32]epochScan{}
	for _, row := range s.visible() {
		for number := range row.Segment.LeaderEpochs.All() {
			e := s.byEpoch[number]
			e.segments = append(e.segments, row)
			if row.Segment.State == api.CopySegmentFinished {
				first, last, _ := row.Segment.EpochRange(number)
				e.finished = append(e.finished, held{first, last, row})
			}
			s.byEpoch[number] = e
		}
	}
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

// get is RemoteLogSegmentMetadata for offsets that ascend from call to call; nil is none.
// The ranges that have begun lie on a stack, the best on top: one that has ended there is
// never wanted again.
func (e epochScan) get() func(offset int64) *codec.Row {
	coming := slices.Clone(e.finished)
	slices.SortFunc(coming, func(a, b held) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.row.FinishedOffset, b.row.FinishedOffset))
	})
	var begun []held
	return func(offset int64) *codec.Row {
		for len(coming) > 0 && coming[0].first <= offset {
			begun, coming = append(begun, coming[0]), coming[1:]
		}
		for n := len(begun); n > 0 && begun[n-1].last < offset; n-- {
			begun = begun[:n-1]
		}
		return top(begun)
	}
}

func top(stack []held) *codec.Row {
	if len(stack) == 0 {
		return nil
	}
	return stack[len(stack)-1].row
}

// nextTxn is NextSegmentWithTxnIndex for offsets that ascend from call to call; nil is
// none.
func (e epochScan) nextTxn() func(offset int64) *codec.Row {
	left := slices.DeleteFunc(slices.Clone(e.finished), func(h held) bool { return h.isEmpty() || h.row.Segment.TxnIndexEmpty })
	slices.SortFunc(left, byFirst)
	return func(offset int64) *codec.Row {
		for len(left) > 0 && left[0].last < offset {
			left = left[1:]
		}
		if len(left) == 0 {
			return nil
		}
		return left[0].row
	}
}

func byFirst(a, b held) int {
	return cmp.Or(cmp.Compare(a.first, b.first), a.row.Segment.ID.ID.Compare(b.row.Segment.ID.ID))
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
