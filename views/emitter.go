package views

import (
	"cmp"
	"fmt"
	"hash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
)

// maxPublishing bounds the publishes under way. sarama's channels hold as many, so
// that an emit never blocks without a context.
const maxPublishing = 4096

// eventCodec writes Kafka's record format.
type eventCodec struct{}

func (eventCodec) Encode(v any) ([]byte, error) {
	m, ok := v.(api.RemoteLogMetadata)
	if !ok {
		return nil, fmt.Errorf("%T is no event", v)
	}
	return codec.EncodeRecord(m)
}

func (eventCodec) Decode(b []byte) (any, error) { return codec.DecodeRecord(b) }

// newEmitter returns an emitter for the topic, whose batches are of limit bytes at most.
func newEmitter(s kafka.Settings, topic kafka.Topic, limit int) (*goka.Emitter, error) {
	cfg := s.ProducerTo(limit)
	var failed error // goka wraps without unwrapping
	build := func(brokers []string, _ string, hasher func() hash.Hash32) (goka.Producer, error) {
		p, err := newEventProducer(cfg, brokers, hasher, topic.Partitions)
		failed = kafka.Denied(err, "IdempotentWrite", kafka.OnCluster())
		return p, failed
	}
	emitter, err := goka.NewEmitter(s.Bootstrap, goka.Stream(topic.Name), eventCodec{},
		goka.WithEmitterHasher(codec.NewHasher), goka.WithEmitterProducerBuilder(build))
	return emitter, cmp.Or(failed, err)
}

// eventProducer writes events as Kafka does: with a null key and no headers, on the
// partition that Kafka's partitioner chooses. goka's own key only says which. An event
// that fails after it may have reached a broker fails with an unansweredError.
type eventProducer struct {
	producer   sarama.AsyncProducer
	hasher     func() hash.Hash32
	partitions int32
	retries    atomic.Int64 // of all batches
	wg         sync.WaitGroup
}

func newEventProducer(cfg *sarama.Config, brokers []string, hasher func() hash.Hash32, partitions int32) (*eventProducer, error) {
	p := &eventProducer{hasher: hasher, partitions: partitions}
	pause := cfg.Producer.Retry.Backoff
	cfg.Producer.Retry.BackoffFunc = func(int, int) time.Duration {
		p.retries.Add(1)
		return pause
	}
	cfg.Producer.Partitioner = sarama.NewManualPartitioner
	cfg.ChannelBufferSize = maxPublishing
	var err error
	if p.producer, err = sarama.NewAsyncProducer(brokers, cfg); err != nil {
		return nil, err
	}
	p.wg.Go(func() {
		for m := range p.producer.Successes() {
			m.Metadata.(*outgoing).finish(m, nil) //nolint:forcetypeassert // Emit puts nothing else
		}
	})
	p.wg.Go(func() {
		for e := range p.producer.Errors() {
			o := e.Msg.Metadata.(*outgoing) //nolint:forcetypeassert // as above
			o.finish(e.Msg, failure(e.Err, o.sent.Load(), p.retries.Load() != o.retries))
		}
	})
	return p, nil
}

// outgoing is an event on its way. As sarama's encoder it notes when sarama asks for its
// bytes, which it does for a request only.
type outgoing struct {
	value   []byte
	finish  goka.PromiseFinisher
	sent    atomic.Bool
	retries int64 // the producer's when it was emitted
}

// Encode returns the event's bytes.
func (o *outgoing) Encode() ([]byte, error) {
	o.sent.Store(true)
	return o.value, nil
}

// Length is how many they are.
func (o *outgoing) Length() int { return len(o.value) }

func (p *eventProducer) Emit(topic, key string, value []byte) *goka.Promise {
	promise, finish := goka.NewPromiseWithFinisher()
	h := p.hasher()
	_, _ = h.Write([]byte(key)) // a hash.Hash never fails
	o := &outgoing{value: value, finish: finish, retries: p.retries.Load()}
	p.producer.Input() <- &sarama.ProducerMessage{
		Topic: topic, Partition: int32(h.Sum32() % uint32(p.partitions)), Value: o, Metadata: o,
	}
	return promise
}

// EmitWithHeaders is Emit: Kafka writes no headers.
func (p *eventProducer) EmitWithHeaders(topic, key string, value []byte, _ goka.Headers) *goka.Promise {
	return p.Emit(topic, key, value)
}

func (p *eventProducer) Close() error {
	p.producer.AsyncClose()
	p.wg.Wait()
	return nil
}
