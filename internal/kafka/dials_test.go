package kafka

import (
	"net"
	"testing"

	"github.com/IBM/sarama"
)

// A client that keeps its connections counts none, and one more when it loses one.
func TestDials(t *testing.T) {
	w := newWorld(t)
	cfg := sarama.NewConfig()
	dials := NewDials(cfg)
	client, err := sarama.NewClient(w.ListenAddrs(), cfg)
	noError(t, err)
	defer client.Close()
	noError(t, client.RefreshMetadata())
	before := dials.Count()
	noError(t, client.RefreshMetadata())
	wantSame(t, "dials with connections", before, dials.Count())
	Reconnect(client)
	noError(t, client.RefreshMetadata())
	if after := dials.Count(); after <= before {
		t.Errorf("%d dials, there were %d", after, before)
	}
}

// A connection that fails counts too, and TLS stays what it is.
func TestDialsThatFail(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	noError(t, gone.Close())
	for _, protocol := range []SecurityProtocol{Plaintext, SSL} {
		cfg := Settings{Security: Security{Protocol: protocol}}.Consumer()
		dials := NewDials(cfg)
		if _, err := cfg.Net.Proxy.Dialer.Dial("tcp", gone.Addr().String()); err == nil {
			t.Error("connected")
		}
		wantSame(t, "dials", int64(1), dials.Count())
		if _, ok := dials.dialer.(secureDialer); ok != (protocol == SSL) {
			t.Errorf("%s by %T", protocol, dials.dialer)
		}
	}
}
