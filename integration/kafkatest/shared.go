package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// shared is the broker that the tests of one package share.
var shared struct {
	sync.Mutex
	enabled bool
	broker  *Broker
	err     error
}

// Main runs the tests of a package that uses [Bootstrap] and afterwards ends the shared
// broker. To be called by TestMain; returns the exit code.
func Main(m *testing.M) int {
	shared.enabled = true
	code := m.Run()
	if err := closeShared(); err != nil {
		fmt.Fprintln(os.Stderr, "end the shared broker:", err)
		return max(code, 1)
	}
	return code
}

// Bootstrap returns the brokers that KAFKA_BOOTSTRAP_SERVERS names, separated by commas;
// else those of one broker that all tests of the package share, started by the first
// call. The package's TestMain must call [Main]. A broker that can't be started fails
// every test that asks for it.
func Bootstrap(tb testing.TB) []string {
	tb.Helper()
	if servers := os.Getenv("KAFKA_BOOTSTRAP_SERVERS"); servers != "" {
		return strings.Split(servers, ",")
	}
	b, err := sharedBroker()
	if err != nil {
		tb.Fatalf("start the shared broker: %v", err)
	}
	tb.Cleanup(func() { b.showLogOnFailure(tb) })
	return b.Bootstrap()
}

func sharedBroker() (*Broker, error) {
	shared.Lock()
	defer shared.Unlock()
	if !shared.enabled {
		return nil, errors.New("TestMain doesn't call kafkatest.Main")
	}
	if shared.broker == nil && shared.err == nil {
		shared.broker, shared.err = startShared()
	}
	return shared.broker, shared.err
}

func startShared() (*Broker, error) {
	dir, err := os.MkdirTemp("", "kafkatest-")
	if err != nil {
		return nil, err
	}
	nodes, err := newNodes(1)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	b, err := newBroker(dir, nodes[0], newOptions(nil))
	if err == nil {
		err = b.start(context.Background())
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return b, nil
}

func closeShared() error {
	if shared.broker == nil {
		return nil
	}
	return errors.Join(shared.broker.close(), os.RemoveAll(shared.broker.dir))
}
