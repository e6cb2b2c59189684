package processor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
)

// Processor is a member of the fleet.
type Processor struct {
	cfg       Config
	stats     counters
	clusterID atomic.Value // string, once it is known

	mu       sync.Mutex
	running  []int32
	changed  chan struct{} // closed and replaced when running changes
	instance *instance     // that runs; nil between two
	lastErr  error         // what ended the last one
}

// New returns a processor that does nothing until Run. The error names every setting
// that can't be right.
func New(cfg Config) (*Processor, error) {
	cfg = cfg.Defaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Processor{cfg: cfg, changed: make(chan struct{})}, nil
}

// Run processes until the context ends, and then returns nil. It tries again, with
// pauses, after everything that may heal, and after a login that the brokers refuse, for
// what it is read from may be mended; it gives up, with an error that names the
// remedy, on what can't: missing rights, topics that don't fit, a metadata topic that
// was truncated or created again, a data folder that another process uses or that can't
// be written to. It can be run again after it returned.
func (p *Processor) Run(ctx context.Context) (err error) {
	unlock, err := p.lock(ctx)
	if unlock == nil && ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	pause, refused := newPause(), newLoginPause()
	for {
		err = p.runOnce(ctx)
		p.setRunning(nil)
		p.setInstance(nil, err)
		if ctx.Err() != nil {
			return nil
		}
		next := pause
		switch {
		case kafka.IsLoginRefused(err):
			next = refused
		case err != nil && !kafka.CanHeal(err):
			return err
		}
		p.cfg.Logger.Warn("processor ended, starting it again", "error", err)
		p.stats.processorsEnded.Add(1)
		next.Wait(ctx)
	}
}

// lock takes the data folder, again and again while what is wrong may heal: a disk that
// is full or mounted read-only.
func (p *Processor) lock(ctx context.Context) (unlock func() error, err error) {
	for pause := newPause(); ctx.Err() == nil; pause.Wait(ctx) {
		unlock, err := store.Lock(filepath.Join(p.cfg.DataDir, storesFolder))
		if err == nil || !kafka.CanHeal(err) {
			return unlock, err
		}
		p.cfg.Logger.Warn("data folder not to be had, trying again", "error", err)
	}
	return nil, context.Cause(ctx)
}

func (p *Processor) runOnce(ctx context.Context) error {
	i, err := newInstance(ctx, p)
	if err != nil {
		return err
	}
	p.clusterID.Store(i.cluster.ID())
	p.setInstance(i, nil)
	err = i.goka.Run(ctx)
	if fatal := i.fatal(nil); fatal != nil {
		err = fatal // goka wraps without unwrapping
	}
	return errors.Join(err, i.close())
}

// Running returns the metadata partitions that this member processes now, ascending,
// and whether it is a member at all: one may have no partitions.
func (p *Processor) Running() ([]int32, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.running), p.running != nil
}

// WaitRunning waits until the processor is a member of the group that processes, and
// returns its partitions.
func (p *Processor) WaitRunning(ctx context.Context) ([]int32, error) {
	for {
		p.mu.Lock()
		running, changed := slices.Clone(p.running), p.changed
		p.mu.Unlock()
		if running != nil {
			return running, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("not processing yet: %w", context.Cause(ctx))
		}
	}
}

// setRunning tells of a session's partitions, nil of its end.
func (p *Processor) setRunning(partitions []int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = nil
	if partitions != nil {
		p.running = slices.AppendSeq([]int32{}, slices.Values(partitions))
		slices.Sort(p.running)
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Processor) setInstance(i *instance, lastErr error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.instance, p.lastErr = i, lastErr
}
