package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/tieredlog/rlmm/internal/tlsconfig"
)

// tlsDialer connects and shakes hands. sarama's own TLS takes a config that is made
// once; this one is made for each connection.
type tlsDialer struct {
	tls     tlsconfig.Client
	timeout time.Duration
}

// Dial is of golang.org/x/net/proxy.Dialer.
func (d tlsDialer) Dial(network, addr string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, addr)
}

// DialContext is Dial that ends with the context. The error names the broker.
func (d tlsDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	cfg, err := d.tls.Config(host)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	conn, err := (&tls.Dialer{Config: cfg}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("connect to %s by TLS: %w", addr, err)
	}
	return namedConn{conn, addr}, nil
}

// namedConn names the broker in the alerts that a broker sends after the handshake: a
// client's certificate that it refuses, in TLS 1.3.
type namedConn struct {
	net.Conn
	addr string
}

func (c namedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		err = fmt.Errorf("%s refuses: %w", c.addr, err)
	}
	return n, err
}
