package bench_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tieredlog/rlmm/integration/bench"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{4}, 4},
		{[]float64{9, 1}, 5},
		{[]float64{100, 1, 3}, 3},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := bench.Median(c.values); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.values, got, c.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	var values []float64
	for i := range 100 {
		values = append(values, float64((i*37)%100)) // 0 to 99, in no order
	}
	for p, want := range map[float64]float64{0: 0, 0.5: 50, 0.99: 99, 1: 99} {
		if got := bench.Percentile(values, p); got != want {
			t.Errorf("percentile %v: %v, want %v", p, got, want)
		}
	}
	if got := bench.Percentile(nil, 0.5); got != 0 {
		t.Errorf("of nothing: %v, want 0", got)
	}
}

func TestRates(t *testing.T) {
	second := time.Second
	for name, c := range map[string]struct {
		samples []bench.Progress
		want    []float64
	}{
		"none":               {nil, nil},
		"not a window":       {[]bench.Progress{{0, 0}, {second, 9}}, nil},
		"even":               {[]bench.Progress{{0, 0}, {second, 10}, {2 * second, 20}}, []float64{10, 10}},
		"slower":             {[]bench.Progress{{0, 0}, {second, 10}, {6 * second, 20}}, []float64{10, 2}},
		"within one sample":  {[]bench.Progress{{0, 0}, {2 * second, 40}}, []float64{20, 20, 20, 20}},
		"over three samples": {[]bench.Progress{{0, 0}, {second, 4}, {2 * second, 8}, {3 * second, 12}}, []float64{4}},
		"not from zero":      {[]bench.Progress{{second, 5}, {2 * second, 15}}, []float64{10}},
		"at a standstill":    {[]bench.Progress{{0, 0}, {second, 5}, {3 * second, 5}, {4 * second, 10}}, []float64{2.5}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, bench.Rates(c.samples, 10), cmpopts.EquateApprox(1e-6, 0)); diff != "" {
				t.Errorf("rates (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGrowth(t *testing.T) {
	for name, c := range map[string]struct {
		rates []float64
		want  float64
	}{
		"too few":         {[]float64{5}, 0},
		"even":            {[]float64{10, 10, 10, 10}, 1},
		"a cold start":    {[]float64{1, 10, 10, 10, 10, 10}, 1},
		"slower and back": {[]float64{10, 10, 10, 10, 7, 10}, 0.7},
		"ever slower":     {[]float64{100, 80, 60, 40}, 40. / 90},
	} {
		if got := bench.Growth(c.rates); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
