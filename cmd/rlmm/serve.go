package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/internal/backoff"
	"github.com/tieredlog/rlmm/internal/config"
	"github.com/tieredlog/rlmm/internal/doctor"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/metrics"
	"github.com/tieredlog/rlmm/internal/source"
	"github.com/tieredlog/rlmm/views"
)

type serveFlags struct {
	cluster   clusterFlags
	cfg       views.Config
	data      string
	http      string
	assign    string
	bounds    string
	mutations bool
	control   bool
	monitor   monitorFlags
}

func newServe() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer queries over HTTP from views of the table",
		Long: lines("View metadata partitions and answer the queries of a remote log metadata manager over",
			"HTTP. A fleet (rlmm processor) must run for the same group. Mutations are off unless",
			"--allow-mutations is given, and so are pause, resume, restart and rebuild of metadata",
			"partitions and changes of the log level unless --allow-control is.",
			"",
			"Who may do what, by tokens or client certificates, and TLS are settings (http.* in",
			"rlmm config). Without them whoever reaches the address may do what is allowed at all.",
			"",
			"Until it is connected and ready, /readyz is 503 and says why. A login that the brokers",
			"refuse is tried again, at most every few seconds, with what its file holds then."),
		Example: "  rlmm serve --bootstrap localhost:9092 --assign 0,3,7",
		Args:    usage(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return serve(cmd, f) },
	}
	f.cluster.add(cmd)
	addData(cmd, &f.data)
	flags := cmd.Flags()
	flags.StringVar(&f.http, "http", defaultHTTP, "host:port to serve HTTP on")
	flags.StringVar(&f.assign, "assign", "all", "metadata partitions to view: all, or numbers like 0,3,7")
	flags.BoolVar(&f.mutations, "allow-mutations", false, "let adds, updates and deletes through")
	flags.BoolVar(&f.control, "allow-control", false, "let metadata partitions be paused, resumed, restarted and rebuilt, and the log level be set")
	flags.DurationVar(&f.cfg.ConsumeWait, "consume-wait", 120*time.Second, "how long a mutation waits for its outcome")
	flags.StringVar(&f.bounds, "highest-offset-bounds", "segment", "highest-offset by the end of the segment, or of the epoch within it as Kafka does: segment, epoch")
	f.monitor.add(cmd)
	return cmd
}

func serve(cmd *cobra.Command, f serveFlags) error {
	cfg, assign, err := f.config(cmd)
	if err != nil {
		return err
	}
	log, level := leveledLogger(cmd)
	cfg.Logger = log
	admin, err := startAdmin(cmd.Context(), f.monitor.admin, log)
	if err != nil {
		return err
	}
	defer admin()
	monitor := newMonitor(f.monitor)
	cfg.Recovered = monitor.recoveries(metrics.RoleView)
	s, err := openSite(cmd, f.http, log)
	if err != nil {
		return err
	}
	s.warnOpen(f.mutations, f.control)
	d := newDoor(f.allowed(s.waiting(level)), monitor)
	ctx, cancel := context.WithCancel(cmd.Context())
	served := make(chan error, 1)
	go func() {
		defer cancel()
		served <- s.serve(ctx, d)
	}()
	m, err := awaitManager(ctx, cfg, d)
	if ctx.Err() != nil && m == nil {
		return <-served // it was stopped, which is no failure
	}
	if err != nil {
		cancel()
		return errors.Join(err, <-served)
	}
	defer closeManager(m, log)
	if err := view(ctx, m, assign, func(n int) { log.Info("ready", "http", s.Addr(), "partitions", n) }); err != nil {
		cancel()
		return errors.Join(err, <-served)
	}
	go monitor.watchSettings(ctx, cfg.Kafka, f.want(cmd), log)
	open := f.allowed(monitor.managerAPI(m, log, level))
	open.WorkerID = workerID(s.Addr())
	d.open(monitor.handler(open))
	return <-served
}

// allowed sets what clients may change.
func (f serveFlags) allowed(cfg rest.Config) rest.Config {
	cfg.AllowMutations, cfg.AllowControl = f.mutations, f.control
	return cfg
}

// view assigns the metadata partitions, and calls ready with how many they are once all are.
func view(ctx context.Context, m *views.Manager, assign func(int32) ([]int32, error), ready func(int)) error {
	partitions, err := assign(m.MetadataPartitions())
	if err != nil {
		return err
	}
	if err := m.ReconcileAssignment(ctx, partitions); err != nil {
		return &usageError{err}
	}
	go tellReady(ctx, m, func() { ready(len(partitions)) })
	return nil
}

