package check_test

import (
	"fmt"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/views/check"
)

// BenchmarkRows checks a partition of one epoch: the time grows with the square of its
// segments.
func BenchmarkRows(b *testing.B) {
	for _, n := range []int64{1_000, 10_000} {
		b.Run(fmt.Sprint(n, " segments"), func(b *testing.B) {
			var events []api.RemoteLogMetadata
			for i := range n {
				events = append(events, copied(orders, uint64(i+1), 100*i, 100*i+99, epochs(0, 100*i))...)
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
