package index_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/views/index"
)

// timed is a segment of the tests here; its id is its place in the list, from 1.
type timed struct {
	start, end, max int64
	epochs          map[int32]int64
	state           api.RemoteLogSegmentState
}

const finished = api.CopySegmentFinished

func timedIndex(segments ...timed) *index.Snapshot {
	table := newTable()
	for i, s := range segments {
		id := segmentID(uint64(i + 1))
		table.apply(api.RemoteLogSegmentMetadata{
			ID: id, StartOffset: s.start, EndOffset: s.end, MaxTimestampMs: s.max, LeaderEpochs: epochsOf(s.epochs),
		})
		if s.state != api.CopySegmentStarted {
			table.apply(api.RemoteLogSegmentMetadataUpdate{ID: id, State: s.state})
		}
	}
	return table.index.Snapshot()
}

type epochs = map[int32]int64

func TestByTimestamp(t *testing.T) {
	// Three segments of 100 offsets, then a gap, then one more; epoch 1 begins at 150,
	// epoch 3 at 250.
	plain := []timed{
		{0, 99, 1000, epochs{0: 0}, finished},
		{100, 199, 2000, epochs{0: 100, 1: 150}, finished},
		{200, 299, 3000, epochs{1: 200, 3: 250}, finished},
		{500, 599, 4000, epochs{3: 500}, finished},
	}
	chain := epochs{0: 0, 1: 150, 3: 250}
	more := func(s ...timed) []timed { return append(slices.Clone(plain), s...) }
	for _, c := range []struct {
		name     string
		segments []timed
		chain    epochs
		time     int64
		offset   int64
		want     uint64 // 0 is none
	}{
		{"the first of all", plain, chain, 0, 0, 1},
		{"at the max timestamp", plain, chain, 1000, 0, 1},
		{"behind the max timestamp", plain, chain, 1001, 0, 2},
		{"in the last epoch", plain, chain, 2001, 0, 3},
		{"over a gap", plain, chain, 3001, 0, 4},
		{"later than all", plain, chain, 4001, 0, 0},
		{"from the last offset of a segment", plain, chain, 0, 99, 1},
		{"from the first offset behind it", plain, chain, 0, 100, 2},
		{"from the middle of a segment, in its second epoch", plain, chain, 0, 160, 2},
		{"from within the gap", plain, chain, 0, 300, 4},
		{"from behind all", plain, chain, 0, 600, 0},
		{"from before the chain", plain[1:], epochs{0: 50, 1: 150, 3: 250}, 0, 0, 1},
		{"time goes back", []timed{{0, 99, 5000, epochs{0: 0}, finished}, {100, 199, 10, epochs{0: 100}, finished}}, epochs{0: 0}, 11, 100, 0},

		{"no chain", plain, epochs{}, 0, 0, 0},
		{"no segments", nil, chain, 0, 0, 0},
		{"a chain that lacks the first epoch: the segment's part of it doesn't count", plain, epochs{1: 150, 3: 250}, 0, 150, 2},
		{"a chain whose start was cut off within an epoch", plain, epochs{0: 120, 1: 150, 3: 250}, 0, 120, 2},
		{"a chain that skips an epoch of the segment", plain, epochs{0: 0, 3: 250}, 1001, 0, 4},
		{"a chain with an epoch that the segment lacks", plain, epochs{0: 0, 1: 150, 2: 240, 3: 250}, 2001, 0, 4},
		{"a chain with an empty epoch that the segment lacks", plain, epochs{0: 0, 1: 150, 2: 250, 3: 250}, 2001, 0, 3},
		{"a chain with an empty epoch at the offset", plain, epochs{0: 0, 1: 150, 2: 250, 3: 250}, 2001, 250, 3},
		{"a chain that ends before the segment's last epoch", plain, epochs{0: 0, 1: 150}, 2001, 0, 0},
		{"a chain of other epochs", plain, epochs{7: 0, 9: 400}, 0, 0, 0},
		{
			"a segment with an empty epoch of its own",
			[]timed{{0, 99, 1000, epochs{0: 0, 1: 50, 2: 50}, finished}},
			epochs{0: 0, 2: 50},
			0, 0, 1,
		},

		{
			"an old leader went on: its segment ends behind the next epoch's start",
			more(timed{100, 159, 9000, epochs{0: 100}, finished}), chain, 5000, 0, 0,
		},
		{
			"an epoch that begins elsewhere in the segment",
			[]timed{{100, 199, 9000, epochs{0: 100, 1: 140}, finished}},
			chain, 0, 0, 0,
		},
		{
			"a segment that begins before its first epoch in the chain",
			[]timed{{140, 199, 9000, epochs{1: 140}, finished}},
			chain, 0, 0, 0,
		},
		{
			"another epoch at the same offsets",
			more(timed{250, 299, 9000, epochs{2: 250}, finished}), chain, 5000, 0, 0,
		},
		{
			"a copy of the right lineage behind one that diverged",
			[]timed{{100, 159, 900, epochs{0: 100}, finished}, {100, 149, 800, epochs{0: 100}, finished}},
			chain, 700, 0, 2,
		},

		{"unknown timestamps", []timed{{0, 99, -1, epochs{0: 0}, finished}, {100, 149, 5, epochs{0: 100}, finished}}, chain, 0, 0, 2},
		{"only unknown timestamps", []timed{{0, 99, -1, epochs{0: 0}, finished}}, chain, 0, 0, 0},
		{"equal timestamps", []timed{{100, 149, 7, epochs{0: 100}, finished}, {0, 99, 7, epochs{0: 0}, finished}}, chain, 7, 0, 2},
		{"equal timestamps and starts", []timed{{0, 99, 7, epochs{0: 0}, finished}, {0, 120, 7, epochs{0: 0}, finished}}, chain, 7, 0, 1},
		{"equal starts, and the offset in the second", []timed{{0, 99, 7, epochs{0: 0}, finished}, {0, 120, 7, epochs{0: 0}, finished}}, chain, 7, 100, 2},
		{"offsets before epochs", []timed{{160, 199, 7, epochs{1: 160}, finished}, {100, 149, 7, epochs{0: 100}, finished}}, chain, 7, 0, 2},

		{"not finished", []timed{{0, 99, 7, epochs{0: 0}, api.CopySegmentStarted}}, chain, 0, 0, 0},
		{"being deleted", []timed{{0, 99, 7, epochs{0: 0}, api.DeleteSegmentStarted}, {0, 99, 7, epochs{0: 0}, finished}}, chain, 0, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := timedIndex(c.segments...).RemoteLogSegmentByTimestamp(epochsOf(c.chain), c.time, c.offset)
			if ok != (c.want != 0) || ok && got.ID() != segmentID(c.want).ID {
				t.Errorf("got %v, want segment %d", got, c.want)
			}
		})
	}
}

