package table

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
)

// errNotStarted is the answer to a record that comes between Acquire and Start.
var errNotStarted = errors.New("the partition isn't recovered yet")

// errReleased is what becomes of records that wait when the partition is given up.
var errReleased = errors.New("the partition was given up")

// WriterConfig is what a Writer needs.
type WriterConfig struct {
	// Client is the writer's own; Close closes it.
	Client sarama.Client
	// Topic is the table's.
	Topic string
	// Partitions is how many the table has.
	Partitions int32
	// MaxBatchBytes bounds a batch: the table's max.message.bytes.
	MaxBatchBytes int
	// Refused is called each time that the table refuses a single record for its size,
	// before that is sent again: its max.message.bytes was lowered. The context ends when
	// the partition is given up.
	Refused func(ctx context.Context, partition int32)
	// Verify is called before each request to the table with the partitions that it
	// writes, and whether some of it was tried before. An error keeps the request back; it is
	// retried as the broker's own are. The context ends with Close.
	Verify func(ctx context.Context, partitions []int32, again bool) error
	// Other carries the rejected events. Close closes it.
	Other goka.Producer
	// RejectionFailed is called each time that Other fails with a partition's rejected
	// events, before they are sent again. The context ends when the partition is given up.
	RejectionFailed func(ctx context.Context, partition int32, err error)
	// RenewEvery is how often an owner takes a new producer epoch: brokers forget a silent
	// transactional id after seven days by default, and a producer's state after one.
	RenewEvery time.Duration
	// Failed is told of every error that ends an owner: goka wraps without unwrapping. It
	// must not block.
	Failed func(error)
}

// Writer is the table's only writer, as a producer of goka's. For each partition that
// it owns it holds a producer epoch that the broker took from the owner before
// (InitProducerId with the transactional id <table>-<partition>), so that a former
// owner's batches are refused, and sends idempotent batches, one in flight, none
// transactional: control records in the table would keep goka's recovery from ending.
//
// A retriable error is retried for ever with the same sequence, and so is a record that
// is larger than the table takes by now: who lowered the limit can raise it again, and
// meanwhile nothing is lost. A batch that is too large is halved. The first other error
// fails the partition: all that waits there and all that follows, until it is
// acquired anew.
//
// A rejected event goes to its own topic first: what is emitted for the partition behind
// it is held back until that topic has taken it, for as long as the partition is owned. So
// no event's answer is in the table whose rejection isn't on its topic.
type Writer struct {
	cfg WriterConfig

	mu     sync.RWMutex
	owners map[int32]*owner

	answers  []*Answered // by partition: what goka emits next, nil when that isn't told
	requests *coalescer
	cancel   context.CancelFunc // ends what Verify waits for
	wg       sync.WaitGroup
	// rejecting are the owners' users of Other, which must not be used once it is closed.
	rejecting sync.WaitGroup
}

// NewWriter returns a writer that owns nothing yet.
func NewWriter(cfg WriterConfig) *Writer {
	ctx, cancel := context.WithCancel(context.Background())
	verify := func(partitions []int32, again bool) error { return cfg.Verify(ctx, partitions, again) }
	return &Writer{
		cfg: cfg, owners: map[int32]*owner{}, answers: make([]*Answered, cfg.Partitions),
		requests: newCoalescer(cfg.Topic, verify), cancel: cancel,
	}
}

// Acquire fences the partition's former owner and writes the fence record, whose table
// offset it returns. Recovery must reach it before Start: until the fence lies in the
// table a former owner's batches may still land.
func (w *Writer) Acquire(ctx context.Context, partition int32, id store.Identity) (fence int64, err error) {
	o := newOwner(w, partition)
	if err := o.init(ctx); err != nil {
		return 0, fmt.Errorf("become the writer of %s/%d: %w", w.cfg.Topic, partition, err)
	}
	first := fenceOf(partition, id)
	first.Writer = o.number
	fence, err = o.produce(ctx, []*sarama.Record{first.encode()})
	if err != nil {
		return 0, fmt.Errorf("write the fence of %s/%d: %w", w.cfg.Topic, partition, err)
	}
	w.mu.Lock()
	old := w.owners[partition]
	w.owners[partition] = o
	w.mu.Unlock()
	if old != nil {
		old.fail(errReleased)
	}
	return fence, nil
}

// Start lets records of an acquired partition through: each is staged in the store
// and committed there when the table has given it an offset.
func (w *Writer) Start(partition int32, s *store.Store) error {
	o, err := w.owner(partition)
	if err != nil {
		return err
	}
	o.start(s)
	w.wg.Go(o.run)
	w.rejecting.Go(o.runRejections)
	return nil
}

// Release gives all partitions up: what waits there fails at once.
func (w *Writer) Release() {
	w.mu.Lock()
	owners := w.owners
	w.owners = map[int32]*owner{}
	w.mu.Unlock()
	for _, o := range owners {
		o.fail(errReleased)
	}
}

