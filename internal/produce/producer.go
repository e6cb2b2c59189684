package produce

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// NoOffset is the offset of an event whose acknowledgement says none.
const NoOffset = -1

// Config is what a Producer needs.
type Config struct {
	// Client is the caller's: the producer doesn't close it.
	Client sarama.Client
	// Topic is the one that is written, and Partitions how many it has.
	Topic      string
	Partitions int32
	// MaxBatchBytes bounds a batch: no more than the topic's max.message.bytes.
	MaxBatchBytes int
	// Retries is how often what may heal is tried again, and Pause how long it waits before.
	Retries int
	Pause   time.Duration
}

// Producer is an idempotent producer that waits for all in-sync replicas. Events that go
// to one broker while a request is under way share the next one. For each partition one
// batch is under way, and is tried again with the same sequences, so that it is appended
// once. When it fails though a broker may have appended it, its events fail with an
// [UnansweredError], and what follows goes under the next producer epoch, behind which the
// broker refuses the batch if it is still on its way.
type Producer struct {
	cfg        Config
	requests   *Requests
	identities identities
	lanes      []*lane
	busy       sync.WaitGroup // lanes, and those who are told
	ctx        context.Context
	cancel     context.CancelCauseFunc
}

// New returns a producer that has asked the cluster for its id.
func New(ctx context.Context, cfg Config) (*Producer, error) {
	p := &Producer{cfg: cfg, requests: NewRequests(cfg.Topic), lanes: make([]*lane, cfg.Partitions)}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	p.identities.ask = func() (identity, error) { return askIdentity(cfg.Client) }
	id, err := p.firstIdentity(ctx)
	if err != nil {
		p.cancel(err)
		return nil, fmt.Errorf("get a producer id to write %s: %w", cfg.Topic, err)
	}
	p.identities.current.Store(&id)
	for i := range p.lanes {
		p.lanes[i] = newLane(p, int32(i))
	}
	return p, nil
}

// firstIdentity asks for an id until it gets one, as often as for an event.
func (p *Producer) firstIdentity(ctx context.Context) (id identity, err error) {
	for try := 0; ; try++ {
		id, err = p.identities.ask()
		if err == nil || try == p.cfg.Retries || unheard(err) == refused {
			return id, err
		}
		if p.pause(ctx); ctx.Err() != nil {
			return id, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		_ = p.cfg.Client.RefreshMetadata(p.cfg.Topic) // finds out who is gone
	}
}

// pause is between two tries.
func (p *Producer) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(p.cfg.Pause):
	}
}

// TooLargeError is the failure of an event that the topic doesn't take, so that it wasn't
// sent.
type TooLargeError struct{ Size, Limit int }

// Error says how much too large it is.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("it takes up to %d bytes, and the topic takes %d", e.Size, e.Limit)
}

// Publish sends the event to the partition, created now. It doesn't wait; done gets the
// event's offset, or [NoOffset] when the broker doesn't say, or an error: an
// [UnansweredError] when a broker may have it, else none has. It must not be called once
// Close is.
func (p *Producer) Publish(partition int32, value []byte, done func(offset int64, err error)) {
	e := event{value: value, time: time.Now(), done: done}
	if e.size() > p.cfg.MaxBatchBytes {
		done(NoOffset, &TooLargeError{e.size(), p.cfg.MaxBatchBytes})
		return
	}
	p.lanes[partition].publish(e)
}

// errCut is the failure of what wasn't under way when the producer was cut.
var errCut = errors.New("given up before a broker took it")

// Cut ends the tries: what isn't under way fails, and what is under way fails with its
// answer. The connections are to be ended with it, see [kafka.Cutter].
func (p *Producer) Cut() { p.cancel(errCut) }

// Close waits for all that was published.
func (p *Producer) Close() {
	p.busy.Wait()
	p.cancel(nil)
}
