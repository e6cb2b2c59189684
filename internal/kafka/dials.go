package kafka

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/IBM/sarama"
)

// Dials counts the connections that the clients of one config try to make. While the count stays, the
// client hears from the brokers that it heard from before, as they were: none of them was
// restarted.
type Dials struct {
	dialer dialer
	count  atomic.Int64
}

// NewDials makes the client that gets the config count.
func NewDials(c *sarama.Config) *Dials {
	d := &Dials{dialer: dialerOf(c)}
	c.Net.Proxy.Enable, c.Net.Proxy.Dialer = true, d
	return d
}

// Count is how many there were; it is up before the connection is.
func (d *Dials) Count() int64 { return d.count.Load() }

// Dial is of golang.org/x/net/proxy.Dialer.
func (d *Dials) Dial(network, addr string) (net.Conn, error) {
	d.count.Add(1)
	return d.dialer.DialContext(context.Background(), network, addr)
}
