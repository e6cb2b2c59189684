package views

import (
	"fmt"
	"hash"
	"sync"

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
	build := func(brokers []string, _ string, hasher func() hash.Hash32) (goka.Producer, error) {
		return newEventProducer(cfg, brokers, hasher, topic.Partitions)
	}
	return goka.NewEmitter(s.Bootstrap, goka.Stream(topic.Name), eventCodec{},
		goka.WithEmitterHasher(codec.NewHasher), goka.WithEmitterProducerBuilder(build))
}

// eventProducer writes events as Kafka does: with a null key and no headers, on the
// partition that Kafka's partitioner chooses. goka's own key only says which.
type eventProducer struct {
	producer   sarama.AsyncProducer
	hasher     func() hash.Hash32
	partitions int32
	wg         sync.WaitGroup
}

func newEventProducer(cfg *sarama.Config, brokers []string, hasher func() hash.Hash32, partitions int32) (*eventProducer, error) {
	cfg.Producer.Partitioner = sarama.NewManualPartitioner
	cfg.ChannelBufferSize = maxPublishing
	producer, err := sarama.NewAsyncProducer(brokers, cfg)
	if err != nil {
		return nil, err
	}
	p := &eventProducer{producer: producer, hasher: hasher, partitions: partitions}
	p.wg.Go(func() {
		for m := range producer.Successes() {
			m.Metadata.(goka.PromiseFinisher)(m, nil) //nolint:forcetypeassert // Emit puts nothing else
		}
	})
	p.wg.Go(func() {
		for e := range producer.Errors() {
			e.Msg.Metadata.(goka.PromiseFinisher)(e.Msg, e.Err) //nolint:forcetypeassert // as above
		}
	})
	return p, nil
}

func (p *eventProducer) Emit(topic, key string, value []byte) *goka.Promise {
	promise, finish := goka.NewPromiseWithFinisher()
	h := p.hasher()
	_, _ = h.Write([]byte(key)) // a hash.Hash never fails
	p.producer.Input() <- &sarama.ProducerMessage{
		Topic: topic, Partition: int32(h.Sum32() % uint32(p.partitions)),
		Value: sarama.ByteEncoder(value), Metadata: finish,
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
