package views

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"
	"github.com/lovoo/goka/storage"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/backoff"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/lag"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

// unknownTarget is the target of a partition whose end offset isn't known yet.
const unknownTarget = -1

// partition is the view of one metadata partition: a goka view of that partition of
// the table, its store, and the indexes over it.
type partition struct {
	number   int32
	m        *Manager
	log      *slog.Logger
	progress *progress

	// ready and cause are what reads are gated by; target is the offset that must be
	// applied first.
	ready  *gate
	target atomic.Int64
	cause  atomic.Pointer[error]
	// suspicion is the last fence while that is of another metadata topic; it holds ready.
	suspicion atomic.Pointer[table.ForeignFenceError]
	// doubt is the last record that raised one of doubts, while there are any; it holds
	// ready too.
	doubt atomic.Pointer[table.ForeignRecordError]
	// lost rings when the partition can't go on: nobody answers who waits.
	lost alarm
	// lag is how far behind the metadata partition is known to be.
	lag *lag.Tracker
	// identity is what the store was made from.
	identity atomic.Pointer[store.Identity]
	// leader is that of the metadata partition when compareInput found what is applied there.
	leader atomic.Pointer[leader]
	// writer is the number of the owner whose record the view has read last. Only the view's
	// own goroutines use it, as following.
	writer uint32
	// following is whether the view is behind its recovery. Only the view's own
	// goroutines use it, one after the other.
	following bool
	// doubts are the rows that others wrote to; gapless is whether no offset of the table was
	// missing since recovery ended. They are used as following is.
	doubts   table.Doubts
	gapless  bool
	recovery recovery
	// reader is what the view reads the table with. It is used as following is.
	reader *singleConsumer

	ctx    context.Context // ends when the partition is no longer viewed
	cancel context.CancelFunc
	control

	// mu makes one step of a change to the store and to the index over it, and guards
	// the store's replacement.
	mu      sync.Mutex
	store   *store.Store // nil until it is opened
	closed  bool
	indexes indexes
}

func startPartition(m *Manager, number int32) *partition {
	ctx, cancel := context.WithCancel(m.ctx)
	p := &partition{
		number: number, m: m, ctx: ctx, log: m.cfg.Logger.With("metadataPartition", number),
		progress: newProgress(-1), ready: newGate(), lag: lag.New(time.Now(), 2*watchEvery), cancel: cancel,
	}
	p.indexes = newIndexes(p.ready, m.lookup)
	p.target.Store(unknownTarget)
	p.forgetLeader()
	p.start()
	return p
}

// run keeps a goka view running until the context ends.
func (p *partition) run(ctx context.Context) {
	for pause := newPause(); ; pause.Wait(ctx) {
		err := guard(func() error { return p.runOnce(ctx) })
		if ctx.Err() != nil {
			return
		}
		// A view that returns without cancellation has failed, also without an error.
		p.log.Warn("view ended, starting it again", "error", err)
		p.m.failed.Add(1)
		p.fail(err)
	}
}

func (p *partition) runOnce(ctx context.Context) error {
	end, err := p.openStore(ctx)
	if err != nil {
		return err
	}
	p.following, p.writer = false, 0
	p.beginRecovery()
	recovered := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.reader = &singleConsumer{Consumer: p.m.consumer, partition: p.number, applied: func() int64 { return p.store.Position().Table }}
	view, err := p.newView(ctx, end, recovered)
	if err != nil {
		return err
	}
	var readiness sync.WaitGroup
	readiness.Go(func() {
		if err := guard(func() error { p.becomeReady(ctx, recovered); return nil }); err != nil {
			p.fail(err)
			cancel() // it begins anew
		}
	})
	err = errors.Join(view.Run(ctx), p.reader.Close())
	cancel()
	readiness.Wait()
	return err
}

func (p *partition) newView(ctx context.Context, end int64, recovered chan struct{}) (*goka.View, error) {
	m := p.m
	atEnd := func() error {
		if err := p.sameTable(ctx); err != nil {
			return err
		}
		p.following, p.gapless = true, true
		close(recovered)
		return nil
	}
	build := func(string, int32) (storage.Storage, error) {
		return &viewStorage{p.store, end, sync.OnceValue(atEnd), p.keep}, nil
	}
	return goka.NewView(m.cfg.Kafka.Bootstrap, goka.Table(m.cfg.table()), nopCodec{},
		goka.WithViewTopicManagerBuilder(func([]string) (goka.TopicManager, error) {
			return singleTopicManager{kafka.TopicManager{Cluster: m.cluster}, p.number, p.begins}, nil
		}),
		goka.WithViewConsumerSaramaBuilder(func([]string, string) (sarama.Consumer, error) { return p.reader, nil }),
		goka.WithViewStorageBuilder(build),
		goka.WithViewCallback(func(u goka.UpdateContext, _ storage.Storage, key string, value []byte) error {
			return p.guarded(func() error { return p.update(ctx, u, key, value) })
		}),
		goka.WithViewLogger(kafka.GokaLogger{Logger: p.log}),
	)
}

