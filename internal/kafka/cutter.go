package kafka

import (
	"context"
	"net"

	"github.com/IBM/sarama"
)

// Cutter holds the connections of one client, to end them at once: sarama waits for each
// answer, and tries again, as long as it is told to.
type Cutter struct {
	dialer dialer
	ctx    context.Context // of the connections
	cut    context.CancelFunc
}

type dialer interface {
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
}

// dialerOf returns what a client with the config connects through.
func dialerOf(c *sarama.Config) dialer {
	if d, ok := c.Net.Proxy.Dialer.(secureDialer); ok {
		return d
	}
	return &net.Dialer{Timeout: c.Net.DialTimeout, KeepAlive: c.Net.KeepAlive}
}

// NewCutter makes the client that gets the config connect through a cutter.
func NewCutter(c *sarama.Config) *Cutter {
	r := &Cutter{dialer: dialerOf(c)}
	r.ctx, r.cut = context.WithCancel(context.Background())
	c.Net.Proxy.Enable, c.Net.Proxy.Dialer = true, r
	return r
}

// Cut ends the connections, those that are being made too, and lets none be made again.
func (r *Cutter) Cut() { r.cut() }

// IsCut tells whether Cut was called.
func (r *Cutter) IsCut() bool { return r.ctx.Err() != nil }

// Dial is of golang.org/x/net/proxy.Dialer.
func (r *Cutter) Dial(network, addr string) (net.Conn, error) {
	conn, err := r.dialer.DialContext(r.ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return cutConn{conn, context.AfterFunc(r.ctx, func() { _ = conn.Close() })}, nil
}

// cutConn is a connection that the cutter forgets when it is closed.
type cutConn struct {
	net.Conn
	forget func() bool
}

func (c cutConn) Close() error {
	c.forget()
	return c.Conn.Close()
}
