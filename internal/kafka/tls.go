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

// secureDialer connects, shakes hands and logs in, as far as sarama can't with settings that
// change: its own are made once.
type secureDialer struct {
	tls     *tlsconfig.Client // nil is none
	login   *plainLogin       // nil is none, or sarama's
	timeout time.Duration
}

// Dial is of golang.org/x/net/proxy.Dialer.
func (d secureDialer) Dial(network, addr string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, addr)
}

// DialContext is Dial that ends with the context. The error names the broker.
func (d secureDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	conn, err := d.connect(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if d.login == nil {
		return conn, nil
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := d.login.on(conn); err != nil {
		return nil, errors.Join(fmt.Errorf("log in to %s: %w", addr, err), conn.Close())
	}
	return conn, nil
}

func (d secureDialer) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.tls == nil {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	cfg, err := d.tls.Config(host)
	if err != nil {
		return nil, err
	}
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
