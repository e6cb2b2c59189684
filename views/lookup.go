package views

import (
	"sync/atomic"

	"github.com/tieredlog/rlmm/api"
)

// lookup holds the indexes of one metadata partition. Only one goroutine at a time may
// change it; get takes no lock. It goes by Kafka's hash of the user partition, which a read
// knows already: a general map hashes the topic's id again, which took a third of the
// time of a short query.
type lookup struct {
	// slots are a power of two and at most half in use: an index lies in the first free one
	// from its place on.
	slots atomic.Pointer[[]slot]
	used  int
}

type slot = atomic.Pointer[indexed]

const leastSlots = 8

func newLookup() *lookup {
	l := &lookup{}
	l.clear()
	return l
}

func (l *lookup) clear() {
	slots := make([]slot, leastSlots)
	l.slots.Store(&slots)
	l.used = 0
}

// get returns nil when there is no index of the user partition, whose hash it is given.
func (l *lookup) get(hash uint32, tip *api.TopicIdPartition) *indexed {
	slots := *l.slots.Load()
	for i := place(hash, len(slots)); ; i++ {
		x := slots[i&(len(slots)-1)].Load()
		if x == nil || x.of.topicID == tip.TopicID && x.of.partition == tip.Partition {
			return x
		}
	}
}

// put adds an index that isn't there yet.
func (l *lookup) put(x *indexed) {
	slots := *l.slots.Load()
	if l.used++; 2*l.used > len(slots) {
		more := make([]slot, 2*len(slots))
		l.all(func(old *indexed) { settle(more, old) })
		settle(more, x)
		l.slots.Store(&more)
		return
	}
	settle(slots, x)
}

// remove takes away those that are to be dropped.
func (l *lookup) remove(drop func(*indexed) bool) {
	left := newLookup()
	l.all(func(x *indexed) {
		if !drop(x) {
			left.put(x)
		}
	})
	l.slots.Store(left.slots.Load())
	l.used = left.used
}

func (l *lookup) all(visit func(*indexed)) {
	slots := *l.slots.Load()
	for i := range slots {
		if x := slots[i].Load(); x != nil {
			visit(x)
		}
	}
}

func settle(slots []slot, x *indexed) {
	i := place(x.hash, len(slots))
	for slots[i&(len(slots)-1)].Load() != nil {
		i++
	}
	slots[i&(len(slots)-1)].Store(x)
}

// place spreads the hashes, which are all alike modulo the number of metadata partitions.
func place(hash uint32, slots int) int {
	const golden = 0x9e3779b1 // 2³² divided by the golden ratio
	return int(uint64(hash*golden) * uint64(slots) >> 32)
}
