package metrics

import "github.com/prometheus/client_golang/prometheus"

// metric makes the values of one metric when it is scraped.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func gauge(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue}
}

func counter(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue}
}

// sink takes what is scraped.
type sink chan<- prometheus.Metric

func (s sink) put(m metric, value float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
}

func (s sink) putAll(m metric, values map[string]int64) {
	for label, value := range values {
		s.put(m, float64(value), label)
	}
}

// describe sends the descriptions.
func describe(to chan<- *prometheus.Desc, metrics ...metric) {
	for _, m := range metrics {
		to <- m.desc
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
