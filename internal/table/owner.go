package table

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/internal/backoff"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/produce"
	"github.com/tieredlog/rlmm/internal/store"
)

const (
	maxWaiting  = 1024 // entries of one partition that may wait; then Emit blocks
	maxBatch    = 500  // records of a batch
	recordExtra = 96   // bytes that a record takes beside key, value and headers, at most
)

// entry is a record on its way to the table.
type entry struct {
	record *sarama.Record
	size   int
	change store.Change
	done   goka.PromiseFinisher
	after  []*rejection // what the topic must have taken before
}

// newEntry is of a record that is written now, by the owner of that number.
func newEntry(writer uint32, r Record, done goka.PromiseFinisher) entry {
	r.Writer, r.Time = writer, time.Now()
	sent := r.encode()
	return entry{record: sent, size: sizeOf(sent), change: r.Change(), done: done}
}

// free tells whether the entry may be sent.
func (e entry) free() bool {
	return !slices.ContainsFunc(e.after, func(r *rejection) bool { return !r.taken.Load() })
}

// sizeOf is what the records take in a batch, at most.
func sizeOf(records ...*sarama.Record) int {
	size := 0
	for _, r := range records {
		size += recordExtra + len(r.Key) + len(r.Value)
		for _, h := range r.Headers {
			size += len(h.Key) + len(h.Value)
		}
	}
	return size
}

// owner is the right to write one partition of the table.
type owner struct {
	w         *Writer
	partition int32
	number    uint32 // [Record.Writer]

	// Producer state, used by one goroutine at a time: Acquire, then run.
	pid   int64
	epoch int16
	seq   int32

	slots      chan struct{} // one for each entry that may wait
	rejections chan *rejection
	wake       chan struct{}
	ctx        context.Context // ends with the right to write
	cancel     context.CancelCauseFunc

	mu      sync.Mutex   // makes one step of staging and queueing
	store   *store.Store // nil until start
	waiting []entry
	taken   []entry      // take's, whose memory is used again
	before  []*rejection // what the next entry comes after
}

func newOwner(w *Writer, partition int32) *owner {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &owner{
		w: w, partition: partition, number: max(1, rand.Uint32()), pid: -1, epoch: -1, ctx: ctx, cancel: cancel,
		slots: make(chan struct{}, maxWaiting), wake: make(chan struct{}, 1),
		rejections: make(chan *rejection, maxRejections),
	}
}

func (o *owner) start(s *store.Store) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.store = s
}

// submit stages the entry and queues it, in one order for both. It blocks while too
// many wait.
func (o *owner) submit(e entry) error {
	return o.submitMade(func() entry { return e })
}

// submitMade is submit for an entry that is made when its turn has come: by then the
// store has staged all that lies before it in the table, and nothing else.
func (o *owner) submitMade(entryOf func() entry) error {
	o.takeSlot()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ctx.Err() != nil {
		return context.Cause(o.ctx)
	}
	if o.store == nil {
		<-o.slots
		return errNotStarted
	}
	e := entryOf()
	o.store.Stage(e.change)
	e.after, o.before = o.before, nil
	o.waiting = append(o.waiting, e)
	o.poke()
	return nil
}

// takeSlot waits until one more may wait, or the owner fails. Most of the time there is
// room, and to ask for that alone costs a third of asking for either.
func (o *owner) takeSlot() {
	select {
	case o.slots <- struct{}{}:
		return
	default:
	}
	select {
	case o.slots <- struct{}{}:
	case <-o.ctx.Done():
	}
}

// poke has run look at what waits.
func (o *owner) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// fail ends the owner: everything that waits gets the error. The first error counts.
func (o *owner) fail(err error) {
	o.mu.Lock()
	o.cancel(err)
	waiting := o.waiting
	o.waiting = nil
	o.mu.Unlock()
	finish(waiting, context.Cause(o.ctx))
}

func finish(entries []entry, err error) {
	for _, e := range entries {
		e.done(nil, err) // no offset: goka would commit that, and the store does it itself
	}
}

// run sends what waits until the owner fails.
func (o *owner) run() {
	renew := time.NewTicker(o.w.cfg.RenewEvery)
	defer renew.Stop()
	for {
		var err error
		select {
		case <-o.ctx.Done():
			return
		case <-renew.C:
			err = o.init(o.ctx)
		case <-o.wake:
			err = o.sendWaiting(o.ctx)
		}
		if err != nil {
			o.w.cfg.Failed(err)
			o.fail(err)
			return
		}
	}
}

// sendWaiting sends what waits, up to what must wait on.
func (o *owner) sendWaiting(ctx context.Context) error {
	for batch := o.take(); len(batch) > 0; batch = o.take() {
		err := o.send(ctx, batch)
		clear(batch)
		if err != nil {
			return err
		}
	}
	return nil
}

// send appends the entries in one batch, or in halves while the table takes less in one
// than it did when the writer was made.
func (o *owner) send(ctx context.Context, batch []entry) error {
	records := make([]*sarama.Record, len(batch))
	for i, e := range batch {
		records[i] = e.record
	}
	base, err := o.produce(ctx, records)
	if errors.Is(err, errHalve) {
		half := len(batch) / 2
		if err := o.send(ctx, batch[:half]); err != nil {
			finish(batch[half:], err)
			return err
		}
		return o.send(ctx, batch[half:])
	}
	if err == nil {
		err = o.ack(base, len(batch))
	}
	finish(batch, err)
	return err
}