// begins returns a [table.HeadError] when the table begins behind what the store lacks:
// goka would go on there. A beginning that moves later ends the read.
func (p *partition) begins(start int64) error {
	err := table.CheckHead(p.m.cfg.table(), p.number, start, p.store.Position().Table)
	p.fail(err) // goka wraps without unwrapping
	return err
}

// viewStorage is the store as goka's view gets it: the view doesn't own it, so that
// reads go on when the view has ended.
type viewStorage struct {
	*store.Store
	end   int64        // the table's, when the view was started
	atEnd func() error // is called when recovery has reached it
	keep  func(offset int64) error
}

// SetOffset is told of every record, also of those that apply didn't keep: others wrote
// them, or they are stale.
func (s *viewStorage) SetOffset(offset int64) error { return s.keep(offset) }

// MarkRecovered fails when the end isn't reached: goka's recovery can stop half way
// without an error.
func (s *viewStorage) MarkRecovered() error {
	if at := s.Position().Table; at < s.end-1 {
		return fmt.Errorf("recovery ended at table offset %d, before the end %d", at, s.end)
	}
	if err := s.Store.MarkRecovered(); err != nil {
		return err
	}
	return s.atEnd()
}

// Close flushes.
func (s *viewStorage) Close() error { return s.Flush() }

// nopCodec is for the view's own look-ups, which nobody uses.
type nopCodec struct{}

func (nopCodec) Encode(any) ([]byte, error)   { return nil, errors.ErrUnsupported }
func (nopCodec) Decode(b []byte) (any, error) { return b, nil }

// openStore opens the store, or checks the open one against the table as it is now. It
// returns the table's end.
func (p *partition) openStore(ctx context.Context) (end int64, err error) {
	want, err := p.m.expect(ctx, p.number)
	if err != nil {
		return 0, err
	}
	p.askFirst(&want)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, api.ErrClosed
	}
	var reset store.Reset
	if p.store == nil {
		p.store, reset, err = store.Open(p.m.dir(p.number), p.m.cfg.Store, want)
	} else if reset, err = p.store.Check(want); reset != store.ResetNone && err == nil {
		p.ready.set(false)
		p.indexes.clear()
		err = p.store.Close()
		p.store = nil // also when that failed: the next try opens it anew
		if err == nil {
			p.store, _, err = store.Open(p.m.dir(p.number), p.m.cfg.Store, want)
		}
	}
	if reset != store.ResetNone {
		p.trust() // all of the table is read again
		p.m.resets.Add(reset)
		p.log.Warn("local store moved aside, rebuilding it", "reason", string(reset))
	}
	if err == nil {
		p.forgetDoubts()
		p.identity.Store(&want.Identity)
		p.progress.reset(p.store.Position().Applied)
	}
	return want.TableEnd, err
}

// guarded is guard for what changes store and index: after a panic the index is built
// anew from the rows, and the store forgets what it was told without an offset when it is
// read into again.
func (p *partition) guarded(f func() error) error {
	panicked := true
	err := guard(func() error {
		err := f()
		panicked = false
		return err
	})
	if panicked {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.indexes.clear()
		p.fail(err) // goka wraps without unwrapping
	}
	return err
}

// update applies a table record.
func (p *partition) update(ctx context.Context, u goka.UpdateContext, key string, value []byte) error {
	p.gapless = p.gapless && u.Offset() == p.store.Position().Table+1
	if !p.following {
		p.recovery.Records++
	}
	r, err := table.Parse(key, value, u.Headers(), u.Timestamp())
	if err != nil {
		p.m.foreign.Add(1)
		p.log.Warn("foreign record in the table", "offset", u.Offset(), "error", err)
		return p.doubtRow(key, u.Offset())
	}
	err = p.belongs(ctx, r, u.Offset())
	if err == nil {
		err = p.goesOn(ctx, r)
	}
	if err != nil {
		p.fail(err) // goka wraps without unwrapping
		return err
	}
	applied, err := p.apply(r, u.Offset())
	if err != nil {
		return err
	}
	if r.Names() && r.MadeFrom(*p.identity.Load()) == *p.identity.Load() {
		p.trust()
	}
	if !applied {
		p.m.stale.Add(1)
		p.log.Warn("stale record in the table", "offset", u.Offset(), "source", r.Source)
		return p.doubtRow(key, u.Offset())
	}
	switch r.Kind {
	case table.Answer:
		p.progress.apply(r.Source, answer{r.Outcome, r.Key, r.Value})
	case table.Progress:
		p.progress.advanceTo(r.Source)
	}
	return p.believeRow(key)
}

