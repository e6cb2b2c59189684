package views

import (
	"context"
	"errors"

	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

// leader tells where a metadata partition's records come from. As long as it stays the
// same, and a broker that is restarted isn't, nothing that was applied can be gone there.
type leader struct {
	epoch int32
	dials int64
}

// errRegrown ends a view of a table that lost its end and grew again.
var errRegrown = errors.New("the table isn't the one that was read: it lost its end and grew again, or compaction took the proof")

// goesOn returns an error when the record, the next one, is of another history of the table
// than what was read before. Only a new owner can begin one, so it is looked for when the
// writer changes; while recovering it was just looked for.
func (p *partition) goesOn(ctx context.Context, r table.Record) error {
	if r.Writer == 0 || r.Writer == p.writer {
		return nil
	}
	if p.following {
		reset, err := p.store.Position().Last.Compare(table.SumAt(ctx, p.m.cluster, p.m.cfg.table(), p.number))
		if err != nil {
			return err
		}
		if reset != store.ResetNone {
			p.ready.set(false)
			return errRegrown
		}
	}
	p.writer = r.Writer
	return nil
}

// askFirst looks the last record of an open store up now: reads must not wait while the
// broker is asked.
func (p *partition) askFirst(want *store.Expect) {
	p.mu.Lock()
	s := p.store
	p.mu.Unlock()
	if s == nil {
		return
	}
	last := s.Committed().Last
	if last.Sum == 0 || last.Offset >= want.TableEnd {
		return
	}
	ask := want.SumAt
	sum, fate, err := ask(last.Offset)
	want.SumAt = func(offset int64) (uint32, store.Fate, error) {
		if offset != last.Offset { // a write that failed is on disk all the same
			return ask(offset)
		}
		return sum, fate, err
	}
}

// forgetLeader has compareInput look again: it may have looked at what the store held before
// it was recovered.
func (p *partition) forgetLeader() { p.leader.Store(&leader{}) }

// compareInput returns an error when the metadata partition isn't the one any more whose
// records are applied. It looks at what is applied when the leader isn't the one from before.
func (p *partition) compareInput(ctx context.Context, now leader) error {
	before := p.leader.Load()
	if *before == now {
		return nil
	}
	p.mu.Lock()
	s := p.store
	p.mu.Unlock()
	if s == nil {
		return nil
	}
	if err := table.CheckInput(ctx, p.m.cluster, p.m.cfg.MetadataTopic, p.number, s.Position()); err != nil {
		return err
	}
	p.leader.CompareAndSwap(before, &now)
	return nil
}
