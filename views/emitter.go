package views

import (
	"cmp"
	"errors"
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

// noOffset is the offset of an event whose acknowledgement says none: sarama takes
// DUPLICATE_SEQUENCE_NUMBER for a success and leaves the offset as it was.
const noOffset = -1

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

// emitter is goka's, and its producer, to cut it.
type emitter struct {
	*goka.Emitter
	producer *eventProducer
}

// newEmitter returns an emitter for the topic, whose batches are of limit bytes at most.
func newEmitter(s kafka.Settings, topic kafka.Topic, limit int) (*emitter, error) {
	cfg := s.ProducerTo(limit)
	e := &emitter{}
	var failed error // goka wraps without unwrapping
	build := func(brokers []string, _ string, hasher func() hash.Hash32) (goka.Producer, error) {
		var err error
		e.producer, err = newEventProducer(cfg, brokers, hasher, topic.Partitions)
		failed = kafka.Denied(err, "IdempotentWrite", kafka.OnCluster())
		return e.producer, failed
	}
	var err error
	e.Emitter, err = goka.NewEmitter(s.Bootstrap, goka.Stream(topic.Name), eventCodec{},
		goka.WithEmitterHasher(codec.NewHasher), goka.WithEmitterProducerBuilder(build))
	return e, cmp.Or(failed, err)
}

// eventProducer writes events as Kafka does: with a null key and no headers, on the
// partition that Kafka's partitioner chooses. goka's own key only says which. An event
// that fails after it may have reached a broker fails with an unansweredError.
type eventProducer struct {
	client      sarama.Client
	closeClient func() error
	cutter      *kafka.Cutter
	producer    sarama.AsyncProducer
	hasher      func() hash.Hash32
	partitions  int32
	retries     atomic.Int64 // of all batches
	unfinished  atomic.Int64 // events that failed because they were cut
	wg          sync.WaitGroup
}

func newEventProducer(cfg *sarama.Config, brokers []string, hasher func() hash.Hash32, partitions int32) (*eventProducer, error) {
	p := &eventProducer{hasher: hasher, partitions: partitions, cutter: kafka.NewCutter(cfg)}
	cfg.Producer.Retry.BackoffFunc = p.backoff(cfg.Producer.Retry.Backoff)
	cfg.Producer.Partitioner = sarama.NewManualPartitioner
	cfg.ChannelBufferSize = maxPublishing
	var err error
	if p.client, err = sarama.NewClient(brokers, cfg); err != nil {
		return nil, err
	}
	p.closeClient = sync.OnceValue(p.client.Close)
	if p.producer, err = sarama.NewAsyncProducerFromClient(p.client); err != nil {
		return nil, errors.Join(err, p.closeClient())
	}
	p.wg.Go(p.succeed)
	p.wg.Go(p.fail)
	return p, nil
}

// backoff counts the retries, and lets what was cut fail without a pause for each event.
func (p *eventProducer) backoff(pause time.Duration) func(int, int) time.Duration {
	return func(int, int) time.Duration {
		p.retries.Add(1)
		if p.cutter.IsCut() {
			return 0
		}
		return pause
	}
}

func (p *eventProducer) succeed() {
	for m := range p.producer.Successes() {
		m.Metadata.(*outgoing).finish(m, nil) //nolint:forcetypeassert // Emit puts nothing else
	}
}

func (p *eventProducer) fail() {
	for e := range p.producer.Errors() {
		if p.cutter.IsCut() {
			p.unfinished.Add(1)
		}
		o := e.Msg.Metadata.(*outgoing) //nolint:forcetypeassert // as above
		o.finish(e.Msg, failure(e.Err, o.sent.Load(), p.retries.Load() != o.retries))
	}
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
		Topic: topic, Partition: int32(h.Sum32() % uint32(p.partitions)), Value: o, Metadata: o, Offset: noOffset,
	}
	return promise
}

// EmitWithHeaders is Emit: Kafka writes no headers.
func (p *eventProducer) EmitWithHeaders(topic, key string, value []byte, _ goka.Headers) *goka.Promise {
	return p.Emit(topic, key, value)
}

// cut ends the connections, and with them all that is under way.
func (p *eventProducer) cut() {
	p.cutter.Cut()
	_ = p.closeClient() // Close tells
}

// Close waits for what is under way. It returns an error that is
// [api.ErrUnacknowledged] when events were cut.
func (p *eventProducer) Close() error {
	p.producer.AsyncClose()
	p.wg.Wait()
	err := p.closeClient()
	if n := p.unfinished.Load(); n > 0 {
		cut := fmt.Errorf("%d unanswered by the broker when the manager was closed", n)
		return errors.Join(&api.UnacknowledgedError{Op: "publish events", Err: cut}, err)
	}
	return err
}
