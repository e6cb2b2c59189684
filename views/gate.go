package views

import (
	"context"
	"sync"
	"sync/atomic"
)

// gate is shut or open, and tells those who wait when it opens.
type gate struct {
	open atomic.Bool

	mu     sync.Mutex
	opened chan struct{} // closed while the gate is open
}

func newGate() *gate { return &gate{opened: make(chan struct{})} }

func (g *gate) isOpen() bool { return g.open.Load() }

// whenOpen returns a channel that is closed once the gate is open.
func (g *gate) whenOpen() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open.Swap(open) == open {
		return
	}
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

// next returns a context that ends, with the error as its cause, when the alarm is rung.
func (a *alarm) next() context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx == nil {
		a.ctx, a.raise = context.WithCancelCause(context.Background())
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
