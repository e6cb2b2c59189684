package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/views/check"
	"github.com/tieredlog/rlmm/views/index"
)

const (
	someOffsets = 40 // the logs drawn here have offsets below this
	someEpochs  = 4
)

// TestRandomLogsHaveNoFaults folds random logs of two partitions, valid and not, and checks
// the rows, and the index that was kept up to date beside them, after every event.
func TestRandomLogsHaveNoFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, kept := newTable(), map[api.TopicIdPartition]*index.Partition{orders: index.New(), payments: index.New()}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			event := drawEvent(t, rapid.SampledFrom([]api.TopicIdPartition{orders, payments}).Draw(t, "partition"))
			before := table.folded[codec.EventKey(event)]
			table.apply(event)
			kept[event.Partition()].Put(before, table.folded[codec.EventKey(event)])
			r, err := check.Rows(check.InOrder(table.rows), day)
			if err == nil {
				err = r.Faults()
			}
			if err != nil {
				t.Fatal(err)
			}
			compareDecoded(t, table, r)
		}
		for tip, p := range kept {
			if found := check.Snapshot(tip, p.Snapshot(), rowsOf(table, tip)); len(found) > 0 {
				t.Fatalf("%v", found)
			}
		}
	})
}

func drawEvent(t *rapid.T, tip api.TopicIdPartition) api.RemoteLogMetadata {
	n := rapid.Uint64Range(1, 7).Draw(t, "segment")
	switch kind := rapid.IntRange(0, 20).Draw(t, "kind"); {
	case kind == 0:
		return api.RemotePartitionDeleteMetadata{
			TopicIdPartition: tip, State: api.RemotePartitionDeleteState(rapid.Int8Range(0, 2).Draw(t, "state")),
		}
	case kind <= 9:
		return drawSegment(t, tip, n)
	}
	return api.RemoteLogSegmentMetadataUpdate{
		ID: id(tip, n), State: api.RemoteLogSegmentState(rapid.Int8Range(0, 3).Draw(t, "state")), EventTimestampMs: hourAgo,
	}
}

// drawSegment draws epochs in any shape: empty ones, ones that begin before or after the
// segment, ones out of order.
func drawSegment(t *rapid.T, tip api.TopicIdPartition, n uint64) api.RemoteLogSegmentMetadata {
	start := rapid.Int64Range(0, someOffsets-10).Draw(t, "start")
	end := start + rapid.Int64Range(0, 9).Draw(t, "length")
	near := rapid.Int64Range(max(0, start-2), end+2)
	leaderEpochs := epochs(rapid.Int64Range(0, someEpochs-1).Draw(t, "epoch"), start)
	if rapid.Bool().Draw(t, "several epochs") {
		var all []api.EpochOffset
		for epoch, offset := range rapid.MapOfN(rapid.Int32Range(0, someEpochs-1), near, 1, someEpochs).Draw(t, "epochs") {
			all = append(all, api.EpochOffset{LeaderEpoch: epoch, Offset: offset})
		}
		leaderEpochs = api.NewLeaderEpochs(all...)
	}
	s := added(tip, n, start, end, leaderEpochs)
	s.TxnIndexEmpty = rapid.Bool().Draw(t, "txn index empty")
	return s
}

// TestGapsAndOverlapsCoverWhatTheyShould counts, offset by offset, the finished segments
// that hold it.
func TestGapsAndOverlapsCoverWhatTheyShould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := newTable()
		for n := range uint64(rapid.IntRange(1, 8).Draw(t, "segments")) {
			table.apply(drawSegment(t, orders, n+1), moved(orders, n+1, api.CopySegmentFinished))
		}
		r, err := check.Rows(check.InOrder(table.rows), day)
		if err != nil {
			t.Fatal(err)
		}
		for epoch := range int32(someEpochs) {
			compareCoverage(t, r, epoch, coverage(rowsOf(table, orders), epoch))
		}
	})
}

// coverage is how many finished segments hold each offset of the epoch.
func coverage(rows []codec.Row, epoch int32) (held [someOffsets]int) {
	for _, row := range rows {
		first, last, ok := row.Segment.EpochRange(epoch)
		for offset := first; ok && offset <= last; offset++ {
			held[offset]++
		}
	}
	return held
}

func compareCoverage(t *rapid.T, r check.Report, epoch int32, held [someOffsets]int) {
	first, last := -1, -1
	for offset, n := range held {
		if n > 0 {
			last = offset
			if first < 0 {
				first = offset
			}
		}
	}
	for offset, n := range held {
		if got, want := told(r, check.Gap, epoch, int64(offset)), n == 0 && first >= 0 && offset > first && offset < last; got != want {
			t.Fatalf("epoch %d, offset %d in a gap: %v, want %v of %v\n%s", epoch, offset, got, want, held, r)
		}
		if got, want := told(r, check.Overlap, epoch, int64(offset)), n > 1; got != want {
			t.Fatalf("epoch %d, offset %d in an overlap: %v, want %v of %v\n%s", epoch, offset, got, want, held, r)
		}
	}
}

func told(r check.Report, kind check.Kind, epoch int32, offset int64) bool {
	for _, f := range r.Findings {
		if f.Kind == kind && f.Span.LeaderEpoch == epoch && f.Span.First <= offset && offset <= f.Span.Last {
			return true
		}
	}
	return false
}

// compareDecoded checks the rows of each partition as they were decoded, which must give
// what they give encoded.
func compareDecoded(t *rapid.T, table *table, want check.Report) {
	var got check.Report
	for _, tip := range []api.TopicIdPartition{orders, payments} {
		rows := rowsOf(table, tip)
		slices.SortFunc(rows, func(a, b codec.Row) int { return strings.Compare(keyOf(a), keyOf(b)) })
		got.Add(check.Partition(rows, day))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("-encoded +decoded\n%s", diff)
	}
}

func keyOf(row codec.Row) string {
	if row.Kind == codec.RowPartition {
		return codec.PartitionKey(row.Delete.TopicIdPartition)
	}
	return codec.SegmentKey(row.Segment.ID)
}

// TestEpochsOutOfOrderAreWhatTheyShouldBe looks at every two finished segments of each log.
func TestEpochsOutOfOrderAreWhatTheyShouldBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := newTable()
		for n := range uint64(rapid.IntRange(1, 8).Draw(t, "segments")) {
			table.apply(drawSegment(t, orders, n+1), moved(orders, n+1, api.CopySegmentFinished))
		}
		r, err := check.Rows(check.InOrder(table.rows), day)
		if err != nil {
			t.Fatal(err)
		}
		got := map[int32]bool{}
		for _, f := range r.Findings {
			if f.Kind == check.EpochOrder && len(f.Segments) == 2 {
				got[f.Span.LeaderEpoch] = true
			}
		}
		if diff := cmp.Diff(outOfOrder(rowsOf(table, orders)), got); diff != "" {
			t.Fatalf("-want +got\n%s\n%s", diff, r)
		}
	})
}

// outOfOrder are the epochs of which a segment holds an offset at or after one that a
// segment holds of a higher epoch.
func outOfOrder(rows []codec.Row) map[int32]bool {
	found := map[int32]bool{}
	for low := range int32(someEpochs) {
		for high := low + 1; high < someEpochs; high++ {
			a, b := coverage(rows, low), coverage(rows, high)
			first := slices.IndexFunc(b[:], func(n int) bool { return n > 0 })
			for offset, n := range a {
				if n > 0 && first >= 0 && offset >= first {
					found[low] = true
				}
			}
		}
	}
	return found
}