func (w *Writer) owner(partition int32) (*owner, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if o := w.owners[partition]; o != nil {
		return o, nil
	}
	return nil, fmt.Errorf("%s/%d isn't owned here", w.cfg.Topic, partition)
}

// Answered is what a record of the table tells of the input record that it answers.
type Answered struct {
	Offset  int64
	Outcome codec.Outcome
	// Input is the record's [InputSum].
	Input uint32
}

// Answer says what the record answers that goka emits next for a table partition: headers
// would take goka two maps for each record. For each partition there is one caller at a
// time of Answer and then Emit.
func (w *Writer) Answer(partition int32, a Answered) { w.answers[partition] = &a }

// Emit is EmitWithHeaders without headers.
func (w *Writer) Emit(topic, key string, value []byte) *goka.Promise {
	return w.EmitWithHeaders(topic, key, value, nil)
}

// EmitWithHeaders sends what goka emits. For the table it is the answer that [Writer.Answer]
// has told of. One that isn't for the table is a rejected event of the partition that the key
// belongs to, with its headers: its promise is finished at once, since the answer behind it
// waits for it and fails with it. goka writes under the key of the input record only: an
// answer that is [codec.Outcome.Hidden] goes under the partition's hidden key from here. So
// the row stays as it is and isn't written again, which may be too large by now too.
func (w *Writer) EmitWithHeaders(topic, key string, value []byte, headers goka.Headers) *goka.Promise {
	if topic != w.cfg.Topic {
		return finished(w.reject(&rejection{topic: topic, key: key, value: value, headers: headers}))
	}
	partition, err := w.partition(key)
	if err != nil {
		return finished(err)
	}
	r := Record{Kind: Answer, Key: key, Value: value}
	if err := w.answer(partition, &r); err != nil {
		return finished(err)
	}
	return w.write(partition, r)
}

// finished is a promise that has come true, or failed.
func finished(err error) *goka.Promise {
	promise, finish := goka.NewPromiseWithFinisher()
	finish(nil, err)
	return promise
}

// answer adds what the record answers.
func (w *Writer) answer(partition int32, r *Record) error {
	a := w.answers[partition]
	if a == nil {
		return fmt.Errorf("the record of %s answers nothing that is known", r.Key)
	}
	w.answers[partition] = nil
	r.Source, r.Outcome, r.Input = a.Offset, a.Outcome, a.Input
	if r.Outcome.Hidden() {
		r.Key, r.Value = codec.RejectedKey(partition), nil
	}
	return nil
}

// Write sends a record; its writer's number and time are filled in. It keeps the order of
// Emit: staged in the store, then sent, then on disk.
func (w *Writer) Write(r Record) *goka.Promise {
	partition, err := w.partition(r.Key)
	if err != nil {
		return finished(err)
	}
	return w.write(partition, r)
}

func (w *Writer) write(partition int32, r Record) *goka.Promise {
	promise, finish := goka.NewPromiseWithFinisher()
	o, err := w.owner(partition)
	if err == nil {
		err = o.submit(newEntry(o.number, r, finish))
	}
	if err != nil {
		finish(nil, err)
	}
	return promise
}

func (w *Writer) partition(key string) (int32, error) {
	k, err := codec.ParseKey(key)
	if err != nil {
		return 0, err
	}
	return k.Partition(w.cfg.Partitions), nil
}

func (w *Writer) reject(r *rejection) error {
	partition, err := w.partition(r.key)
	if err != nil {
		return err
	}
	o, err := w.owner(partition)
	if err != nil {
		return err
	}
	return o.reject(r)
}

// WritePosition writes how far the partition's input is applied, with what the state
// is made from, and waits for the acknowledgement: compaction may take the rows that
// say so. It writes the greatest offset that was answered before it in the table when
// that is beyond the given one: the answers may go on coming.
func (w *Writer) WritePosition(ctx context.Context, partition int32, applied int64, id store.Identity) error {
	o, err := w.owner(partition)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	promise, finish := goka.NewPromiseWithFinisher()
	promise.Then(func(err error) { done <- err })
	err = o.submitMade(func() entry {
		at := store.Mark{Offset: applied}
		if p := o.store.Position(); p.Applied >= applied {
			at = store.Mark{Offset: p.Applied, Sum: p.Input}
		}
		return newEntry(o.number, positionOf(partition, at, id), finish)
	})
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Reconnect closes the connections to the table; what is written next opens others.
func (w *Writer) Reconnect() { kafka.Reconnect(w.cfg.Client) }

// Close gives all partitions up and closes the client and the other producer.
func (w *Writer) Close() error {
	w.Release()
	w.cancel()
	w.rejecting.Wait()
	err := errors.Join(w.cfg.Other.Close(), w.cfg.Client.Close())
	w.wg.Wait()
	return err
}
