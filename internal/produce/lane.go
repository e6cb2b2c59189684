package produce

import (
	"context"
	"math"
	"sync"

	"github.com/IBM/sarama"
)

// lane is the way to one partition: one batch is under way, the others wait. From the
// first event on until nothing waits one goroutine at a time has it: what sends, the
// requests, and what tries again.
type lane struct {
	p    *Producer
	call Call

	mu      sync.Mutex
	waiting []event
	busy    bool

	// Of the goroutine that has the lane.
	batch *batch // nil when none is made yet
	limit int    // of a batch
	id    identity
	seq   int32 // of the next batch
	lost  loss
}

// loss is what has to be replaced before the next batch is sent.
type loss int

const (
	nothing    loss = iota
	itsEpoch        // the sequences that the broker has aren't known
	itsWholeID      // the broker takes nothing from it
)

func newLane(p *Producer, partition int32) *lane {
	l := &lane{p: p, limit: p.cfg.MaxBatchBytes, id: p.identities.get()}
	l.call = Call{Partition: partition, Fill: l.fill, Done: l.answered}
	return l
}

func (l *lane) publish(e event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, e)
	if l.busy {
		return
	}
	l.busy = true
	l.p.busy.Add(1)
	go l.send() // may ask for the leader
}

// send puts the batch, or what waits, into one of the next requests.
func (l *lane) send() {
	err := context.Cause(l.p.ctx)
	if err == nil {
		err = l.replaceLost()
	}
	if err == nil {
		l.call.Broker, err = l.p.cfg.Client.Leader(l.p.cfg.Topic, l.call.Partition)
	}
	if err != nil {
		l.fill(math.MaxInt)
		l.answered(NoOffset, notSent(err))
		return
	}
	l.p.requests.Add(&l.call)
}

// replaceLost takes another identity when this one is of no more use.
func (l *lane) replaceLost() error {
	if l.lost == nothing {
		return nil
	}
	if err := l.p.identities.replace(l.id, l.lost == itsWholeID); err != nil {
		return err
	}
	l.lost = nothing
	if l.batch != nil {
		l.number()
	}
	return nil
}

// fill makes the batch of what waits, if it isn't made yet.
func (l *lane) fill(room int) (*sarama.RecordBatch, int) {
	if l.batch == nil {
		l.make(room)
	}
	if l.batch == nil || l.batch.size > room {
		return nil, 0
	}
	return l.batch.records, l.batch.size
}

func (l *lane) make(room int) {
	l.mu.Lock()
	n, size := fits(l.waiting, l.limit, room)
	events := l.waiting[:n:n]
	if l.waiting = l.waiting[n:]; len(l.waiting) == 0 {
		l.waiting = nil
	}
	l.mu.Unlock()
	if n > 0 {
		l.batch = newBatch(events, size)
		l.number()
	}
}

// number gives the batch the next sequences of the current identity.
func (l *lane) number() {
	if current := l.p.identities.get(); current != l.id {
		l.id, l.seq = current, 0
	}
	l.batch.stamp(l.id, l.seq)
}

// answered takes what became of a try. What waits goes into the very next request when
// that went well; all else takes its time.
func (l *lane) answered(base int64, err error) {
	b, a := l.batch, answerIn(err)
	if v := b.judge(a, b.tries >= l.p.cfg.Retries || l.p.ctx.Err() != nil); v != accepted {
		go l.settle(v, a, err)
		return
	}
	l.seq = NextSequence(l.seq, len(b.events))
	l.finish(base, nil)
	if l.more() {
		l.p.requests.Add(&l.call)
	}
}

// finish ends the batch; the next request doesn't wait for those whose events they are.
func (l *lane) finish(base int64, err error) {
	b := l.batch
	l.batch = nil
	l.p.busy.Go(func() { b.finish(base, err) })
}

// more tells whether events wait. If not, the lane is free.
func (l *lane) more() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy = l.batch != nil || len(l.waiting) > 0; !l.busy {
		l.p.busy.Done()
	}
	return l.busy
}

// settle goes on after a try that didn't go well.
func (l *lane) settle(v verdict, a answer, err error) {
	l.lose(a, v)
	switch v {
	case halve:
		l.halve()
	case failed:
		l.finish(NoOffset, l.batch.failure(err))
	default:
		l.p.pause(l.p.ctx)
		_ = l.p.cfg.Client.RefreshMetadata(l.p.cfg.Topic) // the next try reports what is wrong
	}
	if l.more() {
		l.send()
	}
}

// lose notes what is lost with the answer: the next sequence, when a broker may have the
// batch that has failed.
func (l *lane) lose(a answer, v verdict) {
	switch {
	case a == lostID:
		l.lost = itsWholeID
	case a == lostSequence, v == failed && l.batch.maybe:
		l.lost = max(l.lost, itsEpoch)
	}
}

// halve gives the batch up for smaller ones: the topic takes less in one than it did when
// the producer was made.
func (l *lane) halve() {
	l.limit = l.batch.size / 2
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.batch.events, l.waiting...)
	l.batch = nil
}
