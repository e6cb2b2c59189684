package bench

import (
	"slices"
	"time"
)

// Percentile returns the smallest value that the share p of the values, 0 to 1, doesn't
// exceed. The values needn't be sorted; without any it is 0.
func Percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

// Median returns the middle value, the mean of both when there are two, and 0 without
// any.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Milliseconds is a duration as results carry it.
func Milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
