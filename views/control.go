package views

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/store"
)

var _ api.Controller = (*Manager)(nil)

// control starts and ends a partition's view.
type control struct {
	// steering is held by the one request that changes the partition, and guards endView
	// and viewEnded.
	steering  sync.Mutex
	paused    atomic.Bool
	endView   context.CancelFunc // ends the view that was started last
	viewEnded chan struct{}      // closed when it has ended
}

// start runs a view.
func (p *partition) start() {
	ctx, end := context.WithCancel(p.ctx)
	ended := make(chan struct{})
	p.endView, p.viewEnded = end, ended
	go func() {
		defer close(ended)
		defer end()
		p.run(ctx)
	}()
}

// halt ends the view and waits until nothing of it runs any more.
func (p *partition) halt() {
	p.endView()
	<-p.viewEnded
}

// awaitEnded waits until the view has ended, which the end of p.ctx brings about, and
// whoever started one meanwhile.
func (p *partition) awaitEnded() {
	p.steering.Lock()
	defer p.steering.Unlock()
	<-p.viewEnded
}

// steer changes an assigned partition; one request at a time.
func (m *Manager) steer(ctx context.Context, number int32, change func(*partition) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if number < 0 {
		return notAssigned(number)
	}
	p, ok := m.assigned(number)
	if !ok {
		return notAssigned(number)
	}
	if !p.steering.TryLock() {
		return &api.BusyError{MetadataPartition: number}
	}
	defer p.steering.Unlock()
	if p.ctx.Err() != nil {
		return p.gone()
	}
	return change(p)
}

// Pause implements [api.Controller].
func (m *Manager) Pause(ctx context.Context, number int32) error {
	return m.steer(ctx, number, func(p *partition) error {
		if p.paused.Swap(true) {
			return nil
		}
		// A mutation that begins now sees that it is paused; those before are told.
		p.lost.ring(&api.PausedError{MetadataPartition: number})
		p.halt()
		p.log.Info("paused", "applied", p.progress.appliedOffset())
		return nil
	})
}

// Resume implements [api.Controller].
func (m *Manager) Resume(ctx context.Context, number int32) error {
	return m.steer(ctx, number, func(p *partition) error {
		if p.paused.Swap(false) {
			p.log.Info("resumed", "applied", p.progress.appliedOffset())
			p.start()
		}
		return nil
	})
}

// Restart implements [api.Controller].
func (m *Manager) Restart(ctx context.Context, number int32) error {
	return m.again(ctx, number, (*partition).forget)
}

// Rebuild implements [api.Controller].
func (m *Manager) Rebuild(ctx context.Context, number int32) error {
	return m.again(ctx, number, (*partition).discard)
}

// again starts a view anew, also when what is to be done in between fails.
func (m *Manager) again(ctx context.Context, number int32, between func(*partition) error) error {
	return m.steer(ctx, number, func(p *partition) error {
		if p.paused.Load() {
			return &api.PausedError{MetadataPartition: number}
		}
		p.halt()
		defer p.start()
		m.requested.Add(1)
		return between(p)
	})
}

// forget drops what is in memory only, and what had failed.
func (p *partition) forget() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.indexes.clear()
	p.cause.Store(nil)
	p.log.Info("restarting", "applied", p.progress.appliedOffset())
	return nil
}

// discard moves the store aside. A store that can't be closed isn't needed any more.
func (p *partition) discard() error {
	p.ready.set(false)
	p.target.Store(unknownTarget)
	p.cause.Store(nil)
	p.trust() // all of the table is read again
	p.mu.Lock()
	defer p.mu.Unlock()
	p.indexes.clear()
	if p.store != nil {
		if err := p.store.Close(); err != nil {
			p.log.Warn("closing the store that is to be rebuilt", "error", err)
		}
		p.store = nil
	}
	if err := store.MoveAside(p.m.dir(p.number), store.ResetRequested); err != nil {
		return &api.IOError{Op: "rebuild the local store", Err: err}
	}
	p.progress.reset(-1)
	p.m.resets.Add(store.ResetRequested)
	p.log.Warn("local store moved aside, rebuilding it", "reason", string(store.ResetRequested))
	return nil
}
