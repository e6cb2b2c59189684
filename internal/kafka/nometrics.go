package kafka

import "github.com/rcrowley/go-metrics"

// noMetrics is where sarama's clients keep their own metrics: nowhere. Nobody reads them,
// and they take locks and samples with each request, and with each batch of records.
type noMetrics struct{ metrics.Registry }

// GetOrRegister gives, for what makes a metric, one of its kind that does nothing.
func (n noMetrics) GetOrRegister(name string, maker any) any {
	switch maker.(type) {
	case func() metrics.Counter:
		return metrics.NilCounter{}
	case func() metrics.Histogram:
		return metrics.NilHistogram{}
	case func() metrics.Meter:
		return metrics.NilMeter{}
	}
	return n.Registry.GetOrRegister(name, maker)
}
