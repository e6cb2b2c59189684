package views

import "github.com/tieredlog/rlmm/internal/table"

// suspect keeps the partition from being ready since it was fenced for another metadata
// topic. What was read until then is right, and what follows may be too: see
// [table.ForeignFenceError].
func (p *partition) suspect(e *table.ForeignFenceError) {
	p.m.foreign.Add(1)
	p.log.Warn("the table was fenced for another metadata topic", "error", e)
	p.suspicion.Store(e)
	p.ready.hold(true)
}

// trust ends a suspicion: the partition is as ready as it was.
func (p *partition) trust() {
	if p.suspicion.Swap(nil) != nil {
		p.log.Info("the table is the fleet's again")
	}
	p.ready.hold(false)
}

// why is the worst of what went wrong, nil for nothing.
func (p *partition) why() error {
	suspicion, cause := p.suspicion.Load(), p.cause.Load()
	switch {
	case suspicion != nil && (cause == nil || severity(*cause) == heals):
		return suspicion
	case cause != nil:
		return *cause
	}
	return nil
}
