package produce

import (
	"math"
	"testing"
)

func TestNextSequence(t *testing.T) {
	for _, c := range []struct {
		seq  int32
		n    int
		want int32
	}{
		{0, 1, 1},
		{5, 500, 505},
		{math.MaxInt32 - 1, 1, math.MaxInt32},
		{math.MaxInt32, 1, 0},
		{math.MaxInt32, 500, 499},
		{math.MaxInt32 - 9, 10, 0},
		{math.MaxInt32 - 9, 12, 2},
	} {
		if got := NextSequence(c.seq, c.n); got != c.want {
			t.Errorf("%d and %d: %d, want %d", c.seq, c.n, got, c.want)
		}
	}
}
