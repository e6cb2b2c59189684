package views

import (
	"sync/atomic"

	"github.com/tieredlog/rlmm/internal/store"
)

// Stats is what a manager has counted since NewManager, and what its stores take now.
type Stats struct {
	// Resets counts local stores that were moved aside, by reason.
	Resets map[string]int64
	// Restarts counts views of a metadata partition that were started again, by reason:
	// "failed", and "requested" for a Restart or a Rebuild.
	Restarts map[string]int64
	// Stale counts table records that weren't newer than what was applied: with one writer
	// there are none.
	Stale int64
	// Foreign counts table records that rlmm didn't write.
	Foreign int64
	// StoreBytes and OpenFiles are what the stores of assigned metadata partitions take.
	StoreBytes int64
	OpenFiles  int
}

type counters struct {
	resets                            store.ResetCounter
	foreign, stale, failed, requested atomic.Int64
}

// Stats returns the counts. It costs little.
func (m *Manager) Stats() Stats {
	var usage store.Usage
	for _, p := range m.views.Load().all {
		usage.Add(p.usage())
	}
	return Stats{
		Resets:   m.resets.Counts(),
		Restarts: map[string]int64{"failed": m.failed.Load(), "requested": m.requested.Load()},
		Stale:    m.stale.Load(), Foreign: m.foreign.Load(),
		StoreBytes: usage.Bytes, OpenFiles: usage.OpenFiles,
	}
}

func (p *partition) usage() store.Usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.store == nil {
		return store.Usage{}
	}
	return p.store.Usage()
}