// TestLineage is the table of Kafka's RemoteLogManagerTest: testRemoteSegmentWithin-
// LeaderEpochs, …ForOverlappingSegments and testFindOffsetByTimestamp…; those that turn on
// the log's end aside.
func TestLineage(t *testing.T) {
	long := epochs{0: 0, 1: 10, 2: 20, 3: 30, 4: 40, 5: 50, 7: 70}
	cut := epochs{7: 51, 9: 100}
	sparse := epochs{4: 99, 5: 99, 10: 120, 12: 500}
	for i, c := range []struct {
		chain      epochs
		start, end int64
		epochs     epochs
		want       bool
	}{
		{long, 15, 35, epochs{1: 15, 2: 20, 3: 30}, true},
		{long, 15, 19, epochs{1: 15}, true},
		{long, 0, 5, epochs{0: 0}, true},
		{long, 70, 75, epochs{7: 70}, true},
		{long, 15, 29, epochs{1: 15, 2: 20}, true},
		{long, 55, 85, epochs{5: 55, 6: 60, 7: 70}, false},
		{long, 15, 45, epochs{1: 15, 2: 20, 4: 40}, false},
		{long, 5, 25, epochs{1: 5, 2: 20}, false},
		{long, 15, 35, epochs{1: 15, 2: 20}, false},
		{cut, 14, 150, epochs{5: 14, 7: 15, 9: 100}, true},
		{cut, 2, 7, epochs{2: 5, 3: 6}, false},
		{cut, 15, 250, epochs{7: 15, 9: 100, 10: 200}, false},
		{cut, 75, 100, epochs{8: 75}, false},
		{cut, 15, 150, epochs{7: 15, 9: 101}, false},
		{cut, 99, 150, epochs{9: 99}, false},
		{sparse, 120, 122, epochs{10: 120}, true},
		{sparse, 119, 122, epochs{9: 119, 10: 120}, false},
	} {
		s := timedIndex(timed{c.start, c.end, 5, c.epochs, finished})
		if _, ok := s.RemoteLogSegmentByTimestamp(epochsOf(c.chain), 5, c.start); ok != c.want {
			t.Errorf("%d: %v %d-%d in %v: %v, want %v", i, c.epochs, c.start, c.end, c.chain, ok, c.want)
		}
	}
}

