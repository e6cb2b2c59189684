package views

import (
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
)

func lookupTip(n int) api.TopicIdPartition {
	return api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 2), Partition: int32(n)}
}

func lookupEntry(tip api.TopicIdPartition) *indexed {
	return &indexed{of: identityOf(tip)}
}

// TestLookupIsAMap compares with one. Partitions that are multiples of 2³² divided by few
// places collide.
func TestLookupIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		apart := rapid.SampledFrom([]int{1, 1 << 20, 1 << 25}).Draw(t, "apart")
		tipOf := func(n int) api.TopicIdPartition { return lookupTip(n * apart) }
		l, want := newLookup(), map[int]*indexed{}
		number := rapid.IntRange(0, 60)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				n := number.Draw(t, "n")
				want[n] = lookupEntry(tipOf(n)) // another in its place, if there was one
				l.put(want[n])
			},
			"remove": func(t *rapid.T) {
				modulus := rapid.IntRange(1, 9).Draw(t, "modulus")
				gone := map[*indexed]bool{}
				for n, x := range want {
					if n%modulus == 0 {
						gone[x] = true
						delete(want, n)
					}
				}
				l.remove(func(x *indexed) bool { return gone[x] })
			},
			"": func(t *rapid.T) {
				if l.used != len(want) {
					t.Fatalf("%d are said to be used, want %d", l.used, len(want))
				}
				for n := range 61 {
					tip := tipOf(n)
					if got := l.get(&tip); got != want[n] {
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
	l, always := newLookup(), lookupEntry(lookupTip(1_000_000))
	l.put(always)
	changed := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			tip := lookupTip(1_000_000)
			for {
				if l.get(&tip) != always {
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
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for range 50 {
				for n := range 200 {
					l.put(lookupEntry(lookupTip(2*n + w)))
				}
				l.remove(func(x *indexed) bool { return x != always && int(x.of.partition)%2 == w })
			}
		})
	}
	writers.Wait()
	close(changed)
	readers.Wait()
}
