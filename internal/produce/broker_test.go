package produce

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/tieredlog/rlmm/internal/kafka"
)

const (
	topic      = "events"
	partitions = 3
	patience   = 20 * time.Second
	retries    = 4
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick")) // never ends
}

// step is what the broker does with a batch.
type step struct {
	forget  bool // the producers that it knows, before
	append  bool // the batch
	code    *kerr.Error
	offset  int64 // with the code
	silent  bool  // the answer lacks the partition
	hangsUp bool  // instead of an answer
}

var (
	works       = step{append: true}
	hangsUp     = step{hangsUp: true}
	losesAnswer = step{append: true, hangsUp: true}
)

func says(code *kerr.Error) step        { return step{code: code, offset: -1} }
func appendsAndSays(c *kerr.Error) step { return step{append: true, code: c, offset: -1} }

// broker answers publishes by a script, and when that is over as Kafka does.
type broker struct {
	*kfake.Cluster
	t    *testing.T
	addr string
	ctx  context.Context

	mu       sync.Mutex
	script   []step
	forever  *step // behind the script
	logs     [partitions]*log
	sent     []sent
	requests int
	ids      int // asked for
	limit    int // bytes of a batch
	holding  func()
}

func newBroker(t *testing.T, script ...step) *broker {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	b := &broker{Cluster: c, t: t, addr: c.ListenAddrs()[0], ctx: ctx, script: script, limit: 1 << 30}
	for i := range b.logs {
		b.logs[i] = newLog()
	}
	c.ControlKey(int16(kmsg.Produce), b.produce)
	c.ControlKey(int16(kmsg.InitProducerID), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ids++
		return nil, nil, false
	})
	return b
}

func (b *broker) produce(r kmsg.Request) (kmsg.Response, error, bool) {
	b.KeepControl()
	b.holds()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests++
	req := r.(*kmsg.ProduceRequest)
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	hungUp := error(nil)
	for _, t := range req.Topics {
		answer := kmsg.NewProduceResponseTopic()
		answer.Topic = t.Topic
		for _, p := range t.Partitions {
			s := b.next()
			block := b.take(s, p)
			if s.hangsUp {
				hungUp = errors.New("hung up")
			}
			if !s.silent {
				answer.Partitions = append(answer.Partitions, block)
			}
		}
		resp.Topics = append(resp.Topics, answer)
	}
	return resp, hungUp, true
}

func (b *broker) next() step {
	if len(b.script) == 0 {
		if b.forever != nil {
			return *b.forever
		}
		return works
	}
	s := b.script[0]
	b.script = b.script[1:]
	return s
}

func (b *broker) take(s step, p kmsg.ProduceRequestTopicPartition) kmsg.ProduceResponseTopicPartition {
	batch := parse(p.Records)
	batch.request = b.requests
	b.sent = append(b.sent, batch)
	answer := kmsg.NewProduceResponseTopicPartition()
	answer.Partition = p.Partition
	if s.forget {
		b.logs[p.Partition].producers = map[int64]*producerState{}
	}
	code := (*kerr.Error)(nil)
	if len(p.Records) > b.limit {
		answer.BaseOffset, code = -1, kerr.MessageTooLarge
	} else if s.append {
		answer.BaseOffset, code = b.logs[p.Partition].append(batch)
	}
	if s.code != nil {
		answer.BaseOffset, code = s.offset, s.code
	}
	if code != nil {
		answer.ErrorCode = code.Code
	}
	return answer
}

// do has the broker do something with its state.
func (b *broker) do(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// batches are those that came.
func (b *broker) batches() (all []sent) {
	b.do(func() { all = append(all, b.sent...) })
	return all
}

// lies is how often the event lies in the partition.
func (b *broker) lies(partition int, value string) (n int) {
	b.do(func() {
		for _, v := range b.logs[partition].values {
			if v == value {
				n++
			}
		}
	})
	return n
}

// at is the event at the offset.
func (b *broker) at(partition int, offset int64) (value string) {
	b.do(func() {
		if values := b.logs[partition].values; offset >= 0 && offset < int64(len(values)) {
			value = values[offset]
		}
	})
	return value
}

// producer is one that ends with the test.
func (b *broker) producer() *producerOf {
	b.t.Helper()
	cfg := kafka.Settings{Bootstrap: []string{b.addr}}.Producer()
	cfg.Metadata.Retry.Backoff = time.Millisecond
	cutter := kafka.NewCutter(cfg)
	client, err := sarama.NewClient([]string{b.addr}, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	p, err := New(b.ctx, Config{
		Client: client, Topic: topic, Partitions: partitions, MaxBatchBytes: 1 << 20, Retries: retries, Pause: time.Millisecond,
	})
	if err != nil {
		b.t.Fatal(err, client.Close())
	}
	of := &producerOf{Producer: p, b: b, cutter: cutter, client: client}
	b.t.Cleanup(of.end)
	return of
}

type producerOf struct {
	*Producer
	b      *broker
	cutter *kafka.Cutter
	client sarama.Client
}

func (p *producerOf) end() {
	p.Close()
	if err := p.client.Close(); err != nil && !errors.Is(err, sarama.ErrClosedClient) {
		p.b.t.Error(err)
	}
}

// result is what became of an event.
type result struct {
	offset int64
	err    error
}

func (p *producerOf) send(partition int32, value string) <-chan result {
	done := make(chan result, 2) // room for one that is told twice
	p.Publish(partition, []byte(value), func(offset int64, err error) { done <- result{offset, err} })
	return done
}

func (p *producerOf) await(done <-chan result) result {
	p.b.t.Helper()
	select {
	case r := <-done:
		return r
	case <-p.b.ctx.Done():
		p.b.t.Fatal("an event was never finished")
		return result{}
	}
}

// hold keeps the next request from being looked at until release is called. held is closed
// when it has come.
func (b *broker) hold() (held chan struct{}, release func()) {
	held, released := make(chan struct{}), make(chan struct{})
	b.do(func() {
		b.holding = func() {
			close(held)
			b.SleepControl(func() { <-released })
		}
	})
	release = sync.OnceFunc(func() { close(released) })
	b.t.Cleanup(release)
	return held, release
}

// holds does what hold asked for.
func (b *broker) holds() {
	var hold func()
	b.do(func() { hold, b.holding = b.holding, nil })
	if hold != nil {
		hold()
	}
}

func (b *broker) awaitClosed(what string, c chan struct{}) {
	b.t.Helper()
	select {
	case <-c:
	case <-b.ctx.Done():
		b.t.Fatalf("waited too long: %s", what)
	}
}
