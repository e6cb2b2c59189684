package index

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tieredlog/rlmm/api"
)

// numbers is an order of ints; the summary is the span of the numbers below, which must be
// joined in their order.
var numbers = &order[int, [2]int]{
	leafCap: leafCap,
	compare: cmp.Compare[int],
	of:      func(n int) [2]int { return [2]int{n, n} },
	join: func(a, b [2]int) [2]int {
		if a[1] >= b[0] {
			panic("joined out of order")
		}
		return [2]int{a[0], b[1]}
	},
}

// TestTreeAgainstSlice grows and shrinks a tree through several levels in different
// patterns, beside a sorted slice, and checks that trees taken before stay as they were.
func TestTreeAgainstSlice(t *testing.T) {
	const size = 5_000
	patterns := map[string][2]func(i int) int{ // what to add, what to remove
		"log":    {func(i int) int { return i }, func(i int) int { return i }},
		"stack":  {func(i int) int { return i }, func(i int) int { return size - 1 - i }},
		"random": {func(int) int { return rand.IntN(size) }, func(int) int { return rand.IntN(size) }},
		"down":   {func(i int) int { return size - 1 - i }, func(i int) int { return (i * 7919) % size }},
	}
	for name, pattern := range patterns {
		t.Run(name, func(t *testing.T) {
			tr, want := tree[int, [2]int]{order: numbers}, []int(nil)
			for i := range size {
				n := pattern[0](i)
				tr, want = tr.with(n), insert(want, n)
				if i%500 == 0 {
					checkTree(t, tr, want)
				}
			}
			checkSnapshotStays(t, tr, want)
			for i := range size {
				n := pattern[1](i)
				tr, want = tr.without(n), slices.DeleteFunc(want, func(m int) bool { return m == n })
				if i%500 == 0 {
					checkTree(t, tr, want)
				}
			}
			for _, n := range slices.Clone(want) {
				tr = tr.without(n)
			}
			checkTree(t, tr, nil)
		})
	}
}

func checkSnapshotStays(t *testing.T, tr tree[int, [2]int], want []int) {
	for n := -1; n < 50; n++ {
		tr.with(n).without(n + 1)
	}
	checkTree(t, tr, want)
}

func insert(sorted []int, n int) []int {
	i, found := slices.BinarySearch(sorted, n)
	if found {
		return sorted
	}
	return slices.Insert(sorted, i, n)
}

func checkTree(t *testing.T, tr tree[int, [2]int], want []int) {
	t.Helper()
	if got := slices.Collect(tr.all); !slices.Equal(got, want) || tr.len != len(want) {
		t.Fatalf("the tree holds %d (len %d), want %d entries", len(got), tr.len, len(want))
	}
	if tr.root.node != nil {
		checkNode(t, tr.root)
	}
	for _, n := range want {
		if got := tr.leaf(func(m int) bool { return m <= n }); !slices.Contains(got, n) {
			t.Fatalf("the leaf of %d is %v", n, got)
		}
	}
	for range tr.all { // a reader may stop
		break
	}
}

// checkNode checks sizes, least entries and summaries, and returns the depth.
func checkNode(t *testing.T, k kid[int, [2]int]) (depth int) {
	t.Helper()
	n := k.node
	var all []int
	n.all(func(entry int) bool { all = append(all, entry); return true })
	if k.least != all[0] || k.sum != [2]int{all[0], all[len(all)-1]} {
		t.Fatalf("least %d and sum %v over %v", k.least, k.sum, all)
	}
	kids := n.branch()
	if len(n.entries) > leafCap || len(kids) > branchCap || (n.entries == nil) == (kids == nil) {
		t.Fatalf("node with %d entries and %d kids", len(n.entries), len(kids))
	}
	for i, kid := range kids {
		if d := checkNode(t, kid); i > 0 && d != depth {
			t.Fatalf("leaves at depths %d and %d", d, depth)
		} else {
			depth = d
		}
	}
	return depth + 1
}

