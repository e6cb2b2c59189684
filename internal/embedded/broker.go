// Package embedded is a Kafka broker in process, for `rlmm dev` and for tests:
// franz-go's kfake. It speaks Kafka's protocol to any client on loopback and keeps
// its topics in a folder, or nowhere.
//
// It isn't for production: one broker, no replication, no cleaning. Retention is off in all that
// rlmm creates on it: kfake restarts an emptied partition at offset 0. What Kafka's own
// admin client asks to describe a topic (DescribeTopicPartitions) kfake answers in a way
// that the client can't read; all else that was tried works.
package embedded

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// ClusterID is that of every broker.
const ClusterID = "rlmm-embedded"

// never is the most that kfake waits between two cleanings, about a century: it has a
// compacted partition begin at the first record that is left, which in Kafka only
// retention does, and what a reader takes for a lost head.
const never = 100 * 365 * 24 * time.Hour

// Config is what a broker needs.
type Config struct {
	// Addr is the host:port to listen on; the host must be loopback. Port 0, or an
	// empty Addr, takes a free one.
	Addr string
	// DataDir keeps the topics; empty keeps them in memory.
	DataDir string
}

// Broker is a running broker.
type Broker struct{ cluster *kfake.Cluster }

// Start starts a broker; Close ends it.
func Start(cfg Config) (*Broker, error) {
	port, err := loopbackPort(cfg.Addr)
	if err != nil {
		return nil, err
	}
	opts := []kfake.Opt{
		kfake.NumBrokers(1), kfake.Ports(port), kfake.ClusterID(ClusterID),
		kfake.GroupMinSessionTimeout(time.Second),
		kfake.BrokerConfigs(map[string]string{"log.cleaner.backoff.ms": strconv.FormatInt(never.Milliseconds(), 10)}),
	}
	if cfg.DataDir != "" {
		opts = append(opts, kfake.DataDir(cfg.DataDir))
	}
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		return nil, fmt.Errorf("start the embedded broker on %s: %w", cfg.Addr, err)
	}
	return &Broker{cluster}, nil
}

func loopbackPort(addr string) (int, error) {
	if addr == "" {
		return 0, nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, fmt.Errorf("embedded broker: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return 0, fmt.Errorf("embedded broker: it has no security and listens on loopback only, not on %s", host)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("embedded broker: port %q: %w", port, err)
	}
	return int(n), nil
}

// Addr is the host:port that clients bootstrap from.
func (b *Broker) Addr() string { return b.cluster.ListenAddrs()[0] }

// Cluster is the kfake underneath, for tests that control it.
func (b *Broker) Cluster() *kfake.Cluster { return b.cluster }

// Close ends the broker and writes what it keeps.
func (b *Broker) Close() { b.cluster.Close() }
