package store

import (
	"slices"

	"github.com/bits-and-blooms/bloom/v3"
)

const (
	// firstLayer is how many keys the first layer of a [keySet] has, and layerGrowth how many
	// times as many each next one.
	firstLayer, layerGrowth = 4096, 4
	// wrongly is how often a layer takes a key for one of its own, with 19 bits for each. A
	// buffer of 1 MiB holds some 11,000 rows, and LevelDB merges its file after 100 reads in
	// vain: one in a hundred would be too many.
	wrongly = 1e-4
)

// beginKeys has an owner's store that is empty remember which keys it gets. LevelDB 1.0.0
// merges a file when a hundred reads have looked into it in vain, and the row of each segment
// is looked for before there is one: so each write buffer's file was merged at once with all
// that lay below. The fleet made a table of 5,000,000 rows in 51 to 58 s, which takes 24 to 26 s
// where those reads don't reach LevelDB. With rows in the store it would have to read all keys
// first. s.mu is held.
func (s *Store) beginKeys() error {
	empty, err := s.isEmpty()
	if empty {
		s.keys = &keySet{}
	}
	return err
}

// keySet tells whether a key was never added, and else that it may have been: a Bloom filter
// that grows. Its zero value has no keys.
type keySet struct {
	layers []*bloom.BloomFilter
	size   uint // of the last layer, in keys
	room   uint // of that, what is left
}

func (k *keySet) add(key string) {
	if k.mayHave(key) {
		return
	}
	if k.room == 0 {
		k.size = max(firstLayer, k.size*layerGrowth)
		k.room = k.size
		k.layers = append(k.layers, bloom.NewWithEstimates(k.size, wrongly))
	}
	k.layers[len(k.layers)-1].AddString(key)
	k.room--
}

func (k *keySet) mayHave(key string) bool {
	return slices.ContainsFunc(k.layers, func(l *bloom.BloomFilter) bool { return l.TestString(key) })
}
