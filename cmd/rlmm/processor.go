package main

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/internal/doctor"
	"github.com/tieredlog/rlmm/internal/metrics"
	"github.com/tieredlog/rlmm/processor"
)

type processorFlags struct {
	cluster     clusterFlags
	cfg         processor.Config
	data        string
	http        string
	replication int16
	minISR      int16
	session     time.Duration
	control     bool
	monitor     monitorFlags
}

func newProcessor() *cobra.Command {
	var f processorFlags
	cmd := &cobra.Command{
		Use:   "processor",
		Short: "Run a member of the processor fleet",
		Long: lines("Run a member of the fleet that folds the metadata topic into the table GROUP-table.",
			"Members of one group share the work; each needs a --data of its own. What they reject",
			"goes to GROUP-rejected. Ctrl-C, or SIGTERM, ends it cleanly.",
			"",
			"Topics that are missing are an error unless --create-topics is given; topics that exist",
			"are never altered."),
		Example: "  rlmm processor --bootstrap localhost:9092 --create-topics --data /var/lib/rlmm",
		Args:    usage(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runProcessor(cmd, f) },
	}
	f.cluster.add(cmd)
	addData(cmd, &f.data)
	addRowVersion(cmd, &f.cfg.RowVersion)
	flags := cmd.Flags()
	flags.BoolVar(&f.cfg.CreateTopics, "create-topics", false, "create topics that are missing")
	flags.Int32Var(&f.cfg.Partitions, "partitions", 50, "partition count of a created metadata topic")
	flags.Int16Var(&f.replication, "replication-factor", 3, "replication factor of created topics")
	flags.Int16Var(&f.minISR, "min-isr", 0, "min.insync.replicas of created topics; 0 is 2, or the replication factor if less")
	flags.StringVar(&f.cfg.InstanceID, "instance-id", "", "group instance id, for static membership")
	flags.DurationVar(&f.session, "session-timeout", 10*time.Second, "how long the group waits for a silent member before it gives its partitions to others")
	flags.StringVar(&f.http, "http", "", "serve /healthz, /readyz, /startupz, /metrics and /v1/status on this host:port")
	flags.BoolVar(&f.control, "allow-control", false, "let the log level be set over HTTP")
	f.monitor.add(cmd)
	return cmd
}

func runProcessor(cmd *cobra.Command, f processorFlags) error {
	settings, err := f.cluster.settings()
	if err != nil {
		return err
	}
	settings.SessionTimeout = f.session
	cfg := f.cfg
	cfg.Kafka, cfg.MetadataTopic, cfg.Group, cfg.DataDir = settings, f.cluster.topic, f.cluster.group, f.data
	cfg.ReplicationFactor, cfg.MinISR = f.replication, f.minISR
	log, level := leveledLogger(cmd)
	cfg.Logger = log
	tuneProcessor(&cfg, configOf(cmd))
	monitor := newMonitor(f.monitor)
	cfg.Recovered = monitor.recoveries(metrics.RoleProcessor)
	p, err := processor.New(cfg)
	if err != nil {
		return &usageError{err}
	}
	monitor.processor(p)
	served := processorAPI(p, log, level)
	served.AllowControl = f.control
	admin, err := startAdmin(cmd.Context(), f.monitor.admin, log)
	if err != nil {
		return err
	}
	defer admin()
	group, ctx := errgroup.WithContext(cmd.Context())
	if f.http != "" {
		s, err := openSite(cmd, f.http, log)
		if err != nil {
			return err
		}
		s.warnOpen(false, f.control)
		want := doctor.Want{Topic: f.cluster.topic, Group: f.cluster.group, Replication: int(f.replication)}
		group.Go(func() error { monitor.watchSettings(ctx, settings, want, log); return nil })
		group.Go(func() error { return serveHTTP(ctx, s, served, monitor) })
	}
	group.Go(func() error { return p.Run(ctx) })
	return group.Wait()
}

// processorAPI is what is served of a processor.
func processorAPI(p *processor.Processor, log *slog.Logger, level *slog.LevelVar) rest.Config {
	return rest.Config{
		Info:      serverInfo(p.ClusterID),
		Processor: p.Status,
		Ready:     func(context.Context) error { return processorReady(p)() },
		Loggers:   rest.Loggers{"root": level},
		Logger:    log,
	}
}

func processorReady(p *processor.Processor) func() error {
	return func() error {
		if _, ok := p.Running(); !ok {
			return p.Status().Err
		}
		return nil
	}
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", addr)
}
