package processor

import (
	"sync/atomic"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/store"
)

// EventKind is what an event does.
type EventKind struct {
	// Type is "segment" of an add, "segment_update" or "partition_delete".
	Type string
	// State is Kafka's name of the state that it carries.
	State string
}

// eventKinds are those of the events that can be applied.
var eventKinds = [...]EventKind{
	{"segment", api.CopySegmentStarted.String()},
	{"segment_update", api.CopySegmentFinished.String()},
	{"segment_update", api.DeleteSegmentStarted.String()},
	{"segment_update", api.DeleteSegmentFinished.String()},
	{"partition_delete", api.DeletePartitionMarked.String()},
	{"partition_delete", api.DeletePartitionStarted.String()},
	{"partition_delete", api.DeletePartitionFinished.String()},
}

// kindOf is the place among eventKinds of an event that was applied.
func kindOf(event api.RemoteLogMetadata) int {
	switch e := event.(type) {
	case api.RemoteLogSegmentMetadataUpdate:
		return int(e.State)
	case api.RemotePartitionDeleteMetadata:
		return int(api.DeleteSegmentFinished) + 1 + int(e.State)
	}
	return 0
}

// Stats is what a processor has counted since New, and what its stores take now.
type Stats struct {
	// Outcomes counts the input records by outcome.
	Outcomes map[codec.Outcome]int64
	// Applied counts the applied events by what they do.
	Applied map[EventKind]int64
	// Sessions counts the sessions of the group that began to process.
	Sessions int64
	// Restarts counts what was tried again, by reason: "session_failed" within a member of
	// the group, "processor_ended" with a new one.
	Restarts map[string]int64
	// Stale counts table records that weren't newer than what was applied: with one
	// writer there are none.
	Stale int64
	// Foreign counts table records that rlmm didn't write.
	Foreign int64
	// Gaps counts starts behind input records that were gone before they were applied.
	Gaps int64
	// Resets counts local stores that were moved aside, ResetReasons those of each reason.
	Resets       int64
	ResetReasons map[string]int64
	// StoreBytes and OpenFiles are what the stores of owned metadata partitions take.
	StoreBytes int64
	OpenFiles  int
}

type counters struct {
	outcomes                        [codec.OutcomePurge + 1]atomic.Int64
	applied                         [len(eventKinds)]atomic.Int64
	sessions, stale, foreign, gaps  atomic.Int64
	sessionsFailed, processorsEnded atomic.Int64
	resets                          store.ResetCounter
}

// Stats returns the counts.
func (p *Processor) Stats() Stats {
	c, usage := &p.stats, p.usage()
	s := Stats{
		Outcomes: map[codec.Outcome]int64{}, Applied: map[EventKind]int64{}, Sessions: c.sessions.Load(),
		Restarts: map[string]int64{"session_failed": c.sessionsFailed.Load(), "processor_ended": c.processorsEnded.Load()},
		Stale:    c.stale.Load(), Foreign: c.foreign.Load(), Gaps: c.gaps.Load(),
		ResetReasons: c.resets.Counts(), StoreBytes: usage.Bytes, OpenFiles: usage.OpenFiles,
	}
	for o := range c.outcomes {
		if n := c.outcomes[o].Load(); n > 0 {
			s.Outcomes[codec.Outcome(o)] = n
		}
	}
	for k := range c.applied {
		s.Applied[eventKinds[k]] = c.applied[k].Load()
	}
	for _, n := range s.ResetReasons {
		s.Resets += n
	}
	return s
}

func (i *instance) count(event api.RemoteLogMetadata, outcome codec.Outcome) {
	i.stats.outcomes[outcome].Add(1)
	if outcome == codec.OutcomeApplied {
		i.stats.applied[kindOf(event)].Add(1)
	}
}

// usage is what the stores of the instance that runs take.
func (p *Processor) usage() (all store.Usage) {
	p.mu.Lock()
	i := p.instance
	p.mu.Unlock()
	if i == nil {
		return all
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, st := range i.stores {
		all.Add(st.Usage())
	}
	return all
}

// ClusterID is Kafka's cluster id, empty while it isn't known.
func (p *Processor) ClusterID() string {
	id, _ := p.clusterID.Load().(string)
	return id
}
