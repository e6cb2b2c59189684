package views

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/tieredlog/rlmm/codec"
)

// answer is what the table said to one input record.
type answer struct {
	outcome codec.Outcome
	key     string
	value   []byte // the row afterwards; nil is none
}

// progress is how far a partition's input is applied, for those who wait: for an
// offset, or for the answer to an event just published. They are told, never polled.
type progress struct {
	mu      sync.Mutex
	applied int64
	// flights are the publishes under way, by when they began, and inFlight counts them
	// by the row that they are about. Meanwhile the answers about those rows are kept: one
	// may come before its publish is acknowledged.
	flights   []*flight
	inFlight  map[string]int
	kept      []keptAnswer // by offset
	keptBytes int
	// missing is the greatest offset whose answer may have passed unseen, or not be kept any
	// more; those behind it were about other rows if they aren't kept.
	missing int64
	waiting map[int64][]chan *answer
	reached []reachWaiter
}

type keptAnswer struct {
	offset int64
	answer answer
}

// maxKeptBytes bounds what is kept: a publish on a connection that says nothing may be
// under way for minutes while others write the same row. The oldest goes first; whose
// answer is gone gets an unknown outcome.
const maxKeptBytes = 8 << 20

// size is about what it takes in memory.
func (k keptAnswer) size() int { return 64 + len(k.answer.key) + len(k.answer.value) }

type reachWaiter struct {
	offset int64
	done   chan struct{}
}

// flight is a publish under way.
type flight struct {
	key    string // of the row that it is about
	since  int64  // applied when it began: its own record lies behind
	landed bool
}

func newProgress(applied int64) *progress {
	return &progress{applied: applied, missing: applied, inFlight: map[string]int{}, waiting: map[int64][]chan *answer{}}
}

// appliedOffset is the greatest input offset that is applied; −1 is none.
func (p *progress) appliedOffset() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.applied
}

// takeOff begins a publish about the row of the key; land ends it.
func (p *progress) takeOff(key string) *flight {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &flight{key: key, since: p.applied}
	p.flights = append(p.flights, f)
	p.inFlight[key]++
	return f
}

// land ends a publish whose answer nobody waits for.
func (p *progress) land(f *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.landed(f)
}

func (p *progress) landed(f *flight) {
	f.landed = true
	if p.inFlight[f.key]--; p.inFlight[f.key] == 0 {
		delete(p.inFlight, f.key)
	}
	n := 0
	for n < len(p.flights) && p.flights[n].landed {
		n++
	}
	p.flights = slices.Delete(p.flights, 0, n)
	old := 0
	for old < len(p.kept) && (len(p.flights) == 0 || p.kept[old].offset <= p.flights[0].since) {
		old++
	}
	p.drop(old)
}

// keep keeps an answer that somebody in flight may be waiting for.
func (p *progress) keep(k keptAnswer) {
	if p.inFlight[k.answer.key] == 0 {
		return
	}
	k.answer.value = bytes.Clone(k.answer.value) // which is a piece of a whole fetch
	p.kept = append(p.kept, k)
	p.keptBytes += k.size()
	old := 0
	for left := p.keptBytes; left > maxKeptBytes; old++ {
		left -= p.kept[old].size()
		p.missing = max(p.missing, p.kept[old].offset)
	}
	p.drop(old)
}

// drop forgets the n oldest answers.
func (p *progress) drop(n int) {
	for _, k := range p.kept[:n] {
		p.keptBytes -= k.size()
	}
	if p.kept = slices.Delete(p.kept, 0, n); len(p.kept) == 0 {
		p.kept = nil
	}
}

// landAt ends a publish that was acknowledged at the offset and returns where its
// answer will come, once: nil when it was applied and nobody kept the answer. The answer
// to a record about another row may lack all that it says.
func (p *progress) landAt(f *flight, offset int64) chan *answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch := make(chan *answer, 1)
	switch a, kept := p.keptAt(offset); {
	case kept:
		ch <- a
	case offset > p.applied:
		p.waiting[offset] = append(p.waiting[offset], ch)
	case offset <= p.missing:
		ch <- nil
	default:
		ch <- &answer{} // about another row
	}
	p.landed(f)
	return ch
}

func (p *progress) keptAt(offset int64) (*answer, bool) {
	i, ok := slices.BinarySearchFunc(p.kept, offset, func(k keptAnswer, want int64) int {
		return int(min(1, max(-1, k.offset-want)))
	})
	if !ok {
		return nil, false
	}
	kept := p.kept[i].answer // a copy: the slice moves
	return &kept, true
}

// forget stops waiting for the answer to the record at the offset.
func (p *progress) forget(offset int64, ch chan *answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := slices.DeleteFunc(p.waiting[offset], func(c chan *answer) bool { return c == ch })
	if len(left) == 0 {
		delete(p.waiting, offset)
	} else {
		p.waiting[offset] = left
	}
}

// apply tells of an answer that reads show now.
func (p *progress) apply(offset int64, a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(keptAnswer{offset, a})
	for _, ch := range p.waiting[offset] {
		ch <- &a
	}
	delete(p.waiting, offset)
	if offset > p.applied+1 {
		p.passBy(offset - 1)
	}
	p.advance(offset)
}

// advanceTo tells that everything up to the offset is applied, without its answers:
// compaction took them.
func (p *progress) advanceTo(offset int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passBy(offset)
	p.advance(offset)
}

func (p *progress) advance(offset int64) {
	if offset <= p.applied {
		return
	}
	p.applied = offset
	p.reached = slices.DeleteFunc(p.reached, func(w reachWaiter) bool {
		if w.offset <= offset {
			close(w.done)
		}
		return w.offset <= offset
	})
}

// passBy tells those who wait for an answer up to the offset that it won't come.
func (p *progress) passBy(offset int64) {
	if offset > p.applied {
		p.missing = max(p.missing, offset)
	}
	for o, waiters := range p.waiting {
		if o <= offset {
			for _, ch := range waiters {
				ch <- nil
			}
			delete(p.waiting, o)
		}
	}
}

// reset begins anew with a store that was opened. One that is rebuilt goes through its
// answers again.
func (p *progress) reset(applied int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if applied < p.applied {
		p.drop(len(p.kept))
	}
	if applied != p.applied {
		p.missing = applied
	}
	p.applied = applied
}

// wait returns when the offset is applied or the context ends.
func (p *progress) wait(ctx context.Context, offset int64) error {
	p.mu.Lock()
	if offset <= p.applied {
		p.mu.Unlock()
		return nil
	}
	w := reachWaiter{offset, make(chan struct{})}
	p.reached = append(p.reached, w)
	p.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reached = slices.DeleteFunc(p.reached, func(x reachWaiter) bool { return x == w })
		return context.Cause(ctx)
	}
}
