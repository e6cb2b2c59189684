package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/internal/metrics"
	"github.com/tieredlog/rlmm/processor"
	"github.com/tieredlog/rlmm/views"
)

// monitorFlags say how a process that runs for long is looked into.
type monitorFlags struct {
	partitions bool
	admin      string
}

func (f *monitorFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.partitions, "metrics-partitions", false, "show metrics of each metadata partition, under the label partition")
	cmd.Flags().StringVar(&f.admin, "admin", "", "serve /debug/pprof on this host:port, on loopback only; nowhere by default")
}

// monitor is the metrics of a process.
type monitor struct {
	registry *prometheus.Registry
	options  metrics.Options
}

func newMonitor(f monitorFlags) monitor {
	m := monitor{prometheus.NewRegistry(), metrics.Options{Partitions: f.partitions}}
	b := buildVersion()
	metrics.RegisterProcess(m.registry, metrics.Build{Version: b.version, Revision: b.commit, GoVersion: b.goVersion})
	return m
}

// recoveries returns what is to be told of a role's recoveries.
func (m monitor) recoveries(role metrics.Role) func(views.Recovery) {
	return metrics.NewRecoveries(m.registry, role).Observe
}

func (m monitor) views(v *views.Manager) {
	metrics.RegisterViews(m.registry, metrics.Views{
		Consumer: metrics.Consumer{Ready: v.Ready, Status: v.Status, Counts: func() metrics.Counts {
			s := v.Stats()
			return metrics.Counts{
				Resets: s.Resets, Restarts: s.Restarts, Stale: s.Stale, Foreign: s.Foreign,
				StoreBytes: s.StoreBytes, OpenFiles: s.OpenFiles,
			}
		}},
		Segments: func() (metrics.Segments, error) {
			c, err := v.SegmentCounts()
			return metrics.Segments(c), err
		},
	}, m.options)
}

func (m monitor) processor(p *processor.Processor) {
	metrics.RegisterProcessor(m.registry, metrics.Processor{
		Consumer: metrics.Consumer{Ready: processorReady(p), Status: p.Status, Counts: func() metrics.Counts {
			s := p.Stats()
			return metrics.Counts{
				Resets: s.ResetReasons, Restarts: s.Restarts, Stale: s.Stale, Foreign: s.Foreign,
				StoreBytes: s.StoreBytes, OpenFiles: s.OpenFiles,
			}
		}},
		Events: func() metrics.Events { return processorEvents(p.Stats()) },
	}, m.options)
}

func processorEvents(s processor.Stats) metrics.Events {
	e := metrics.Events{Outcomes: s.Outcomes, Sessions: s.Sessions, Gaps: s.Gaps}
	for kind, n := range s.Applied {
		e.Applied = append(e.Applied, metrics.Applied{Type: kind.Type, State: kind.State, Count: n})
	}
	return e
}

// handler serves the API with these metrics.
func (m monitor) handler(cfg rest.Config) http.Handler {
	cfg.Metrics = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return rest.NewHandler(cfg)
}

// serverInfo is the answer of GET /, with the cluster's id once it is known.
func serverInfo(clusterID func() string) func() rest.Info {
	b := buildVersion()
	return func() rest.Info { return rest.Info{Version: b.version, Commit: b.commit, KafkaClusterID: clusterID()} }
}
