package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tieredlog/rlmm/internal/store"
)

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// Recoveries notes how metadata partitions come up to date.
type Recoveries struct {
	durations *prometheus.HistogramVec
	records   *prometheus.CounterVec
}

// NewRecoveries registers the metrics of a role's recoveries.
func NewRecoveries(reg prometheus.Registerer, role Role) *Recoveries {
	r := &Recoveries{
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "rlmm_recovery_duration_seconds",
			Help:    "How long a metadata partition took to be of use, in seconds, from a local store or from all of the table.",
			Buckets: []float64{0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800},
		}, []string{"source"}),
		records: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rlmm_recovery_records_total",
			Help: "Table records that were read until metadata partitions were of use, behind a local store or from all of the table.",
		}, []string{"source"}),
	}
	for _, source := range []string{source(true), source(false)} {
		r.durations.WithLabelValues(source)
		r.records.WithLabelValues(source)
	}
	role.wrap(reg).MustRegister(r.durations, r.records)
	return r
}

func source(fromStore bool) string {
	if fromStore {
		return "store"
	}
	return "topic"
}

// Observe notes one.
func (r *Recoveries) Observe(one store.Recovery) {
	from := source(one.FromStore)
	r.durations.WithLabelValues(from).Observe(one.Duration.Seconds())
	r.records.WithLabelValues(from).Add(float64(one.Records))
}
