package processor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/kafka"
)

// errNoMember is the state of a processor between sessions.
var errNoMember = errors.New("not a member of the group, or not recovered yet")

// Status tells how each partition does that this member owns: what the table has
// answered, and how far that is behind the input.
func (p *Processor) Status() api.Status {
	p.mu.Lock()
	running, i, lastErr := p.running, p.instance, p.lastErr
	p.mu.Unlock()
	if running == nil || i == nil {
		return idle(lastErr)
	}
	s := api.Status{State: api.StateRunning}
	for _, number := range running {
		if st, ok := i.opened(number); ok {
			s.Partitions = append(s.Partitions, st.status(number))
		}
	}
	return s
}

func idle(err error) api.Status {
	s := api.Status{State: api.StateRecovering, Err: err}
	if err == nil {
		s.Err = errNoMember
	}
	if !kafka.CanHeal(s.Err) {
		s.State = api.StateFailed
	}
	return s
}

func (st *recovering) status(number int32) api.PartitionStatus {
	applied := st.Committed().Applied
	behind := st.lag.Status(applied, time.Now())
	return api.PartitionStatus{
		Freshness: api.Freshness{MetadataPartition: number, Applied: applied, Staleness: behind.Staleness},
		State:     api.StateRunning, Target: -1, End: behind.End, EndSeen: behind.Seen, Lag: behind.Lag,
	}
}

func (i *instance) opened(number int32) (*recovering, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	st, ok := i.stores[number]
	return st, ok
}

// look tells the partitions' trackers where the input ends.
func (i *instance) look(ctx context.Context) {
	i.mu.Lock()
	stores := maps.Clone(i.stores)
	i.mu.Unlock()
	at := time.Now()
	ends, err := i.cluster.EndOffsets(ctx, i.cfg.MetadataTopic, slices.Collect(maps.Keys(stores)))
	if err != nil && ctx.Err() == nil {
		i.log.Debug("looked at the ends in vain", "error", err)
	}
	for number, st := range stores {
		end, ok := ends[number]
		if !ok {
			st.lag.Failed()
			continue
		}
		applied := st.Committed().Applied
		st.lag.Looked(end, applied, at, func() (bool, error) {
			_, found, err := i.cluster.FirstData(ctx, i.cfg.MetadataTopic, number, applied+1, end)
			return found, err
		})
	}
}
