package views

import (
	"context"
	"errors"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/lag"
)

// watchEvery is how often the topics are looked at: Kafka's clients go by names and
// read on in a topic that was deleted and created again, or that got more partitions.
// How stale the answers are is told from the same looks.
const watchEvery = 5 * time.Second

// watch looks at the topics until Shutdown.
func (m *Manager) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-tick.C:
			if err := guard(func() error { m.look(); return nil }); err != nil {
				m.lookErr.Store(&err)
			}
		}
	}
}

// look makes the partitions not ready when the metadata topic isn't the one any more
// that their state is made from, and tells them the ends of theirs.
func (m *Manager) look() {
	views := m.views.Load()
	input, now, err := m.topics(m.ctx)
	if err == nil {
		err = m.mayRead()
	}
	for _, p := range views.all {
		if p.compareTopic(m.ctx, input, now, err) == nil { // else it is kept by the partition, for those who ask
			p.allowed()
		}
	}
	at, applied := time.Now(), map[int32]int64{} // before the ends: under load they are passed meanwhile
	for number, p := range views.all {
		applied[number] = p.progress.appliedOffset()
	}
	ends, err := m.cluster.EndOffsets(m.ctx, m.cfg.MetadataTopic, views.numbers())
	err = errors.Join(err, m.checkPolicy(m.ctx))
	m.lookErr.Store(&err)
	for number, p := range views.all {
		if end, ok := ends[number]; ok {
			p.looked(m.ctx, applied[number], end, at)
		} else {
			p.lag.Failed()
		}
	}
}

// mayRead returns an error when the table, or the metadata topic, may not be read.
func (m *Manager) mayRead() error {
	return errors.Join(m.cluster.MayRead(m.ctx, m.cfg.MetadataTopic), m.cluster.MayRead(m.ctx, m.cfg.table()))
}

// checkPolicy returns a [kafka.MismatchError] when retention may take the table's head.
// Nobody becomes a manager then; who is one goes on, since a lost head is noticed where it
// is read.
func (m *Manager) checkPolicy(ctx context.Context) error {
	return m.cluster.CheckPolicy(ctx, m.cfg.table(), kafka.Compact)
}

// looked notes the end of the partition, for which was asked at the time, and what was
// applied then.
func (p *partition) looked(ctx context.Context, applied, end int64, at time.Time) {
	if applied >= end {
		p.lag.Failed() // another topic's
		return
	}
	p.lag.Looked(end, applied, at, func() (bool, error) {
		_, found, err := p.m.cluster.FirstData(ctx, p.m.cfg.MetadataTopic, p.number, applied+1, end)
		return found, err
	})
}

// Status tells how each assigned metadata partition does, by number.
func (m *Manager) Status() api.Status {
	views := m.views.Load()
	var s api.Status
	for _, p := range views.all {
		s.Partitions = append(s.Partitions, p.status())
	}
	s.State = api.WorstState(s.Partitions)
	return s
}

func (p *partition) status() api.PartitionStatus {
	s := api.PartitionStatus{State: api.StateRunning, Target: p.target.Load(), Err: p.why()}
	if looked := p.m.lookErr.Load(); s.Err == nil && looked != nil {
		s.Err = *looked
	}
	switch {
	case s.Err != nil && !kafka.CanHeal(s.Err):
		s.State = api.StateFailed
	case p.paused.Load():
		s.State = api.StatePaused
	case !p.ready.isOpen():
		s.State = api.StateRecovering
	}
	fresh, behind := p.freshness()
	s.Freshness, s.End, s.EndSeen, s.Lag = fresh, behind.End, behind.Seen, behind.Lag
	return s
}

func (p *partition) freshness() (api.Freshness, lag.Status) {
	applied := p.progress.appliedOffset()
	behind := p.lag.Status(applied, time.Now())
	return api.Freshness{MetadataPartition: p.number, Applied: applied, Staleness: behind.Staleness}, behind
}

var _ api.FreshnessReporter = (*Manager)(nil)

// Freshness implements [api.FreshnessReporter].
func (m *Manager) Freshness(tip api.TopicIdPartition) (api.Freshness, bool) {
	p, err := m.partitionFor(tip)
	if err != nil || !p.ready.isOpen() {
		return api.Freshness{}, false
	}
	fresh, _ := p.freshness()
	return fresh, true
}
