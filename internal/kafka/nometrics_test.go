package kafka

import (
	"testing"

	"github.com/IBM/sarama"
	"github.com/rcrowley/go-metrics"
)

// A client that is at work has registered none of its metrics.
func TestClientsKeepNoMetrics(t *testing.T) {
	w := newWorld(t)
	c := Settings{}.Producer()
	client, err := sarama.NewClient([]string{w.addr}, c)
	noError(t, err)
	defer client.Close()
	noError(t, client.RefreshMetadata())
	c.MetricRegistry.Each(func(name string, _ any) { t.Errorf("%s is kept", name) })
}

// What isn't one of those kinds is a metric like any other.
func TestOtherMetricsAreKept(t *testing.T) {
	r := noMetrics{metrics.NewRegistry()}
	gauge := metrics.NewGauge()
	if r.GetOrRegister("g", gauge) != gauge || r.Get("g") != gauge {
		t.Error("another one")
	}
}
