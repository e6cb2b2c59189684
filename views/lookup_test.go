package views

import (
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/views/index"
)

func lookupTip(n int) api.TopicIdPartition {
	return api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 2), Partition: int32(n)}
}

func lookupEntry(hash uint32, n int) *indexed {
	return &indexed{Partition: index.New(), of: identityOf(lookupTip(n)), hash: hash}
}

// TestLookupIsAMap compares with one. Few hashes make many collide.
func TestLookupIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SampledFrom([]int{1, 3, 1 << 30}).Draw(t, "hashes")
		hashOf := func(n int) uint32 { return uint32(n * 50 % hashes) }
		l, want := newLookup(), map[int]*indexed{}
		number := rapid.IntRange(0, 60)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				n := number.Draw(t, "n")
				if want[n] == nil {
					want[n] = lookupEntry(hashOf(n), n)
					l.put(want[n])
				}
			},
			"remove": func(t *rapid.T) {
				modulus := rapid.IntRange(1, 9).Draw(t, "modulus")
				l.remove(func(x *indexed) bool { return int(x.of.partition)%modulus == 0 })
				for n := range want {
					if n%modulus == 0 {
						delete(want, n)
					}
				}
			},
			"clear": func(*rapid.T) {
				l.clear()
				clear(want)
			},
			"": func(t *rapid.T) {
				seen := 0
				l.all(func(*indexed) { seen++ })
				if seen != len(want) || l.used != len(want) {
					t.Fatalf("%d entries, %d said to be used, want %d", seen, l.used, len(want))
				}
				for n := range 61 {
					tip := lookupTip(n)
					if got := l.get(hashOf(n), &tip); got != want[n] {
						t.Fatalf("get %d: %p, want %p", n, got, want[n])
					}
				}
			},
		})
	})
}

// TestLookupIsReadWhileItChanges looks for an entry that is always there, for the race
// detector too.
func TestLookupIsReadWhileItChanges(t *testing.T) {
	l, always := newLookup(), lookupEntry(7, 1_000_000)
	l.put(always)
	changed := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			tip := lookupTip(1_000_000)
			for {
				if l.get(7, &tip) != always {
					t.Error("an entry that is there was not found")
					return
				}
				select {
				case <-changed:
					return
				default:
				}
			}
		})
	}
	for round := range 50 {
		for n := range 200 {
			l.put(lookupEntry(uint32(n), n+1000*round))
		}
		l.remove(func(x *indexed) bool { return x != always })
	}
	close(changed)
	readers.Wait()
}
