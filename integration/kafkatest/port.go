package kafkatest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// The ports of brokers lie below the range from which systems take the local ports of
// outgoing connections. A client that calls a broker that is down can be given the
// very port that it calls: it is then connected to itself, and the broker can't have
// its port back.
const (
	firstPort = 20000
	lastPort  = 32000
	portTries = 100
)

// freePort returns a loopback port on which nothing listens.
func freePort() (int, error) {
	var errs []error
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, listener.Close()
		}
		errs = append(errs, err)
	}
	return 0, fmt.Errorf("no free port: %w", errors.Join(errs...))
}

// FreeAddress returns a loopback host:port on which nothing listens, for a process that is
// told where to.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	port, err := freePort()
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}
