package kafka

import (
	"net"
	"testing"
)

// What is cut ends at once: a connection that is used, and one whose handshake the broker
// never answers. Nothing connects afterwards.
func TestCutter(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	accepted := make(chan net.Conn, 3)
	go func() {
		for conn, err := silent.Accept(); err == nil; conn, err = silent.Accept() {
			accepted <- conn
		}
	}()
	dial := func(p SecurityProtocol) (*Cutter, func() error) {
		cfg := Settings{Security: Security{Protocol: p}}.Producer()
		cutter := NewCutter(cfg)
		return cutter, func() error {
			conn, err := cfg.Net.Proxy.Dialer.Dial("tcp", silent.Addr().String())
			if err == nil {
				_, err = conn.Read(make([]byte, 1))
				_ = conn.Close()
			}
			return err
		}
	}
	for _, p := range []SecurityProtocol{Plaintext, SSL} {
		t.Run(string(p), func(t *testing.T) {
			cutter, use := dial(p)
			failed := make(chan error, 1)
			go func() { failed <- use() }()
			conn := <-accepted
			defer conn.Close()
			cutter.Cut()
			if err := <-failed; err == nil || !cutter.IsCut() {
				t.Errorf("%v, want that it is cut", err)
			}
			if err := use(); err == nil || len(accepted) != 0 {
				t.Errorf("connected after the cut: %v", err)
			}
		})
	}
}
