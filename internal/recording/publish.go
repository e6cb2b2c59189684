package recording

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/internal/kafka"
)

// Publish appends the events to the topic, each to its own partition with its own
// key, in order, and returns how many the cluster has acknowledged, also with an
// error. The first error ends it, as does the context; what was on its way when the
// context ended may be in the topic without being counted.
func Publish(ctx context.Context, s kafka.Settings, topic string, events iter.Seq2[Event, error]) (int, error) {
	return PublishEach(ctx, s, topic, events, func(Event) {})
}

// PublishEach is Publish that hands over each event, with its offset, when the cluster has
// acknowledged it; those of a partition in order, one call at a time.
func PublishEach(ctx context.Context, s kafka.Settings, topic string, events iter.Seq2[Event, error], acknowledged func(Event)) (int, error) {
	limit, err := maxMessageBytes(ctx, s, topic)
	if err != nil {
		return 0, fmt.Errorf("publish to %s: %w", topic, err)
	}
	cfg := s.ProducerTo(limit)
	cfg.Producer.Partitioner = sarama.NewManualPartitioner
	cfg.Producer.Retry.BackoffFunc = backoff(ctx, cfg.Producer.Retry.Backoff)
	client, err := sarama.NewClient(s.Bootstrap, cfg)
	if err != nil {
		return 0, fmt.Errorf("publish to %s: %w", topic, err)
	}
	defer client.Close() //nolint:errcheck // all is acknowledged or told as lost
	producer, err := sarama.NewAsyncProducerFromClient(client)
	if err != nil {
		return 0, fmt.Errorf("publish to %s: %w", topic, err)
	}
	// Nothing else ends a producer's retries.
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()
	p := publisher{producer: producer, topic: topic, told: acknowledged}
	return p.publish(ctx, events)
}

// maxMessageBytes is the largest batch that the topic takes.
func maxMessageBytes(ctx context.Context, s kafka.Settings, topic string) (int, error) {
	cluster, err := kafka.Connect(ctx, s)
	if err != nil {
		return 0, err
	}
	defer cluster.Close() //nolint:errcheck // nothing is lost
	limit, err := cluster.TopicConfigInt(ctx, topic, "max.message.bytes")
	return int(limit), err
}

// backoff is sarama's pause before a retry, none once the context has ended.
func backoff(ctx context.Context, pause time.Duration) func(retries, maxRetries int) time.Duration {
	return func(int, int) time.Duration {
		if ctx.Err() != nil {
			return 0
		}
		return pause
	}
}

type publisher struct {
	producer     sarama.AsyncProducer
	topic        string
	onTheWay     sync.WaitGroup
	acknowledged int
	told         func(Event)
}

func (p *publisher) publish(ctx context.Context, events iter.Seq2[Event, error]) (int, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var acks sync.WaitGroup
	acks.Go(func() { p.countAcks(fail) })
	err := p.send(ctx, events)
	p.onTheWay.Wait() // a producer that is closed fails what it would have tried again
	p.producer.AsyncClose()
	acks.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	return p.acknowledged, err
}

func (p *publisher) send(ctx context.Context, events iter.Seq2[Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m := &sarama.ProducerMessage{Topic: p.topic, Partition: e.Partition, Metadata: e}
		if e.Key != nil {
			m.Key = sarama.ByteEncoder(e.Key)
		}
		if e.Value != nil {
			m.Value = sarama.ByteEncoder(e.Value)
		}
		p.onTheWay.Add(1)
		p.producer.Input() <- m // it takes or fails everything until it is closed
	}
	return nil
}

// countAcks reads both of the producer's channels until it is closed.
func (p *publisher) countAcks(fail context.CancelCauseFunc) {
	successes, failures := p.producer.Successes(), p.producer.Errors()
	for successes != nil || failures != nil {
		select {
		case m, ok := <-successes:
			if !ok {
				successes = nil
				continue
			}
			p.acknowledged++
			e := m.Metadata.(Event)
			e.Offset = m.Offset
			p.told(e)
		case e, ok := <-failures:
			if !ok {
				failures = nil
				continue
			}
			fail(fmt.Errorf("partition %d: %w", e.Msg.Partition, e.Err))
		}
		p.onTheWay.Done()
	}
}

// Missing is the events behind those that the topic holds already, as many of each
// partition as it has records: what is left of a load that was cut short.
func Missing(ctx context.Context, cluster *kafka.Cluster, topic string, events iter.Seq2[Event, error]) (iter.Seq2[Event, error], error) {
	t, err := cluster.Topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	held := make(map[int32]int64, t.Partitions)
	for p := range t.Partitions {
		if held[p], err = cluster.EndOffset(ctx, topic, p); err != nil {
			return nil, err
		}
	}
	return func(yield func(Event, error) bool) {
		for e, err := range events {
			if err == nil && held[e.Partition] > 0 {
				held[e.Partition]--
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}, nil
}
