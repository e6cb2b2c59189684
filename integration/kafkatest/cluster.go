package kafkatest

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/tieredlog/rlmm/api"
)

// clusterHeap is the heap of a broker that is one of several.
const clusterHeap = "-Xmx320m"

// node is a broker's place in its cluster.
type node struct {
	id               int
	cluster          string
	port, controller int
	voters           []string // of all nodes, as controller.quorum.voters has them
}

// newNodes chooses the ports of a new cluster's nodes.
func newNodes(n int) ([]node, error) {
	nodes := make([]node, n)
	voters := make([]string, n)
	cluster := api.RandomUUID().String()
	for i := range nodes {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		controller, err := freePort()
		if err != nil {
			return nil, err
		}
		nodes[i] = node{i + 1, cluster, port, controller, voters}
		voters[i] = fmt.Sprintf("%d@127.0.0.1:%d", i+1, controller)
	}
	return nodes, nil
}

// StartCluster starts n brokers that are one cluster, with node ids from 1 on, as [Start]
// starts one. New topics have a replica on each, three at most, and take writes while one
// of three is missing (min.insync.replicas), as do Kafka's own.
func StartCluster(tb testing.TB, n int, opts ...Option) []*Broker {
	tb.Helper()
	o := newOptions(opts)
	if n > 1 {
		o.jvm = append(o.jvm, clusterHeap)
	}
	nodes, err := newNodes(n)
	if err != nil {
		tb.Fatalf("prepare %d brokers: %v", n, err)
	}
	brokers := make([]*Broker, n)
	for i, node := range nodes {
		if brokers[i], err = newBroker(tb.TempDir(), node, o); err != nil {
			tb.Fatalf("prepare broker %d: %v", node.id, err)
		}
		tb.Cleanup(func() { brokers[i].cleanUp(tb) })
	}
	var starting errgroup.Group // each waits for a quorum of the others
	for _, b := range brokers {
		starting.Go(func() error { return b.start(tb.Context()) })
	}
	if err := starting.Wait(); err != nil {
		tb.Fatalf("start %d brokers: %v", n, err)
	}
	return brokers
}

// Listener is a broker's further listener, with a port for a proxy before it.
type Listener struct {
	// Address is where the broker listens.
	Address string
	// Advertised is where it tells clients of this listener to go. Nothing listens there
	// until a proxy does.
	Advertised string
}

// Listener returns the listener that [WithListener] gave the broker; the zero one when
// it gave none of that name.
func (b *Broker) Listener(name string) Listener { return b.listeners[name] }

func newListeners(names, direct []string) (map[string]Listener, error) {
	listeners := map[string]Listener{}
	for _, name := range direct {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		listeners[name] = Listener{address, address}
	}
	for _, name := range names {
		listens, err := freePort()
		if err != nil {
			return nil, err
		}
		advertised, err := freePort()
		if err != nil {
			return nil, err
		}
		listeners[name] = Listener{fmt.Sprintf("127.0.0.1:%d", listens), fmt.Sprintf("127.0.0.1:%d", advertised)}
	}
	return listeners, nil
}
