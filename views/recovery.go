package views

import (
	"time"

	"github.com/tieredlog/rlmm/internal/store"
)

// Recovery is how a metadata partition became ready.
type Recovery = store.Recovery

// recovery is one that is under way. Only the view's own goroutines use it, one after the
// other.
type recovery struct {
	since time.Time
	store.Recovery
}

func (p *partition) beginRecovery() {
	p.recovery = recovery{since: time.Now(), Recovery: Recovery{
		MetadataPartition: p.number, FromStore: p.store.Position().Table >= 0,
	}}
}

// becameReady tells of the recovery, unless reads were answered all the time.
func (p *partition) becameReady() {
	wasReady := p.ready.isOpen()
	p.ready.set(true)
	if wasReady || p.m.cfg.Recovered == nil {
		return
	}
	p.recovery.Duration = time.Since(p.recovery.since)
	p.m.cfg.Recovered(p.recovery.Recovery)
}
