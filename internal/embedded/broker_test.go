package embedded

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, cfg Config) *Broker {
	t.Helper()
	b, err := Start(cfg)
	noError(t, err)
	t.Cleanup(b.Close)
	return b
}

func TestStartListensOnLoopback(t *testing.T) {
	for _, addr := range []string{"", "localhost:0", "127.0.0.1:0", "[::1]:0"} {
		t.Run(addr, func(t *testing.T) {
			b := start(t, Config{Addr: addr})
			host, port, err := net.SplitHostPort(b.Addr())
			noError(t, err)
			if ip := net.ParseIP(host); !ip.IsLoopback() || port == "0" {
				t.Errorf("it listens on %s", b.Addr())
			}
			conn, err := net.Dial("tcp", b.Addr())
			noError(t, err)
			noError(t, conn.Close())
		})
	}
}

func TestStartOnAPort(t *testing.T) {
	first := start(t, Config{})
	addr := first.Addr()
	if b, err := Start(Config{Addr: addr}); err == nil {
		b.Close()
		t.Fatal("two brokers listen on one port")
	} else if !strings.Contains(err.Error(), addr) {
		t.Errorf("%v doesn't name %s", err, addr)
	}
	first.Close()
	second := start(t, Config{Addr: addr})
	if second.Addr() != addr {
		t.Errorf("it listens on %s, not on %s", second.Addr(), addr)
	}
}

func TestStartRefuses(t *testing.T) {
	for _, addr := range []string{
		"0.0.0.0:9092", ":9092", "[::]:9092", "192.0.2.1:9092", "example.org:9092", "localhost", "localhost:", "localhost:x", "localhost:65536", "localhost:-1",
	} {
		if b, err := Start(Config{Addr: addr}); err == nil {
			b.Close()
			t.Errorf("it listens on %s", addr)
		}
	}
}

// TestDataDir: topics, their ids and their records outlive the broker.
func TestDataDir(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "new")
	first := start(t, Config{DataDir: dir})
	noError(t, first.Cluster().CreateTopic("t", 1, map[string]string{"cleanup.policy": "compact"}))
	before := first.Cluster().TopicInfo("t")
	client, err := kgo.NewClient(kgo.SeedBrokers(first.Addr()))
	noError(t, err)
	noError(t, client.ProduceSync(ctx, &kgo.Record{Topic: "t", Key: []byte("k"), Value: []byte("v")}).FirstErr())
	client.Close()
	first.Close()

	second := start(t, Config{DataDir: dir})
	after := second.Cluster().TopicInfo("t")
	if after == nil || after.TopicID != before.TopicID || *after.Configs["cleanup.policy"] != "compact" {
		t.Fatalf("the topic is %+v, was %+v", after, before)
	}
	client, err = kgo.NewClient(kgo.SeedBrokers(second.Addr()), kgo.ConsumeTopics("t"))
	noError(t, err)
	defer client.Close()
	fetches := client.PollFetches(ctx)
	noError(t, fetches.Err())
	if r := fetches.Records(); len(r) != 1 || string(r[0].Value) != "v" {
		t.Fatalf("the records are %v", r)
	}
}