func (f serveFlags) want(cmd *cobra.Command) doctor.Want {
	replication := configOf(cmd).Int("remote.log.metadata.topic.replication.factor")
	return doctor.Want{Topic: f.cluster.topic, Group: f.cluster.group, Replication: int(replication)}
}

func (f serveFlags) config(cmd *cobra.Command) (views.Config, func(int32) ([]int32, error), error) {
	cfg := f.cfg
	var err error
	if cfg.Kafka, err = f.cluster.settings(); err != nil {
		return cfg, nil, err
	}
	assign, err := parseAssign(f.assign)
	if err != nil {
		return cfg, nil, &usageError{err}
	}
	if cfg.HighestOffsetBounds, err = parseBounds(f.bounds); err != nil {
		return cfg, nil, &usageError{err}
	}
	cfg.MetadataTopic, cfg.Group, cfg.DataDir = f.cluster.topic, f.cluster.group, f.data
	tuneViews(&cfg, configOf(cmd))
	return cfg, assign, nil
}

func parseBounds(s string) (views.Bounds, error) {
	switch s {
	case "segment":
		return views.BoundsSegment, nil
	case "epoch":
		return views.BoundsEpoch, nil
	}
	return 0, fmt.Errorf("--highest-offset-bounds: %q is neither segment nor epoch", s)
}

// parseAssign returns how to choose among a number of partitions.
func parseAssign(s string) (func(int32) ([]int32, error), error) {
	chosen, err := config.ParsePartitions(s)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--assign: %w", err)
	case chosen == nil:
		return allPartitions, nil
	}
	return func(int32) ([]int32, error) { return chosen, nil }, nil
}

func allPartitions(n int32) ([]int32, error) {
	all := make([]int32, n)
	for p := range n {
		all[p] = p
	}
	return all, nil
}

// awaitManager connects, again and again while what is missing may still come: the
// cluster, the topics that the fleet creates, or a login that is mended. When the context
// ends first the error is its.
func awaitManager(ctx context.Context, cfg views.Config, d *door) (*views.Manager, error) {
	for pause := backoff.New(100*time.Millisecond, 5*time.Second); ; pause.Wait(ctx) {
		m, err := views.NewManager(ctx, cfg)
		if err == nil || !kafka.CanHeal(err) && !kafka.IsLoginRefused(err) {
			return m, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		d.tell(err)
		cfg.Logger.Warn("not connected, trying again", "error", err)
	}
}

func closeManager(m *views.Manager, log *slog.Logger) {
	if err := m.Close(); err != nil {
		log.Warn("not closed cleanly", "error", err)
	}
}

// tellReady calls f once every assigned partition is ready.
func tellReady(ctx context.Context, m *views.Manager, f func()) {
	if m.WaitReady(ctx) == nil {
		f()
	}
}

// managerAPI is what is served of a manager, with nothing allowed that changes something.
// It and its requests are shown by the monitor.
func (mon monitor) managerAPI(m *views.Manager, log *slog.Logger, level *slog.LevelVar) rest.Config {
	mon.views(m)
	return rest.Config{
		Manager:    metrics.Measure(mon.registry, m),
		Partitions: func(ctx context.Context) ([]rest.Partition, error) { return userPartitions(ctx, m) },
		Rows:       source.Serve(m),
		Ready:      func(context.Context) error { return m.Ready() },
		Views:      m.Status,
		Info:       serverInfo(m.ClusterID),
		Loggers:    rest.Loggers{"root": level},
		Logger:     log,
	}
}

func serveHTTP(ctx context.Context, s *site, cfg rest.Config, m monitor) error {
	cfg.WorkerID = workerID(s.Addr())
	return s.serve(ctx, m.handler(cfg))
}

// workerID is host:port under which others see this process: of a listener on all addresses
// the host's name.
func workerID(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	host, err := os.Hostname()
	if err != nil {
		return addr.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

func userPartitions(ctx context.Context, m *views.Manager) ([]rest.Partition, error) {
	found, err := m.UserPartitions(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]rest.Partition, len(found))
	for i, u := range found {
		tip := u.TopicIdPartition
		rows[i] = rest.Partition{
			TopicID: tip.TopicID, Topic: tip.Topic, Partition: tip.Partition,
			MetadataPartition: u.MetadataPartition, Segments: u.Segments, Bytes: u.Bytes,
		}
	}
	return rows, nil
}