// TestByTimestampAgainstScan compares with a scan of everything, on segments that were cut
// from some lineages, and a chain that is one of them, its start cut off.
func TestByTimestampAgainstScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lineages := []epochs{drawChain(t), drawChain(t)}
		var segments []timed
		for range rapid.IntRange(0, 8).Draw(t, "segments") {
			segments = append(segments, drawTimed(t, rapid.SampledFrom(lineages).Draw(t, "lineage")))
		}
		chain := cut(lineages[0], rapid.Int64Range(0, 20).Draw(t, "log start"), someOffsets)
		snapshot := timedIndex(segments...)
		for offset := int64(0); offset <= someOffsets; offset++ {
			for time := range int64(4) {
				want := scanByTimestamp(segments, chain, time, offset)
				got, ok := snapshot.RemoteLogSegmentByTimestamp(epochsOf(chain), time, offset)
				if ok != (want != 0) || ok && got.ID() != segmentID(want).ID {
					t.Fatalf("time %d from %d along %v in %+v: got %v, want %d", time, offset, chain, segments, got, want)
				}
			}
		}
	})
}

func drawTimed(t *rapid.T, lineage epochs) timed {
	start := rapid.Int64Range(0, someOffsets-10).Draw(t, "start")
	end := start + rapid.Int64Range(0, 15).Draw(t, "length")
	return timed{
		start: start, end: end, epochs: cut(lineage, start, end), max: rapid.Int64Range(-1, 3).Draw(t, "max time"),
		state: api.RemoteLogSegmentState(rapid.Int8Range(0, 2).Draw(t, "state")),
	}
}

// drawChain draws epochs from offset 0 on, some of them empty.
func drawChain(t *rapid.T) epochs {
	chain := epochs{rapid.Int32Range(0, 1).Draw(t, "first epoch"): 0}
	offset := int64(0)
	for epoch := range int32(4) {
		offset = min(someOffsets, offset+rapid.Int64Range(0, 15).Draw(t, "records"))
		if rapid.Bool().Draw(t, "in the chain") {
			chain[epoch+2] = offset
		}
	}
	return chain
}

// cut is what a leader epoch cache keeps of a chain from start to end.
func cut(chain epochs, start, end int64) epochs {
	first, _ := epochOfOffset(chain, start)
	kept := epochs{first: start}
	for epoch, offset := range chain {
		if epoch > first && offset <= end {
			kept[epoch] = offset
		}
	}
	return kept
}

// scanByTimestamp says the rule again, by what each offset's epoch is.
func scanByTimestamp(segments []timed, chain epochs, time, offset int64) (best uint64) {
	for i, s := range segments {
		switch {
		case s.state != finished || s.max < time || s.end < offset || !sameLineage(s, chain):
		case best == 0 || before(s, segments[best-1], chain, offset):
			best = uint64(i + 1)
		}
	}
	return best
}

// before tells whether a comes before b on the way along the chain.
func before(a, b timed, chain epochs, offset int64) bool {
	return cmp.Or(cmp.Compare(firstVisit(a, chain, offset), firstVisit(b, chain, offset)), cmp.Compare(a.start, b.start)) < 0
}

// firstVisit is the first epoch, from that of the offset on, in which the segment lies.
func firstVisit(s timed, chain epochs, offset int64) int32 {
	from := slices.Min(slices.Collect(maps.Keys(chain)))
	for _, epoch := range slices.Sorted(maps.Keys(chain)) {
		if chain[epoch] < offset || chain[epoch] == offset && chain[from] != offset {
			from = epoch
		}
	}
	for _, epoch := range slices.Sorted(maps.Keys(chain)) {
		if _, ok := s.epochs[epoch]; ok && epoch >= from {
			return epoch
		}
	}
	return -1
}

// sameLineage compares the epoch of each of the segment's offsets with the chain's. What
// lies in the chain's first epoch or before it may differ in where it begins.
func sameLineage(s timed, chain epochs) bool {
	first := slices.Min(slices.Collect(maps.Keys(withRecords(chain))))
	counts := false
	for offset := s.start; offset <= s.end; offset++ {
		own, _ := epochOfOffset(s.epochs, offset)
		theirs, ok := epochOfOffset(chain, offset)
		switch {
		case own < first:
		case own == first && (!ok || theirs == first):
			counts = true
		case own == theirs && ok:
			counts = true
		default:
			return false
		}
	}
	return counts
}

func withRecords(chain epochs) epochs {
	kept := epochs{}
	for epoch, offset := range chain {
		empty := false
		for other, at := range chain {
			empty = empty || other > epoch && at == offset
		}
		if !empty {
			kept[epoch] = offset
		}
	}
	return kept
}

// epochOfOffset is the last epoch that begins at or before the offset.
func epochOfOffset(chain epochs, offset int64) (epoch int32, ok bool) {
	for e, at := range chain {
		if at <= offset && (!ok || e > epoch) {
			epoch, ok = e, true
		}
	}
	return epoch, ok
}
