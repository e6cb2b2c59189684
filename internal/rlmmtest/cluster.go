package rlmmtest

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/internal/embedded"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/processor"
)

// The topics of the default group.
const (
	MetadataTopic = "__remote_log_metadata"
	Table         = "rlmm-table"
	Rejected      = "rlmm-rejected"
)

// patience is how long a cluster's test may take.
const patience = 40 * time.Second

// Cluster is an embedded broker, and how to reach it.
type Cluster struct {
	*kfake.Cluster
	Settings kafka.Settings
	// Partitions is what created metadata topics get.
	Partitions int32
	// Logger writes to the test's output.
	Logger *slog.Logger

	t       testing.TB
	ctx     context.Context
	dataDir string // the broker's; empty for one that keeps nothing
}

// NewCluster starts a broker without topics; it ends with the test.
func NewCluster(t testing.TB, partitions int32) *Cluster {
	t.Helper()
	return newCluster(t, partitions, "")
}

func newCluster(t testing.TB, partitions int32, dataDir string) *Cluster {
	t.Helper()
	b, err := embedded.Start(embedded.Config{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	c := &Cluster{
		Cluster:    b.Cluster(),
		Settings:   kafka.Settings{Bootstrap: []string{b.Addr()}, FetchMaxWait: 20 * time.Millisecond, SessionTimeout: 4 * time.Second},
		Partitions: partitions,
		Logger:     slog.New(slog.NewTextHandler(t.Output(), nil)),
		t:          t,
		ctx:        ctx,
		dataDir:    dataDir,
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Context ends when the test takes too long, and with the test.
func (c *Cluster) Context() context.Context { return c.ctx }

// CreateTopics creates the topics as a processor would.
func (c *Cluster) CreateTopics() {
	c.t.Helper()
	c.must(c.CreateTopic(MetadataTopic, c.Partitions, nil))
	c.must(c.CreateTopic(Table, c.Partitions, map[string]string{"cleanup.policy": "compact"}))
	c.must(c.CreateTopic(Rejected, 1, nil))
}

// RecreateTopic deletes a topic and creates it again with its settings: another topic
// of the same name.
func (c *Cluster) RecreateTopic(name string) {
	c.t.Helper()
	configs := map[string]string{}
	for k, v := range c.TopicInfo(name).Configs {
		configs[k] = *v
	}
	partitions := int32(len(c.PartitionInfos(name)))
	c.must(c.DeleteTopic(name))
	c.must(c.CreateTopic(name, partitions, configs))
}

func (c *Cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// Processor is a processor that runs.
type Processor struct {
	*processor.Processor
	// DataDir is its folder.
	DataDir string

	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// StartProcessor runs a processor with a folder of its own, which creates the topics.
// It ends with the test.
func (c *Cluster) StartProcessor(change ...func(*processor.Config)) *Processor {
	c.t.Helper()
	cfg := processor.Config{
		Kafka: c.Settings, DataDir: c.t.TempDir(), CreateTopics: true,
		Partitions: c.Partitions, ReplicationFactor: 1, Logger: c.Logger,
	}
	for _, f := range change {
		f(&cfg)
	}
	inner, err := processor.New(cfg)
	c.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	p := &Processor{Processor: inner, DataDir: cfg.DataDir, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = inner.Run(ctx)
	}()
	c.t.Cleanup(func() { _ = p.Stop() })
	return p
}

// RunProcessor is StartProcessor that waits until the processor processes.
func (c *Cluster) RunProcessor(change ...func(*processor.Config)) *Processor {
	c.t.Helper()
	p := c.StartProcessor(change...)
	_, err := p.WaitRunning(c.Context())
	c.must(err)
	return p
}

// Stop ends the processor and returns what Run returned.
func (p *Processor) Stop() error {
	p.cancel()
	<-p.done
	return p.err
}

// Wait waits until Run returns by itself, and returns its error.
func (p *Processor) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// InFolder makes a processor use the folder.
func InFolder(dir string) func(*processor.Config) {
	return func(c *processor.Config) { c.DataDir = dir }
}

// WaitFor waits until the condition holds, and fails the test when that takes too long.
func (c *Cluster) WaitFor(what string, condition func() bool) {
	c.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-c.ctx.Done():
			c.t.Fatalf("waited too long: %s", what)
		}
	}
}

// HoldFetch returns when a fetch of the topic has come. The broker answers that one when
// it is released, as of then: a reader that stood still.
func (c *Cluster) HoldFetch(topic string) (release func()) {
	c.t.Helper()
	held, released := make(chan struct{}), make(chan struct{})
	hold := sync.OnceFunc(func() { close(held) }) // two may come before the control is dropped
	c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		topics := r.(*kmsg.FetchRequest).Topics //nolint:forcetypeassert // of its key
		if slices.ContainsFunc(topics, func(t kmsg.FetchRequestTopic) bool { return t.Topic == topic }) {
			c.DropControl()
			hold()
			c.SleepControl(func() { <-released })
		}
		return nil, nil, false
	})
	select {
	case <-held:
	case <-c.ctx.Done():
		c.t.Fatalf("waited too long: a fetch of %s", topic)
	}
	return func() { close(released) }
}
