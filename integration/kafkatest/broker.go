package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// startTimeout is how long a broker may take to answer; it takes a few seconds.
	startTimeout = 2 * time.Minute
	stopTimeout  = 30 * time.Second
	// tailLines is how much of the broker's log a failed test shows.
	tailLines = 60
)

// Broker is a real Apache Kafka broker. Its methods are for one goroutine at a time.
type Broker struct {
	dir       string
	java      string
	classPath string
	options   options
	node      node
	listeners map[string]Listener
	process   *process // nil until the first start
}

// Start starts a broker for the test and returns when it answers requests. Its data
// lie in a temporary folder. When the test ends it is killed and its data removed; a
// failed test shows the end of its log. A broker that can't be started fails the test.
func Start(tb testing.TB, opts ...Option) *Broker {
	tb.Helper()
	return StartCluster(tb, 1, opts...)[0]
}

func (b *Broker) cleanUp(tb testing.TB) {
	tb.Helper()
	b.showLogOnFailure(tb)
	if err := b.close(); err != nil {
		tb.Errorf("kill the broker: %v", err)
	}
}

func (b *Broker) showLogOnFailure(tb testing.TB) {
	tb.Helper()
	if tb.Failed() {
		tb.Logf("end of the log of broker %s:\n%s", b.address(), tail(b.logFile(), tailLines))
	}
}

// Bootstrap returns the address of the broker, in the form that clients take. It stays
// the same over restarts.
func (b *Broker) Bootstrap() []string { return []string{b.address()} }

// Stop ends the broker in order (SIGTERM) and returns when it is gone. A broker that
// isn't running stays so.
func (b *Broker) Stop(tb testing.TB) {
	tb.Helper()
	if err := b.process.stop(stopTimeout); err != nil {
		tb.Fatalf("stop the broker: %v", err)
	}
}

// Kill ends the broker at once (SIGKILL), as a crash would, and returns when it is
// gone. A broker that isn't running stays so.
func (b *Broker) Kill(tb testing.TB) {
	tb.Helper()
	if err := b.close(); err != nil {
		tb.Fatalf("kill the broker: %v", err)
	}
}

// Restart starts the broker again with its ports, properties and data, and returns when
// it answers requests. A broker that is running is stopped first.
func (b *Broker) Restart(tb testing.TB) {
	tb.Helper()
	if b.process.running() {
		b.Stop(tb)
	}
	if err := b.start(tb.Context()); err != nil {
		tb.Fatalf("restart the broker: %v", err)
	}
}

// newBroker chooses the ports of its own listeners and formats the broker's storage.
func newBroker(dir string, n node, o options) (*Broker, error) {
	java, javaErr := javaBinary()
	classPath, buildErr := brokerClassPath(o.version)
	listeners, portErr := newListeners(o.listeners, o.direct)
	if err := errors.Join(javaErr, buildErr, portErr); err != nil {
		return nil, err
	}
	b := &Broker{dir: dir, java: java, classPath: classPath, options: o, node: n, listeners: listeners}
	return b, b.format()
}

func (b *Broker) format() error {
	properties := serverProperties(b.dir, b.node, b.listeners, b.options)
	if err := os.WriteFile(b.propertiesFile(), []byte(properties), 0o644); err != nil {
		return err
	}
	cmd := b.command("kafka.tools.StorageTool", "format",
		"--cluster-id", b.node.cluster, "--config", b.propertiesFile())
	if out, err := runCommand(cmd); err != nil {
		return fmt.Errorf("format the storage: %w\n%s", err, out)
	}
	return nil
}

func (b *Broker) command(class string, args ...string) *exec.Cmd {
	args = slices.Concat(b.options.jvm, []string{"-Dlog.level=INFO", "-cp", b.classPath, class}, args)
	return exec.Command(b.java, args...)
}

// start runs the broker until it answers; one that doesn't is killed.
func (b *Broker) start(ctx context.Context) error {
	log, err := openBrokerLog(b.logFile(), b.readyTexts()...)
	if err != nil {
		return err
	}
	cmd := b.command("kafka.Kafka", b.propertiesFile())
	cmd.Stdout, cmd.Stderr = log, log
	p, err := startProcess(cmd)
	if err != nil {
		return errors.Join(err, log.file.Close())
	}
	b.process = p
	go func() {
		<-p.done
		log.file.Close() //nolint:errcheck,gosec // nothing is written after the process
	}()
	if err := b.awaitReady(ctx, log); err != nil {
		return fmt.Errorf("%w\n%s", errors.Join(err, b.close()), tail(b.logFile(), tailLines))
	}
	return nil
}

// readyTexts are what the broker logs once it is up.
func (b *Broker) readyTexts() []string {
	texts := []string{"Kafka Server started"}
	if b.options.tiered {
		texts = append(texts, "Initialized topic-based RLMM resources successfully")
	}
	return texts
}

func (b *Broker) awaitReady(ctx context.Context, log *brokerLog) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case <-log.ready:
		return b.ping(ctx)
	case <-b.process.done:
		return fmt.Errorf("the broker ended: %w", b.process.err)
	case <-ctx.Done():
		return fmt.Errorf("the broker isn't ready: %w", ctx.Err())
	}
}

// ping makes sure that what the log says is true for clients.
func (b *Broker) ping(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address()))
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Ping(ctx)
}

func (b *Broker) close() error {
	if b.process == nil {
		return nil
	}
	return b.process.kill()
}

func (b *Broker) address() string        { return fmt.Sprintf("127.0.0.1:%d", b.node.port) }
func (b *Broker) logFile() string        { return filepath.Join(b.dir, "server.log") }
func (b *Broker) propertiesFile() string { return filepath.Join(b.dir, "server.properties") }
