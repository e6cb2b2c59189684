package index_test

import (
	"sync"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/views/index"
)

// TestReadersSeeOnlyStatesThatExisted lets a writer replace one segment by the next,
// many times, while readers check that each snapshot is one of its states: the whole
// of one, and never an older one than before.
func TestReadersSeeOnlyStatesThatExisted(t *testing.T) {
	const segments, readers = 3_000, 4
	p, done := index.New(), make(chan struct{})
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for seen := int64(-1); ; {
				select {
				case <-done:
					return
				default:
					seen = checkState(t, p.Snapshot(), seen)
				}
			}
		})
	}
	for i := range segments {
		p.Put(nil, benchRow(i, api.CopySegmentStarted))
		p.Put(benchRow(i, api.CopySegmentStarted), benchRow(i, api.CopySegmentFinished))
		if i%2 == 1 {
			p.Put(benchRow(i-1, api.CopySegmentFinished), nil)
			p.Put(nil, &codec.Row{Kind: codec.RowMarker, Segment: benchRow(i-1, api.DeleteSegmentFinished).Segment})
		}
	}
	close(done)
	wg.Wait()
	checkState(t, p.Snapshot(), (segments-1)*100)
}

// checkState returns the start of the newest finished segment, seen being the one of
// an earlier snapshot. Every query must tell of the same state.
func checkState(t *testing.T, s *index.Snapshot, seen int64) int64 {
	listed, finished, newest := 0, 0, int64(-1)
	for segment := range s.ListRemoteLogSegments().All {
		listed++
		if segment.State() == api.CopySegmentFinished {
			finished, newest = finished+1, segment.StartOffset()
		}
	}
	totals := [2]int{s.Totals(api.CopySegmentStarted).Segments, s.Totals(api.CopySegmentFinished).Segments}
	if listed != totals[0]+totals[1] || finished != totals[1] {
		t.Errorf("listed %d, of them finished %d, yet the totals are %v", listed, finished, totals)
	}
	if newest >= 0 {
		checkNewest(t, s, newest)
	}
	if newest < seen {
		t.Errorf("went back from %d to %d", seen, newest)
	}
	return newest
}

func checkNewest(t *testing.T, s *index.Snapshot, start int64) {
	epoch := int32(start / 100 / 100)
	got, ok := s.RemoteLogSegmentMetadata(epoch, start)
	highest, _ := s.HighestOffsetForEpoch(epoch)
	if !ok || got.StartOffset() != start || highest != start+99 {
		t.Errorf("newest is %d, yet get gives %v and highest %d", start, got, highest)
	}
}
