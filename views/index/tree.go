package index

import "slices"

// How much a node holds. Leaves are large, so that nodes cost little memory beside
// their entries, and that a search ends soon; branches are smaller, since their kids are
// larger and are copied at each change.
const (
	leafCap      = 64
	epochLeafCap = 128 // most partitions have fewer epochs, and each change has one copied
	branchCap    = 32
)

// tree is an immutable B+tree of entries T in one order. A change returns a new tree
// that shares all nodes but those on the path to the change.
type tree[T, S any] struct {
	order *order[T, S]
	root  kid[T, S] // without a node when the tree is empty
	len   int
}

// order is what trees of one kind have in common. The summary S of a node, kept in its
// parent, tells a search whether to look below; without join nodes have none.
type order[T, S any] struct {
	compare func(a, b T) int
	of      func(T) S
	join    func(a, b S) S // the summary of two nodes, the first before the second
	leafCap int
}

// kid is a node as its parent knows it.
type kid[T, S any] struct {
	least T
	sum   S
	node  *node[T, S]
}

// node is a leaf, with entries, or a branch, with kids. Neither is ever empty.
type node[T, S any] struct {
	entries []T
	kids    *[]kid[T, S] // a pointer keeps leaves, which are many, small
}

// plainOrder is an order whose nodes need no summary.
func plainOrder[T any](leafCap int, compare func(a, b T) int) *order[T, struct{}] {
	return &order[T, struct{}]{leafCap: leafCap, compare: compare}
}

// with returns the tree with the entry added, or put in the place of its equal, whose
// summary must be the same.
func (t tree[T, S]) with(entry T) tree[T, S] {
	if t.root.node == nil {
		t.root, t.len = t.order.leaf([]T{entry}), 1
		return t
	}
	left, right, replaced := t.order.put(t.root, entry)
	t.root = left
	if right.node != nil {
		t.root = t.order.branch([]kid[T, S]{left, right})
	}
	if !replaced {
		t.len++
	}
	return t
}

// without returns the tree without the entry's equal, or itself when it has none.
func (t tree[T, S]) without(entry T) tree[T, S] {
	if t.root.node == nil {
		return t
	}
	root, found := t.order.remove(t.root, entry)
	if !found {
		return t
	}
	t.len--
	t.root = root
	for root.node != nil && len(root.node.branch()) == 1 {
		root = root.node.branch()[0]
		t.root = root
	}
	return t
}

// leaf returns the entries among which one would be, where notAfter tells whether an
// entry comes before it or is it. Generic code can't inline the last, finest step of a
// search, so that it is the caller's.
func (t tree[T, S]) leaf(notAfter func(T) bool) []T {
	n := t.root.node
	if n == nil {
		return nil
	}
	for kids := n.branch(); kids != nil; kids = n.branch() {
		n = kids[max(0, below(kids, func(k *kid[T, S]) bool { return notAfter(k.least) })-1)].node
	}
	return n.entries
}

// all iterates over the entries in order.
func (t tree[T, S]) all(yield func(T) bool) {
	if t.root.node != nil {
		t.root.node.all(yield)
	}
}

func (n *node[T, S]) all(yield func(T) bool) bool {
	return n.leaves(func(entries []T) bool {
		for _, entry := range entries {
			if !yield(entry) {
				return false
			}
		}
		return true
	})
}

// leaves iterates over the entries, a leaf's at a time.
func (n *node[T, S]) leaves(yield func([]T) bool) bool {
	kids := n.branch()
	if kids == nil {
		return yield(n.entries)
	}
	for i := range kids {
		if !kids[i].node.leaves(yield) {
			return false
		}
	}
	return true
}

// branch returns the kids of a branch, nil for a leaf.
func (n *node[T, S]) branch() []kid[T, S] {
	if n.kids == nil {
		return nil
	}
	return *n.kids
}

// put returns the node that takes k's place, and the one after it when they are two.
func (o *order[T, S]) put(k kid[T, S], entry T) (left, right kid[T, S], replaced bool) {
	if k.node.kids != nil {
		return o.putBelow(k, entry)
	}
	i, replaced := slices.BinarySearchFunc(k.node.entries, entry, o.compare)
	entries := spliced(k.node.entries, i, entry, replaced)
	if len(entries) > o.leafCap {
		cut := cutAt(o.leafCap, i)
		return o.leaf(slices.Clone(entries[:cut])), o.leaf(slices.Clone(entries[cut:])), replaced
	}
	left = kid[T, S]{least: entries[0], node: &node[T, S]{entries: entries}}
	switch {
	case replaced:
		left.sum = k.sum
	case i == len(entries)-1: // a log grows here: to sum up all would cost more than all else
		left.sum = o.joined(k.sum, o.sum(entries[i:]))
	default:
		left.sum = o.sum(entries)
	}
	return left, right, replaced
}

