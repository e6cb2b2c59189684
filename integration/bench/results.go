package bench

import (
	"fmt"
	"slices"
)

// Results collects what was measured, pair by pair. The zero value is empty. It is for
// one goroutine at a time.
type Results struct {
	measures []Measure
	ours     map[string][]float64
	peer     map[string][]float64
}

// Ours adds a value of ours. A key that isn't among [Measures], nor was declared, is an
// error.
func (r *Results) Ours(key string, value float64) error { return r.add(&r.ours, key, value) }

// Peer adds a value of Kafka's manager. The n-th of a key is compared with our n-th.
func (r *Results) Peer(key string, value float64) error { return r.add(&r.peer, key, value) }

// Declare adds a measure to [Measures], for these results only. One that was declared
// before stays as it is.
func (r *Results) Declare(m Measure) {
	if _, ok := r.measure(m.Key); !ok {
		r.measures = append(r.measures, m)
	}
}

func (r *Results) add(side *map[string][]float64, key string, value float64) error {
	if _, ok := r.measure(key); !ok {
		return fmt.Errorf("no measure %q", key)
	}
	if *side == nil {
		*side = map[string][]float64{}
	}
	(*side)[key] = append((*side)[key], value)
	return nil
}

func (r *Results) measure(key string) (Measure, bool) {
	all := r.all()
	i := slices.IndexFunc(all, func(m Measure) bool { return m.Key == key })
	if i < 0 {
		return Measure{}, false
	}
	return all[i], true
}

func (r *Results) all() []Measure { return slices.Concat(Measures, r.measures) }

// Row is what came out for a measure.
type Row struct {
	Measure Measure
	// Ours and Peer are medians. Peer is 0 when only ours was measured.
	Ours, Peer float64
	// Ratio is the median of what [Measure.Better] is for each pair, Lowest and Highest
	// the extremes; 0 without pairs.
	Ratio, Lowest, Highest float64
	// Rounds counts the values of ours.
	Rounds int
}

// Met tells whether the target is reached. A measure without one has nothing to meet:
// ok is false.
func (r Row) Met() (met, ok bool) {
	return r.Measure.met(r.Ours, r.Ratio), r.Measure.asked()
}

// Rows returns a row for each measure that has values of ours, in the order of the
// report.
func (r *Results) Rows() []Row {
	var rows []Row
	for _, m := range r.all() {
		if len(r.ours[m.Key]) > 0 {
			rows = append(rows, rowOf(m, r.ours[m.Key], r.peer[m.Key]))
		}
	}
	return rows
}

func rowOf(m Measure, ours, peer []float64) Row {
	row := Row{Measure: m, Ours: Median(ours), Peer: Median(peer), Rounds: len(ours)}
	var ratios []float64
	for i := range min(len(ours), len(peer)) {
		ratios = append(ratios, m.Better(ours[i], peer[i]))
	}
	if len(ratios) > 0 {
		row.Ratio, row.Lowest, row.Highest = Median(ratios), slices.Min(ratios), slices.Max(ratios)
	}
	return row
}
