package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestConnect(t *testing.T) {
	w := newWorld(t)
	wantSame(t, "cluster id", "rlmm-embedded", w.cluster.ID())
	if w.cluster.Client().Closed() {
		t.Error("the client is closed")
	}
	if _, err := Connect(w.ctx, Settings{}); err == nil {
		t.Error("connected to nothing")
	}
}

func TestConnectGivesUpWithTheContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	noError(t, err)
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Connect(ctx, Settings{Bootstrap: []string{l.Addr().String()}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}

func TestReconnect(t *testing.T) {
	w := newWorld(t)
	w.create("t", 1, nil)
	ask := func() {
		_, err := w.cluster.EndOffset(w.ctx, "t", 0)
		noError(t, err)
		_, err = w.cluster.Topic(w.ctx, "t")
		noError(t, err)
	}
	ask()
	connections := w.count(kmsg.ApiVersions) // the first request of each
	ask()
	wantSame(t, "connections", 0, connections.Hits())
	w.cluster.Reconnect()
	ask()
	wantSame(t, "connections", 1, connections.Hits())
}

// Of three brokers two are away: whichever has least to do, the third one answers.
func TestBrokersThatAreAwayAreNotAskedAlone(t *testing.T) {
	brokers, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(3, "t"))
	noError(t, err)
	defer brokers.Close()
	c, err := Connect(t.Context(), Settings{Bootstrap: brokers.ListenAddrs()})
	noError(t, err)
	defer func() { noError(t, c.Close()) }()
	noError(t, brokers.RemoveNode(1))
	noError(t, brokers.RemoveNode(2))
	for range 20 {
		_, err := c.Topic(t.Context(), "t")
		noError(t, err)
	}
}

func TestConnectToNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	noError(t, l.Close())
	if _, err = Connect(t.Context(), Settings{Bootstrap: []string{l.Addr().String()}}); err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Fatalf("got %v", err)
	}
}

func TestTopic(t *testing.T) {
	w := newWorld(t)
	if _, err := w.cluster.Topic(w.ctx, "t"); !errors.Is(err, ErrNoTopic) {
		t.Fatalf("before it is there: %v", err)
	}
	w.create("t", 3, nil)
	first, err := w.cluster.Topic(w.ctx, "t")
	noError(t, err)
	wantSame(t, "topic", Topic{Name: "t", ID: w.TopicInfo("t").TopicID, Partitions: 3, LeaderEpochs: make([]int32, 3)}, first)
	noError(t, w.DeleteTopic("t"))
	if _, err := w.cluster.Topic(w.ctx, "t"); !errors.Is(err, ErrNoTopic) {
		t.Fatalf("after it is gone: %v", err)
	}
	w.create("t", 3, nil)
	second, err := w.cluster.Topic(w.ctx, "t")
	noError(t, err)
	if second.ID == first.ID {
		t.Fatal("another topic has the same id")
	}
	w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "t", Err: kerr.TopicAuthorizationFailed})
	if _, err := w.cluster.Topic(w.ctx, "t"); !errors.Is(err, sarama.ErrTopicAuthorizationFailed) || CanHeal(err) {
		t.Fatalf("without the right: %v", err)
	}
}

func TestTopicOf(t *testing.T) {
	for code, want := range map[sarama.KError]error{
		sarama.ErrNoError:                  nil,
		sarama.ErrLeaderNotAvailable:       nil,
		sarama.ErrUnknownTopicOrPartition:  ErrNoTopic,
		sarama.ErrTopicAuthorizationFailed: sarama.ErrTopicAuthorizationFailed,
		sarama.ErrInvalidTopic:             sarama.ErrInvalidTopic,
	} {
		if _, err := topicOf(&sarama.TopicMetadata{Name: "t", Err: code}); !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", code, err, want)
		}
	}
}

func TestOffsets(t *testing.T) {
	w := newWorld(t)
	w.create("t", 1, nil)
	w.produce("t", 5)
	noError(t, w.DeleteRecords("t", 0, 2))
	start, err := w.cluster.StartOffset(w.ctx, "t", 0)
	noError(t, err)
	end, err := w.cluster.EndOffset(w.ctx, "t", 0)
	noError(t, err)
	wantSame(t, "offsets", []int64{2, 5}, []int64{start, end})
	if _, err := w.cluster.EndOffset(w.ctx, "t", 1); err == nil || !strings.Contains(err.Error(), "t/1") {
		t.Fatalf("of a partition that isn't there: %v", err)
	}
}

// TestSilence: a connection whose answer timed out is of no use any more.
func TestSilence(t *testing.T) {
	w := newWorld(t)
	w.create("t", 1, nil)
	w.produce("t", 1)
	w.cluster.Client().Config().Net.ReadTimeout = 100 * time.Millisecond
	_ = w.cluster.Client().Brokers()[0].Close()
	for key, ask := range map[kmsg.Key]func() error{
		kmsg.Metadata: func() error { _, err := w.cluster.Topic(w.ctx, "t"); return err },
		kmsg.Fetch:    func() error { _, _, err := w.cluster.FirstData(w.ctx, "t", 0, 0, 1); return err },
	} {
		w.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) { return nil, nil, true })
		if ask() == nil {
			t.Fatalf("%s: an answer came", key.Name())
		}
		noError(t, retry(w.ctx, ask))
		w.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) { return nil, errors.New("cut"), true })
		if ask() == nil {
			t.Fatalf("%s: an answer came over a cut connection", key.Name())
		}
		noError(t, retry(w.ctx, ask))
	}
}