func (o *order[T, S]) putBelow(k kid[T, S], entry T) (left, right kid[T, S], replaced bool) {
	old := k.node.branch()
	i := o.kidOf(old, entry)
	left, right, replaced = o.put(old[i], entry)
	kids := spliced(old, i, left, true)
	if right.node != nil {
		kids = slices.Insert(kids, i+1, right)
	}
	if len(kids) > branchCap {
		cut := cutAt(branchCap, i+1)
		return o.branch(slices.Clone(kids[:cut])), o.branch(slices.Clone(kids[cut:])), replaced
	}
	return o.branch(kids), kid[T, S]{}, replaced
}

// remove returns the node that takes k's place, none when it would be empty.
func (o *order[T, S]) remove(k kid[T, S], entry T) (left kid[T, S], found bool) {
	kids, entries := k.node.branch(), k.node.entries
	if kids == nil {
		i, found := slices.BinarySearchFunc(entries, entry, o.compare)
		if !found || len(entries) == 1 {
			return kid[T, S]{}, found
		}
		return o.leaf(slices.Concat(entries[:i], entries[i+1:])), true
	}
	i := o.kidOf(kids, entry)
	changed, found := o.remove(kids[i], entry)
	switch {
	case !found || changed.node == nil && len(kids) == 1:
		return kid[T, S]{}, found
	case changed.node == nil:
		return o.branch(slices.Concat(kids[:i], kids[i+1:])), true
	}
	return o.branch(o.fill(spliced(kids, i, changed, true), i)), true
}

// fill merges the i-th kid into a neighbour when they fit in one node, so that a tree
// from which most was deleted costs what is left. It may change kids.
func (o *order[T, S]) fill(kids []kid[T, S], i int) []kid[T, S] {
	if len(kids) == 1 {
		return kids
	}
	i = max(i, 1)
	a, b := kids[i-1].node, kids[i].node
	switch small := len(a.branch())+len(b.branch()) <= branchCap/2; {
	case a.kids == nil && len(a.entries)+len(b.entries) <= o.leafCap/2:
		kids[i-1] = o.leaf(slices.Concat(a.entries, b.entries))
	case a.kids != nil && small:
		kids[i-1] = o.branch(slices.Concat(a.branch(), b.branch()))
	default:
		return kids
	}
	return slices.Delete(kids, i, i+1)
}

func (o *order[T, S]) leaf(entries []T) kid[T, S] {
	return kid[T, S]{least: entries[0], sum: o.sum(entries), node: &node[T, S]{entries: entries}}
}

func (o *order[T, S]) branch(kids []kid[T, S]) kid[T, S] {
	sum := kids[0].sum
	for i := range kids[1:] {
		sum = o.joined(sum, kids[i+1].sum)
	}
	return kid[T, S]{least: kids[0].least, sum: sum, node: &node[T, S]{kids: &kids}}
}

// sum is the summary of a leaf.
func (o *order[T, S]) sum(entries []T) (sum S) {
	if o.join == nil {
		return sum
	}
	sum = o.of(entries[0])
	for _, entry := range entries[1:] {
		sum = o.join(sum, o.of(entry))
	}
	return sum
}

func (o *order[T, S]) joined(a, b S) S {
	if o.join == nil {
		return a
	}
	return o.join(a, b)
}

// kidOf returns the kid below which the entry belongs.
func (o *order[T, S]) kidOf(kids []kid[T, S], entry T) int {
	return max(0, below(kids, func(k *kid[T, S]) bool { return o.compare(k.least, entry) <= 0 })-1)
}

// spliced returns a copy with e at i: in the place of what is there, or before it.
func spliced[E any](s []E, i int, e E, replace bool) []E {
	rest := s[i:]
	if replace {
		rest = rest[1:]
	}
	out := make([]E, i+1+len(rest))
	copy(out, s[:i])
	out[i] = e
	copy(out[i+1:], rest)
	return out
}

// cutAt says how much of a node that has one too many stays left when it grew at i:
// half, or all that fits when it grew at its end. A log grows there, and the left node
// won't be touched again.
func cutAt(most, i int) int {
	if i == most {
		return most
	}
	return (most + 1) / 2
}

// below returns how many elements hold, where those that hold come first.
func below[E any](s []E, holds func(*E) bool) int {
	low, high := 0, len(s)
	for low < high {
		if middle := int(uint(low+high) >> 1); holds(&s[middle]) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// belowNear is below for a search that knows about where its end is.
func belowNear[E any](s []E, guess int, holds func(*E) bool) int {
	guess = max(0, min(guess, len(s)-1))
	switch {
	case !holds(&s[guess]):
		if guess == 0 || holds(&s[guess-1]) {
			return guess
		}
		return below(s[:guess-1], holds)
	case guess+1 == len(s) || !holds(&s[guess+1]):
		return guess + 1
	}
	return guess + 2 + below(s[guess+2:], holds)
}
