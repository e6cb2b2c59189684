package views

import (
	"context"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/lag"
	"github.com/tieredlog/rlmm/internal/store"
)

// becomeReady makes the partition ready once everything is applied that was on the
// metadata topic when this began. recovered is closed when the view has reached the
// table's end.
func (p *partition) becomeReady(ctx context.Context, recovered <-chan struct{}) {
	end, err := p.readEnd(ctx)
	if err != nil {
		return // the context ended
	}
	p.target.Store(end - 1)
	select {
	case <-recovered:
	case <-ctx.Done():
		return
	}
	p.forgetLeader()
	for pause := newPause(); ctx.Err() == nil; pause.Wait(ctx) {
		applied, err := p.awaitEnd(ctx, end)
		if err == nil && applied {
			p.cause.Store(nil)
			p.becameReady()
			p.log.Debug("ready", "applied", p.progress.appliedOffset(), "end", end)
			return
		}
		p.fail(err)
	}
}

// readEnd reads the end offset of the metadata partition, until it can be had.
func (p *partition) readEnd(ctx context.Context) (int64, error) {
	for pause := newPause(); ; pause.Wait(ctx) {
		end, err := p.end(ctx)
		if err == nil || ctx.Err() != nil {
			return end, err
		}
		p.log.Warn("end offset not to be had, trying again", "error", err)
		p.fail(err)
	}
}

// end reads the end offset of the metadata partition now. An end below what is applied
// is of another topic, or of one that was truncated.
func (p *partition) end(ctx context.Context) (int64, error) {
	at, applied := time.Now(), p.progress.appliedOffset() // before the end: it may pass it meanwhile
	end, err := p.m.cluster.EndOffset(ctx, p.m.cfg.MetadataTopic, p.number)
	if err != nil {
		return 0, err
	}
	if applied >= end {
		return 0, p.truncated(applied, end)
	}
	p.lag.Saw(lag.Look{End: end, Need: end - 1, At: at})
	return end, nil
}

// truncated makes the partition not ready for good: the topic isn't the one that the
// state was made from.
func (p *partition) truncated(applied, end int64) error {
	err := &kafka.TruncatedError{Topic: p.m.cfg.MetadataTopic, Partition: p.number, Applied: applied, End: end}
	p.fail(err)
	return err
}

// awaitEnd waits until everything below end is applied. Offsets that hold no data
// record (control records, a tail that retention or compaction took) can't be waited
// for: a look at the topic tells them from those that the fleet still has to apply.
func (p *partition) awaitEnd(ctx context.Context, end int64) (bool, error) {
	for {
		next, found, err := p.unapplied(ctx, end)
		if err != nil || !found {
			return err == nil, err
		}
		if err := p.progress.wait(ctx, next); err != nil {
			return false, err
		}
	}
}

// unapplied returns the first data record below end that isn't applied.
func (p *partition) unapplied(ctx context.Context, end int64) (int64, bool, error) {
	applied := p.progress.appliedOffset()
	if applied >= end-1 {
		return 0, false, p.sameTopic(ctx)
	}
	next, found, err := p.m.cluster.FirstData(ctx, p.m.cfg.MetadataTopic, p.number, applied+1, end)
	if err == nil {
		err = p.sameTopic(ctx)
	}
	return next, found, err
}

// sameTopic makes the partition not ready for good when the metadata topic isn't the
// one that the state was made from: what lies behind the applied offset there is
// nothing to wait for.
func (p *partition) sameTopic(ctx context.Context) error {
	input, now, err := p.m.topics(ctx)
	return p.compareTopic(ctx, input, now, err)
}

// compareTopic is sameTopic with what was asked for already.
func (p *partition) compareTopic(ctx context.Context, input kafka.Topic, now store.Identity, err error) error {
	have := p.identity.Load()
	if err == nil && have != nil && now.MetadataTopicID != have.MetadataTopicID {
		err = &store.IdentityError{Have: *have, Want: now}
	}
	if err == nil {
		err = p.compareInput(ctx, leader{input.LeaderEpoch(p.number), p.m.cluster.Dials()})
	}
	if err != nil && !kafka.CanHeal(err) {
		p.fail(err)
	}
	return err
}

// fail keeps what went wrong for those who ask, the worst of it. A partition that was
// ready goes on answering, as old as it is, unless what it holds is of another topic.
func (p *partition) fail(err error) {
	if err == nil {
		return
	}
	old := p.cause.Load()
	if old != nil && severity(*old) > severity(err) {
		return
	}
	p.cause.Store(&err)
	if severity(err) == isWrong {
		p.ready.set(false)
		p.lost.ring(err)
	}
}

// What an error means for the answers of a partition.
const (
	heals    = iota
	isDenied // they grow old until the right is granted
	isWrong  // they are of another topic, or can't be read
)

func severity(err error) int {
	switch {
	case kafka.CanHeal(err):
		return heals
	case kafka.IsDenied(err):
		return isDenied
	}
	return isWrong
}

// allowed forgets a denial once all is allowed again.
func (p *partition) allowed() {
	if cause := p.cause.Load(); cause != nil && severity(*cause) == isDenied && p.ready.isOpen() {
		p.cause.CompareAndSwap(cause, nil)
	}
}

// notReady says how far the partition is and what keeps it, or that it isn't assigned
// any more.
func (p *partition) notReady() error {
	if now, _ := p.m.assigned(p.number); now != p {
		return notAssigned(p.number)
	}
	e := &api.NotReadyError{
		MetadataPartition: p.number, Assigned: true,
		Applied: p.progress.appliedOffset(), Target: p.target.Load(),
	}
	if e.Err = p.why(); e.Err == nil && p.paused.Load() {
		e.Err = &api.PausedError{MetadataPartition: p.number}
	}
	return e
}

// caughtUp reads the end offset now and tells whether everything below it is applied.
func (p *partition) caughtUp(ctx context.Context) (bool, error) {
	if !p.ready.isOpen() {
		return false, p.notReady()
	}
	end, err := p.end(ctx)
	if err != nil {
		return false, p.topicError(err)
	}
	_, found, err := p.unapplied(ctx, end)
	if err != nil {
		return false, p.topicError(err)
	}
	return !found, nil
}

// topicError is a failed read of the metadata topic; when it shows that the topic is
// another one the partition isn't ready any more.
func (p *partition) topicError(err error) error {
	if !p.ready.isOpen() {
		return p.notReady()
	}
	return &api.IOError{Op: "read the end of the metadata topic", Err: err}
}