func TestCall(t *testing.T) {
	v, err := call(t.Context(), func() (int, error) { return 7, nil })
	noError(t, err)
	wantSame(t, "value", 7, v)
	failed := errors.New("failed")
	if _, err := call(t.Context(), func() (int, error) { return 0, failed }); !errors.Is(err, failed) {
		t.Fatalf("got %v", err)
	}
	stopped, block := errors.New("stopped"), make(chan struct{})
	defer close(block)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := call(ctx, func() (int, error) { <-block; return 0, nil }); !errors.Is(err, stopped) {
		t.Fatalf("got %v", err)
	}
}

func TestRetry(t *testing.T) {
	tries := 0
	noError(t, retry(t.Context(), func() error {
		if tries++; tries < 3 {
			return sarama.ErrNotLeaderForPartition
		}
		return nil
	}))
	if err := retry(t.Context(), func() error { return sarama.ErrPolicyViolation }); !errors.Is(err, sarama.ErrPolicyViolation) {
		t.Fatalf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := retry(ctx, func() error { cancel(); return sarama.ErrNotLeaderForPartition })
	if !errors.Is(err, context.Canceled) || !errors.Is(err, sarama.ErrNotLeaderForPartition) {
		t.Fatalf("got %v", err)
	}
}

func TestCanHeal(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{errors.New("anything"), true},
		{context.DeadlineExceeded, true},
		{ErrNoTopic, true},
		{sarama.ErrOutOfBrokers, true},
		{sarama.ErrNotLeaderForPartition, true},
		{sarama.ErrInvalidProducerEpoch, true},
		{sarama.ErrTopicAuthorizationFailed, false},
		{sarama.ErrGroupAuthorizationFailed, false},
		{sarama.ErrClusterAuthorizationFailed, false},
		{sarama.ErrTransactionalIDAuthorizationFailed, false},
		{sarama.ErrSASLAuthenticationFailed, false},
		{sarama.ErrInvalidReplicationFactor, false},
		{sarama.ErrInvalidPartitions, false},
		{sarama.ErrPolicyViolation, false},
		{&MismatchError{Topic: "t"}, false},
		{&TruncatedError{Topic: "t"}, false},
		{fmt.Errorf("a: %w", fmt.Errorf("b: %w", &MismatchError{Topic: "t"})), false},
		{errors.Join(errors.New("a"), fmt.Errorf("b: %w", sarama.ErrTopicAuthorizationFailed)), false},
		{errors.Join(sarama.ErrNotLeaderForPartition, &TruncatedError{}), false},
	} {
		if got := CanHeal(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

func TestErrorsNameTheRemedy(t *testing.T) {
	for err, parts := range map[error][]string{
		&MismatchError{"t", "cleanup.policy", "compact", "delete"}:     {"topic t", "cleanup.policy is delete", "must be compact"},
		&TruncatedError{Topic: "t", Partition: 3, Applied: 10, End: 5}: {"t/3", "ends at 5", "10 is applied", "rlmm reset"},
	} {
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q doesn't say %q", err, part)
			}
		}
	}
}

func TestTopicManager(t *testing.T) {
	w := newWorld(t)
	w.create("t", 3, nil)
	w.produce("t", 2)
	m := TopicManager{w.cluster}
	changed := w.count(kmsg.CreateTopics, kmsg.CreatePartitions, kmsg.AlterConfigs, kmsg.IncrementalAlterConfigs)
	noError(t, errors.Join(m.EnsureTableExists("x", 1), m.EnsureStreamExists("x", 1), m.EnsureTopicExists("x", 1, 1, nil)))
	wantSame(t, "changes", 0, changed.Hits())
	partitions, err := m.Partitions("t")
	noError(t, err)
	wantSame(t, "partitions", []int32{0, 1, 2}, partitions)
	if _, err := m.Partitions("x"); !errors.Is(err, ErrNoTopic) {
		t.Errorf("got %v", err)
	}
	end, err := m.GetOffset("t", 0, sarama.OffsetNewest)
	noError(t, err)
	wantSame(t, "end", int64(2), end)
	noError(t, m.Close())
	if w.cluster.Client().Closed() {
		t.Error("closed what isn't its own")
	}
}

func TestGokaLogger(t *testing.T) {
	var out bytes.Buffer
	h := slog.NewTextHandler(&out, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})
	l := GokaLogger{slog.New(h)}
	l.Print("one ", 1)
	l.Println("two", 2)
	l.Printf("three %d\n", 3)
	want := "level=DEBUG msg=goka line=\"one 1\"\nlevel=DEBUG msg=goka line=\"two 2\"\nlevel=DEBUG msg=goka line=\"three 3\"\n"
	wantSame(t, "log", want, out.String())
}