// TestTreeFill holds the number of leaves to what the memory of a partition hangs on: a
// log fills its leaves, and a tree from which most was deleted shrinks.
func TestTreeFill(t *testing.T) {
	const size = 100 * leafCap
	tr := tree[int, [2]int]{order: numbers}
	for i := range size {
		tr = tr.with(i)
	}
	if got := countLeaves(tr.root.node); got != size/leafCap {
		t.Errorf("a log of %d entries fills %d leaves, want %d", size, got, size/leafCap)
	}
	for i := range size {
		if i%20 != 0 {
			tr = tr.without(i)
		}
	}
	if got, most := countLeaves(tr.root.node), 8*tr.len/leafCap; got > most {
		t.Errorf("%d entries are left in %d leaves, want at most %d", tr.len, got, most)
	}
}

func countLeaves[T, S any](n *node[T, S]) (leaves int) {
	if n.kids == nil {
		return 1
	}
	for _, k := range n.branch() {
		leaves += countLeaves(k.node)
	}
	return leaves
}

// TestDeepEpochAgainstScan asks an epoch of thousands of segments and compares with a
// scan: with ranges of all lengths that overlap, with gaps between most, and with those of a
// log, one behind the other, that come in any order.
func TestDeepEpochAgainstScan(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	anywhere := func(spread int64) int64 { return 10 + random.Int64N(spread) }
	order := random.Perm(6_000)
	spreads := map[string]struct {
		spread int64
		ranges func(i int) (start, end int64)
	}{
		"overlaps": {1_500, func(int) (int64, int64) { s := anywhere(1_500); return s, s + 1<<random.IntN(10) - 1 }},
		"gaps":     {100_000, func(int) (int64, int64) { s := anywhere(100_000); return s, s + random.Int64N(5) }},
		"log":      {42_000, func(i int) (int64, int64) { s := 10 + 7*int64(order[i]); return s, s + 6 }},
		"a log whose segments differ": {36_000_000, func(i int) (int64, int64) {
			n := int64(order[i])
			return 10 + n*n, 10 + n*n + 2*n
		}},
	}
	for name, c := range spreads {
		t.Run(name, func(t *testing.T) {
			e, all := deepEpoch(random, c.ranges)
			for range 3_000 {
				offset := random.Int64N(c.spread+200) - 100
				if got, want := e.last(&e.finished.root, offset), scanLast(all, offset); got != want {
					t.Fatalf("last at %d: got %v, want %v", offset, got, want)
				}
				if got, want := e.nextTxn(&e.finished.root, offset, nil), scanNextTxn(all, offset); got != want {
					t.Fatalf("next txn at %d: got %v, want %v", offset, got, want)
				}
			}
		})
	}
}

// deepEpoch returns an epoch of thousands of segments, a third of them removed again, and
// the same as a list.
func deepEpoch(random *rand.Rand, ranges func(i int) (start, end int64)) (*epoch, []*Segment) {
	e, all := newEpoch(7), []*Segment(nil)
	for i := range 6_000 {
		start, end := ranges(i)
		s := &Segment{
			id: api.UUIDFromBits(random.Uint64(), random.Uint64()), start: start, length: uint32(end - start), finished: int64(i),
			rest: &rest{state: api.CopySegmentFinished, plain: true, epoch: 7, txnIndexEmpty: random.IntN(20) > 0},
		}
		e, all = e.with(nil, s), append(all, s)
		if i%3 == 0 {
			gone := random.IntN(len(all))
			e, all = e.without(all[gone]), slices.Delete(all, gone, gone+1)
		}
	}
	return e, all
}

func scanLast(all []*Segment, offset int64) (best *Segment) {
	for _, s := range all {
		if s.start <= offset && offset <= s.end() && (best == nil || cmp.Or(cmp.Compare(s.start, best.start), cmp.Compare(s.finished, best.finished)) > 0) {
			best = s
		}
	}
	return best
}

func scanNextTxn(all []*Segment, offset int64) (best *Segment) {
	for _, s := range all {
		if !s.rest.txnIndexEmpty && offset <= s.end() && (best == nil || compareStarts(s, best) < 0) {
			best = s
		}
	}
	return best
}

// TestBelowNearIsBelow guesses right, nearly right and wrong.
func TestBelowNearIsBelow(t *testing.T) {
	for size := 1; size < 12; size++ {
		s := make([]int, size)
		for i := range s {
			s[i] = i
		}
		for most := range size + 1 {
			for guess := -2; guess < size+3; guess++ {
				if got := belowNear(s, guess, func(n *int) bool { return *n < most }); got != most {
					t.Errorf("%d of %d are below, not %d, with the guess %d", most, size, got, guess)
				}
			}
		}
	}
}
