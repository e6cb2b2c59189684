package views

import "github.com/tieredlog/rlmm/internal/table"

// suspect keeps the partition from being ready since it was fenced for another metadata
// topic. What was read until then is right, and what follows may be too: see
// [table.ForeignFenceError].
func (p *partition) suspect(e *table.ForeignFenceError) {
	p.m.foreign.Add(1)
	p.log.Warn("the table was fenced for another metadata topic", "error", e)
	p.suspicion.Store(e)
	p.holdReady()
}

// trust ends a suspicion: the partition is as ready as it was.
func (p *partition) trust() {
	if p.suspicion.Swap(nil) != nil {
		p.log.Info("the table is the fleet's again")
	}
	p.holdReady()
}

// doubtRow keeps the partition from being ready since somebody else wrote under a row's
// key, until the fleet has written the row again. A view that has followed the table
// without a gap had the row before, and goes on.
func (p *partition) doubtRow(key string, offset int64) error {
	if p.following && p.gapless {
		return nil
	}
	raised, err := p.doubts.Raise(p.store, key, p.number, p.m.partitions)
	if err != nil || !raised {
		return err
	}
	p.doubt.Store(&table.ForeignRecordError{Topic: p.m.cfg.table(), Partition: p.number, Offset: offset, Key: key})
	p.holdReady()
	return nil
}

// believeRow ends the doubt about a row that the fleet wrote.
func (p *partition) believeRow(key string) error {
	if !p.doubts.Any() {
		return nil
	}
	if err := p.doubts.Settle(p.store, key); err != nil || p.doubts.Any() {
		return err
	}
	p.doubt.Store(nil)
	p.holdReady()
	p.log.Info("the rows that others wrote to are the fleet's again")
	return nil
}

// forgetDoubts is for a store that fits: there are none about that.
func (p *partition) forgetDoubts() {
	p.doubts = table.Doubts{}
	p.doubt.Store(nil)
	p.holdReady()
}

func (p *partition) holdReady() {
	p.ready.hold(p.suspicion.Load() != nil || p.doubt.Load() != nil)
}

// why is the worst of what went wrong, nil for nothing.
func (p *partition) why() error {
	suspicion, doubt, cause := p.suspicion.Load(), p.doubt.Load(), p.cause.Load()
	healing := cause == nil || severity(*cause) == heals
	switch {
	case suspicion != nil && healing:
		return suspicion
	case doubt != nil && healing:
		return doubt
	case cause != nil:
		return *cause
	}
	return nil
}
