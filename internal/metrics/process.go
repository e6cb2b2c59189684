package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Build is what runs.
type Build struct{ Version, Revision, GoVersion string }

// RegisterProcess shows what every process has: the build, and Go's and the operating
// system's view of it.
func RegisterProcess(reg prometheus.Registerer, b Build) {
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerBuild(reg, b)
}

func registerBuild(reg prometheus.Registerer, b Build) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "rlmm_build_info",
		Help:        "What runs, as labels; the value is always 1.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "goversion": b.GoVersion},
	}, func() float64 { return 1 }))
}
