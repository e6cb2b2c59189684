package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/doctor"
	"github.com/tieredlog/rlmm/internal/embedded"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/metrics"
	"github.com/tieredlog/rlmm/internal/recording"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/processor"
	"github.com/tieredlog/rlmm/views"
)

type devFlags struct {
	http, kafka, data string
	empty             bool
	rowVersion        codec.RowVersion
	monitor           monitorFlags
}

func newDev() *cobra.Command {
	var f devFlags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything in one process, on an embedded Kafka broker",
		Long: lines("Run an embedded Kafka broker, a processor, views of all metadata partitions and the HTTP",
			"API, with mutations and control on. Any Kafka client can connect to the broker. On an empty topic it",
			"loads what a real tiered broker wrote, unless --empty is given.",
			"",
			"It prints one line, ready http=ADDR kafka=ADDR, when every partition is ready. Ctrl-C ends",
			"it; with the same --data it goes on where it was."),
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return dev(cmd, f) },
	}
	addData(cmd, &f.data)
	addRowVersion(cmd, &f.rowVersion)
	cmd.Flags().StringVar(&f.http, "http", defaultHTTP, "host:port to serve HTTP on")
	cmd.Flags().StringVar(&f.kafka, "kafka", defaultKafka, "host:port of the embedded broker; loopback only")
	cmd.Flags().BoolVar(&f.empty, "empty", false, "start with an empty metadata topic")
	f.monitor.add(cmd)
	return cmd
}

func dev(cmd *cobra.Command, f devFlags) error {
	log, level := leveledLogger(cmd)
	s, err := openSite(cmd, f.http, log)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // Serve closes it when it is reached
	unlock, err := store.Lock(f.data)
	if err != nil {
		return err
	}
	defer unlock() //nolint:errcheck // it ends with the process
	broker, err := embedded.Start(embedded.Config{Addr: f.kafka, DataDir: dataDir(f.data, "kafka")})
	if err != nil {
		return err
	}
	defer broker.Close()
	// What runs below ends before the broker does.
	group, ctx := errgroup.WithContext(cmd.Context())
	d := development{cmd: cmd, flags: f, broker: broker, site: s, log: log, level: level}
	d.monitor = newMonitor(f.monitor)
	admin, err := startAdmin(cmd.Context(), f.monitor.admin, log)
	if err != nil {
		return err
	}
	defer admin()
	p, err := d.processor()
	if err != nil {
		return err
	}
	group.Go(func() error { return p.Run(ctx) })
	group.Go(func() error { return d.serve(ctx, p) })
	return group.Wait()
}

type development struct {
	cmd     *cobra.Command
	flags   devFlags
	broker  *embedded.Broker
	site    *site
	log     *slog.Logger
	level   *slog.LevelVar
	monitor monitor
}

func (d development) settings() kafka.Settings {
	return kafka.Settings{Bootstrap: []string{d.broker.Addr()}, ClientID: "rlmm-dev"}
}

func (d development) processor() (*processor.Processor, error) {
	p, err := processor.New(processor.Config{
		Kafka: d.settings(), DataDir: d.flags.data, CreateTopics: true, ReplicationFactor: 1, Logger: d.log,
		RowVersion: d.flags.rowVersion,
		Recovered:  d.monitor.recoveries(metrics.RoleProcessor),
	})
	if err != nil {
		return nil, &usageError{err}
	}
	return p, nil
}

// serve loads the recording, views all partitions and serves them.
func (d development) serve(ctx context.Context, p *processor.Processor) error {
	if _, err := p.WaitRunning(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	if err := d.load(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	m, err := views.NewManager(ctx, views.Config{
		Kafka: d.settings(), DataDir: d.flags.data, Logger: d.log, Recovered: d.monitor.recoveries(metrics.RoleView),
	})
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	defer closeManager(m, d.log)
	all, err := allPartitions(m.MetadataPartitions())
	if err != nil {
		return err
	}
	if err := m.ReconcileAssignment(ctx, all); err != nil {
		return ignoreEnd(ctx, err)
	}
	go tellReady(ctx, m, func() { d.ready(ctx, m) })
	d.monitor.processor(p)
	go d.monitor.watchSettings(ctx, d.settings(), doctor.Want{Topic: defaultTopic, Group: defaultGroup, Replication: 1}, d.log)
	served := d.monitor.managerAPI(m, d.log, d.level)
	served.Processor = p.Status
	served.AllowMutations, served.AllowControl = true, true
	return serveHTTP(ctx, d.site, served, d.monitor)
}

// load publishes the recording to an empty topic.
func (d development) load(ctx context.Context) error {
	if d.flags.empty {
		return nil
	}
	cluster, err := kafka.Connect(ctx, d.settings())
	if err != nil {
		return err
	}
	defer cluster.Close() //nolint:errcheck // nothing is lost
	// The mark tells a load that a kill cut short from a topic that is in use.
	mark := dataDir(d.flags.data, "loading")
	empty, err := cluster.IsEmpty(ctx, defaultTopic)
	if err != nil || !empty && !exists(mark) {
		return err
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return err
	}
	missing, err := recording.Missing(ctx, cluster, defaultTopic, recording.Read(recording.Bundled()))
	if err != nil {
		return err
	}
	if _, err := recording.Publish(ctx, d.settings(), defaultTopic, missing); err != nil {
		return err
	}
	return os.Remove(mark)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ready prints the line that scripts wait for, and what a person may try next.
func (d development) ready(ctx context.Context, m *views.Manager) {
	addr, url := d.site.Addr(), d.site.url()
	fmt.Fprintf(d.cmd.OutOrStdout(), "ready http=%s kafka=%s\n", addr, d.broker.Addr())
	out := d.cmd.ErrOrStderr()
	fmt.Fprintf(out, "\ntry next:\n  curl %s/v1/partitions\n", url)
	if found, err := m.UserPartitions(ctx); err == nil && len(found) > 0 {
		suggest(out, url, found[0])
	}
}

func suggest(out io.Writer, url string, u views.UserPartition) {
	tip := u.TopicIdPartition
	base := fmt.Sprintf("%s/v1/partitions/%s/%d", url, tip.TopicID, tip.Partition)
	fmt.Fprintf(out, "  curl '%s/segments'\n  curl '%s/segment?epoch=0&offset=500'\n", base, base)
	fmt.Fprintf(out, "  curl '%s/highest-offset?epoch=0'\n", base)
}

// ignoreEnd makes an error that only says that the context has ended none.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
