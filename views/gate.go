package views

import (
	"context"
	"sync"
	"sync/atomic"
)

// gate is shut or open, and tells those who wait when it opens. It is open when it is
// set so and not held.
type gate struct {
	// period counts the openings and shuttings: it is odd while the gate is open.
	period atomic.Uint64

	mu     sync.Mutex
	wanted bool // what it is set to
	held   bool
	opened chan struct{} // closed while the gate is open
}

func newGate() *gate { return &gate{opened: make(chan struct{})} }

func (g *gate) isOpen() bool { return g.period.Load()%2 == 1 }

// enter returns the present period, for a reader that looks at what the gate guards and
// asks afterwards whether it was within the period all the time.
func (g *gate) enter() (period uint64, open bool) {
	period = g.period.Load()
	return period, period%2 == 1
}

// within tells whether the gate hasn't moved since enter.
func (g *gate) within(period uint64) bool { return g.period.Load() == period }

// whenOpen returns a channel that is closed once the gate is open.
func (g *gate) whenOpen() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wanted = open
	g.move()
}

// hold keeps the gate shut, whatever it is set to, until it is held no more.
func (g *gate) hold(held bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = held
	g.move()
}

// isSet tells whether the gate is open, or would be if it weren't held.
func (g *gate) isSet() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.wanted
}

func (g *gate) move() {
	open := g.wanted && !g.held
	if g.isOpen() == open {
		return
	}
	g.period.Add(1)
	if open {
		close(g.opened)
	} else {
		g.opened = make(chan struct{})
	}
}

// alarm tells those who wait now of an error.
type alarm struct {
	mu    sync.Mutex
	ctx   context.Context
	raise context.CancelCauseFunc
}

// next returns a context that ends with the parent, which is the same each time, or, with the
// error as its cause, when the alarm is rung.
func (a *alarm) next(parent context.Context) context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx == nil {
		a.ctx, a.raise = context.WithCancelCause(parent)
	}
	return a.ctx
}

func (a *alarm) ring(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx != nil {
		a.raise(err)
		a.ctx = nil
	}
}
