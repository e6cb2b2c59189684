package views

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/tieredlog/rlmm/api"
)

// lookup holds all indexes of a manager, for reads: they find one without a lock, without
// Kafka's hash and without knowing which metadata partition it belongs to, which together
// took a third of a short query.
type lookup struct {
	// slots are a power of two and at most half in use: an index lies in the first free one
	// from its place on.
	slots atomic.Pointer[[]slot]

	mu   sync.Mutex // guards changes
	used int
}

type slot = atomic.Pointer[indexed]

const leastSlots = 8

func newLookup() *lookup {
	l := &lookup{}
	l.renew(leastSlots)
	return l
}

func (l *lookup) renew(n int) {
	slots := make([]slot, n)
	l.slots.Store(&slots)
	l.used = 0
}

// get returns nil when there is no index of the user partition.
func (l *lookup) get(tip *api.TopicIdPartition) *indexed {
	slots := *l.slots.Load()
	for i := place(&tip.TopicID, tip.Partition, len(slots)); ; i++ {
		x := slots[i&(len(slots)-1)].Load()
		if x == nil || x.of.topicID == tip.TopicID && x.of.partition == tip.Partition {
			return x
		}
	}
}

// put adds an index, in the place of one of the same user partition.
func (l *lookup) put(x *indexed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if 2*(l.used+1) > len(*l.slots.Load()) {
		l.rebuild(2*len(*l.slots.Load()), func(*indexed) bool { return true })
	}
	l.settle(*l.slots.Load(), x)
}

// remove takes away those that are to be dropped.
func (l *lookup) remove(drop func(*indexed) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rebuild(len(*l.slots.Load()), func(x *indexed) bool { return !drop(x) })
}

// rebuild replaces the slots by n with what is kept. Reads see the old ones or the new.
func (l *lookup) rebuild(n int, keep func(*indexed) bool) {
	old, slots := *l.slots.Load(), make([]slot, n)
	l.used = 0
	for i := range old {
		if x := old[i].Load(); x != nil && keep(x) {
			l.settle(slots, x)
		}
	}
	l.slots.Store(&slots)
}

func (l *lookup) settle(slots []slot, x *indexed) {
	for i := place(&x.of.topicID, x.of.partition, len(slots)); ; i++ {
		s := &slots[i&(len(slots)-1)]
		old := s.Load()
		if old == nil {
			l.used++
		}
		if old == nil || old.of == x.of {
			s.Store(x)
			return
		}
	}
}

// place spreads user partitions: ids of topics are random, the partitions of one aren't.
func place(topicID *api.UUID, partition int32, slots int) int {
	const golden = 0x9e3779b97f4a7c15 // 2⁶⁴ divided by the golden ratio
	one, other := binary.LittleEndian.Uint64(topicID[:8]), binary.LittleEndian.Uint64(topicID[8:])
	hash := (one ^ bits.RotateLeft64(other, 32) ^ uint64(partition)) * golden
	return int(hash >> 32 * uint64(slots) >> 32)
}