// ack commits a batch to the store, unless the owner failed meanwhile: the store may
// be another session's by now.
func (o *owner) ack(base int64, n int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ctx.Err() != nil {
		return context.Cause(o.ctx)
	}
	return o.store.Ack(base, n)
}

// take removes the next batch from what waits: no more than the table takes in one batch,
// if not for one entry, and nothing from the first entry on whose rejection isn't taken. It
// is good until the next one.
func (o *owner) take() []entry {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, size := 0, 0
	for n < min(len(o.waiting), maxBatch) {
		if size += o.waiting[n].size; n > 0 && size > o.w.cfg.MaxBatchBytes || !o.waiting[n].free() {
			break
		}
		n++
	}
	o.taken = append(o.taken[:0], o.waiting[:n]...)
	rest := copy(o.waiting, o.waiting[n:])
	clear(o.waiting[rest:])
	o.waiting = o.waiting[:rest]
	for range n {
		<-o.slots
	}
	return o.taken
}

// init takes a producer epoch: a new one that fences every former owner, or the next
// one of our own, which fails when another owner has fenced us.
func (o *owner) init(ctx context.Context) error {
	id := transactionalID(o.w.cfg.Topic, o.partition)
	err := o.retry(ctx, func() error {
		client := o.w.cfg.Client
		broker, err := client.TransactionCoordinator(id)
		if err != nil {
			return err
		}
		resp, err := broker.InitProducerID(&sarama.InitProducerIDRequest{
			Version: 3, TransactionalID: &id, TransactionTimeout: time.Minute,
			ProducerID: o.pid, ProducerEpoch: o.epoch,
		})
		if err != nil {
			_ = broker.Close() // a broken connection; the next try opens another
		} else if resp.Err != sarama.ErrNoError {
			err = resp.Err
		}
		if err != nil {
			_ = client.RefreshTransactionCoordinator(id) // the next try reports what is wrong
			return err
		}
		o.pid, o.epoch, o.seq = resp.ProducerID, resp.ProducerEpoch, 0
		return nil
	})
	return kafka.Denied(err, "Write", kafka.OnTransactionalID(id, o.w.cfg.Topic+"-"))
}

// errHalve says that the table refuses a batch of several records for its size.
var errHalve = errors.New("the table takes less in one batch")

// produce appends the records as one batch and returns the offset of the first. A batch
// of several that the table refuses for its size is errHalve; one record waits until it
// is taken.
func (o *owner) produce(ctx context.Context, records []*sarama.Record) (base int64, err error) {
	again := false
	err = o.retry(ctx, func() error {
		base, err = o.tryProduce(records, again)
		again = true
		switch {
		case isTooLarge(err) && len(records) > 1:
			return errHalve
		case isTooLarge(err):
			o.w.cfg.Refused(ctx, o.partition)
		case err != nil:
			_ = o.w.cfg.Client.RefreshMetadata(o.w.cfg.Topic) // the next try reports what is wrong
		}
		return err
	})
	if err == nil {
		o.seq = produce.NextSequence(o.seq, len(records))
	}
	return base, kafka.Denied(clockError(err, o.w.cfg.Topic), "Write", kafka.OnTopic(o.w.cfg.Topic))
}

func (o *owner) tryProduce(records []*sarama.Record, again bool) (int64, error) {
	broker, err := o.w.cfg.Client.Leader(o.w.cfg.Topic, o.partition)
	if err != nil {
		return 0, err
	}
	return o.w.requests.produce(broker, o.partition, o.batch(records), sizeOf(records...), again)
}

func (o *owner) batch(records []*sarama.Record) *sarama.RecordBatch {
	now := time.Now().Truncate(time.Millisecond)
	for i, r := range records {
		r.OffsetDelta = int64(i)
	}
	return &sarama.RecordBatch{
		Version: 2, ProducerID: o.pid, ProducerEpoch: o.epoch, FirstSequence: o.seq,
		FirstTimestamp: now, MaxTimestamp: now, LastOffsetDelta: int32(len(records) - 1), Records: records,
	}
}

// retry calls f until it succeeds, gives a fatal error, or the context ends.
func (o *owner) retry(ctx context.Context, f func() error) error {
	for pause := backoff.New(20*time.Millisecond, time.Second); ; pause.Wait(ctx) {
		err := f()
		switch {
		case err == nil || isFatal(err):
			return err
		case ctx.Err() != nil:
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// isTooLarge tells whether a broker refuses a batch for its size.
func isTooLarge(err error) bool {
	return errors.Is(err, sarama.ErrMessageSizeTooLarge) || errors.Is(err, sarama.ErrMessageSetSizeTooLarge)
}

// isFatal tells whether a broker's answer ends the right to write: a newer owner, a
// lost sequence, a record that it will never take. All else heals, or is for a person
// to heal while the partition waits.
func isFatal(err error) bool {
	if errors.Is(err, errHalve) {
		return true
	}
	var code sarama.KError
	if !errors.As(err, &code) {
		return !kafka.CanHeal(err)
	}
	switch code {
	case sarama.ErrInvalidProducerEpoch, sarama.ErrProducerFenced, sarama.ErrOutOfOrderSequenceNumber,
		sarama.ErrUnknownProducerID, sarama.ErrDuplicateSequenceNumber, sarama.ErrInvalidProducerIDMapping,
		sarama.ErrInvalidRecord, sarama.ErrInvalidMessage, sarama.ErrInvalidTimestamp,
		sarama.ErrTopicAuthorizationFailed, sarama.ErrClusterAuthorizationFailed,
		sarama.ErrTransactionalIDAuthorizationFailed, sarama.ErrSASLAuthenticationFailed:
		return true
	}
	return false
}
