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

// Progress is how many events were done after so long.
type Progress struct {
	After time.Duration
	Done  int64
}

// Rates returns the events a second of each window of so many events, in order, by
// straight lines between the samples, which must be ascending. What doesn't fill a
// window is left out.
func Rates(samples []Progress, window int64) []float64 {
	var rates []float64
	if len(samples) == 0 {
		return nil
	}
	start := samples[0]
	for i := 1; i < len(samples); i++ {
		for samples[i].Done-start.Done >= window {
			end := Progress{between(samples[i-1], samples[i], start.Done+window), start.Done + window}
			rates = append(rates, float64(window)/(end.After-start.After).Seconds())
			start = end
		}
	}
	return rates
}

// between is when so many events were done, which is after a and not after b.
func between(a, b Progress, done int64) time.Duration {
	share := float64(done-a.Done) / float64(b.Done-a.Done)
	return a.After + time.Duration(share*float64(b.After-a.After))
}

// Growth compares rates while something grows: the slowest of the later half with the
// median of the first half. Below 1 it has become slower; of fewer than two rates it is
// 0.
func Growth(rates []float64) float64 {
	if len(rates) < 2 {
		return 0
	}
	half := len(rates) / 2
	return slices.Min(rates[half:]) / Median(rates[:half])
}
