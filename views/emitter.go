package views

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"sync"
	"sync/atomic"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/produce"
)

// maxPublishing bounds the publishes under way, so that memory is: an emit never blocks.
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

// emitter is goka's, and its producer, to cut it.
type emitter struct {
	*goka.Emitter
	producer *eventProducer
}

// newEmitter returns an emitter for the topic, whose batches are of limit bytes at most.
func newEmitter(ctx context.Context, s kafka.Settings, topic kafka.Topic, limit int) (*emitter, error) {
	cfg := s.ProducerTo(limit)
	e := &emitter{}
	var failed error // goka wraps without unwrapping
	build := func(brokers []string, _ string, hasher func() hash.Hash32) (goka.Producer, error) {
		var err error
		e.producer, err = newEventProducer(ctx, cfg, brokers, hasher, topic)
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
// that fails after it may have reached a broker fails with a [produce.UnansweredError].
type eventProducer struct {
	client      sarama.Client
	closeClient func() error
	cutter      *kafka.Cutter
	producer    *produce.Producer
	hasher      func() hash.Hash32
	partitions  int32
	unfinished  atomic.Int64 // events that failed because they were cut
}

func newEventProducer(ctx context.Context, cfg *sarama.Config, brokers []string, hasher func() hash.Hash32, topic kafka.Topic) (*eventProducer, error) {
	p := &eventProducer{hasher: hasher, partitions: topic.Partitions, cutter: kafka.NewCutter(cfg)}
	var err error
	if p.client, err = sarama.NewClient(brokers, cfg); err != nil {
		return nil, err
	}
	p.closeClient = sync.OnceValue(p.client.Close)
	p.producer, err = produce.New(ctx, produce.Config{
		Client: p.client, Topic: topic.Name, Partitions: topic.Partitions, MaxBatchBytes: cfg.Producer.MaxMessageBytes,
		Retries: cfg.Producer.Retry.Max, Pause: cfg.Producer.Retry.Backoff,
	})
	if err != nil {
		return nil, errors.Join(err, p.closeClient())
	}
	return p, nil
}

func (p *eventProducer) Emit(_, key string, value []byte) *goka.Promise {
	promise, finish := goka.NewPromiseWithFinisher()
	h := p.hasher()
	_, _ = h.Write([]byte(key)) // a hash.Hash never fails
	p.producer.Publish(int32(h.Sum32()%uint32(p.partitions)), value, func(offset int64, err error) {
		if err != nil && p.cutter.IsCut() {
			p.unfinished.Add(1)
		}
		finish(&sarama.ProducerMessage{Offset: offset}, err)
	})
	return promise
}

// EmitWithHeaders is Emit: Kafka writes no headers.
func (p *eventProducer) EmitWithHeaders(topic, key string, value []byte, _ goka.Headers) *goka.Promise {
	return p.Emit(topic, key, value)
}

// cut ends the connections, and with them all that is under way.
func (p *eventProducer) cut() {
	p.cutter.Cut()
	p.producer.Cut()
	_ = p.closeClient() // Close tells
}

// Close waits for what is under way. It returns an error that is
// [api.ErrUnacknowledged] when events were cut.
func (p *eventProducer) Close() error {
	p.producer.Close()
	err := p.closeClient()
	if n := p.unfinished.Load(); n > 0 {
		cut := fmt.Errorf("%d unanswered by the broker when the manager was closed", n)
		return errors.Join(&api.UnacknowledgedError{Op: "publish events", Err: cut}, err)
	}
	return err
}
