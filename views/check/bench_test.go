package check_test

import (
	"fmt"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/views/check"
)

// BenchmarkRows checks a partition of one epoch, and one of as many epochs as segments.
func BenchmarkRows(b *testing.B) {
	for _, c := range []struct{ segments, perEpoch int64 }{{1_000, 1_000}, {10_000, 10_000}, {100_000, 100_000}, {10_000, 1}} {
		b.Run(fmt.Sprintf("%d segments, %d an epoch", c.segments, c.perEpoch), func(b *testing.B) {
			var events []api.RemoteLogMetadata
			for i := range c.segments {
				events = append(events, copied(orders, uint64(i+1), 100*i, 100*i+99, epochs(i/c.perEpoch, 100*i))...)
			}
			rows := newTable(events...).rows
			for b.Loop() {
				if r, err := check.Rows(check.InOrder(rows), day); err != nil || len(r.Findings) > 0 {
					b.Fatal(r, err)
				}
			}
		})
	}
}