// belongs returns an error for a row of a newer version, and for a record of a table that is made from another metadata
// topic, that lacks its beginning, or that isn't the one that the store is made from. A
// fence of another metadata topic only makes the partition suspect.
// Kafka's consumers go by names: when a table is deleted, created again and filled while
// they lose sight of it, they read on in the new one, and what lies below their offset
// there is missing. So where answers are missing the table's id is asked for.
func (p *partition) belongs(ctx context.Context, r table.Record, offset int64) error {
	want := *p.identity.Load()
	if err := r.CheckVersion(); err != nil {
		return err // an index that isn't built yet would not notice
	}
	if have := r.MadeFrom(want); r.Names() && have != want {
		if r.Kind == table.Progress {
			return &store.IdentityError{Have: have, Want: want}
		}
		p.suspect(&table.ForeignFenceError{Topic: p.m.cfg.table(), Partition: p.number, Offset: offset, Have: have, Want: want})
	}
	if err := table.CheckFenced(r, p.m.cfg.table(), p.number, offset); err != nil {
		return err
	}
	if !p.skips(r) {
		return nil
	}
	if p.following {
		if err := p.sameTable(ctx); err != nil {
			return err
		}
	}
	return p.overtaken()
}

// errOvertaken ends a view that was ready.
var errOvertaken = errors.New("the table lacks answers: compaction was faster than the view")

// overtaken makes the partition not ready, until it has caught up: where compaction took
// answers, the rows come to a state that never was, with what happened last to one
// segment and without what happened to another before.
func (p *partition) overtaken() error {
	if !p.ready.isSet() {
		return nil
	}
	p.ready.set(false)
	if p.following {
		return errOvertaken // nothing else would make it ready again
	}
	return nil
}

// skips tells whether there were input records that the table should have answered
// before this record, and didn't here.
func (p *partition) skips(r table.Record) bool {
	applied := p.progress.appliedOffset()
	return r.Kind == table.Answer && r.Source > applied+1 || r.Kind == table.Progress && r.Source > applied
}

// sameTable returns an error when the table isn't the one that the store is made from.
func (p *partition) sameTable(ctx context.Context) error {
	_, now, err := p.m.topics(ctx)
	if err == nil && now.TableTopicID != p.identity.Load().TableTopicID {
		err = errors.New("the table was deleted and created again")
	}
	return err
}

// apply changes the store and the index in one step. The store learns the offset now, not
// when goka tells it after the callback: an index that is built in between is made from
// what is on disk, and would lack the row for good.
func (p *partition) apply(r table.Record, offset int64) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.store.CheckNext(offset); err != nil {
		return false, err
	}
	change := r.Change()
	tracked, before := p.indexes.tracks(change.Key), []byte(nil)
	if tracked {
		var err error
		if before, err = p.store.Get(change.Key); err != nil {
			return false, err
		}
	}
	applied, err := table.Apply(p.store, r)
	if !applied || err != nil {
		return applied, err
	}
	if err := p.keep(offset); err != nil || !tracked {
		return true, err
	}
	if err := p.indexes.change(change, before); err != nil {
		p.indexes.clear() // each is built anew from the rows
		return true, err
	}
	return true, nil
}

// keep tells the store the offset. What waits there goes to disk together at the end that the
// newest fetch told, which is soon: a broker answers with what there is.
func (p *partition) keep(offset int64) error {
	err := p.store.SetOffset(offset)
	if err == nil && offset+1 >= p.reader.end() {
		err = p.store.Flush()
	}
	return err
}

// stop ends the view and closes the store. No read finds its indexes from the beginning on:
// nothing keeps them up to date.
func (p *partition) stop() error {
	p.dropIndexes()
	p.cancel()
	p.awaitEnded()
	return p.close()
}

func (p *partition) dropIndexes() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.indexes.clear()
}

func (p *partition) close() error {
	p.ready.set(false)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.indexes.clear()
	p.closed = true
	if p.store == nil {
		return nil
	}
	err := p.store.Close()
	p.store = nil
	return err
}

// flush writes what is applied to disk.
func (p *partition) flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.store == nil {
		return nil
	}
	return p.store.Flush()
}

// committed is the input offset that the store holds on disk.
func (p *partition) committed() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.store == nil {
		return store.Peek(p.m.dir(p.number)).Applied
	}
	return p.store.Committed().Applied
}

func (m *Manager) dir(number int32) string {
	return filepath.Join(m.cfg.DataDir, storesFolder, strconv.Itoa(int(number)))
}

// newPause is the pause between tries of one partition's.
func newPause() *backoff.Backoff { return backoff.New(50*time.Millisecond, 5*time.Second) }
