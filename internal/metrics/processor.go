package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tieredlog/rlmm/codec"
)

// Processor is a member of the fleet.
type Processor struct {
	Consumer
	Events func() Events
}

// Events are what a processor has counted.
type Events struct {
	// Applied are events that changed the state, or repeated a change.
	Applied []Applied
	// Outcomes counts all input records by outcome.
	Outcomes map[codec.Outcome]int64
	// Sessions are those of the group; Gaps are starts behind events that were gone.
	Sessions, Gaps int64
}

// Applied counts one kind of events.
type Applied struct {
	Type, State string
	Count       int64
}

var (
	eventsApplied = counter("rlmm_events_applied_total", "Events that were applied, by type and by the state that they carry.", "type", "state")
	eventsDropped = counter("rlmm_events_dropped_total", "Input records that were rejected, by reason; they are kept on the topic of rejected events.", "reason")
	rebalances    = counter("rlmm_rebalances_total", "Sessions of the group in which this member began to process.")
	gaps          = counter("rlmm_input_gaps_total", "Starts of a metadata partition behind events that were gone before they were applied.")
)

// dropped are the outcomes of rejected events, and their names, which HTTP has too.
var dropped = map[codec.Outcome]string{
	codec.OutcomeInvalidAdd:                       "invalid_add",
	codec.OutcomeSegmentNotFound:                  "segment_not_found",
	codec.OutcomeInvalidSegmentTransition:         "invalid_segment_transition",
	codec.OutcomeInvalidPartitionDeleteTransition: "invalid_partition_delete_transition",
	codec.OutcomeUndecodable:                      "undecodable",
	codec.OutcomeNullValue:                        "null_value",
	codec.OutcomeMisrouted:                        "misrouted",
	codec.OutcomeTooLarge:                         "too_large",
}

type processor struct {
	consumer
	events func() Events
}

// RegisterProcessor shows a processor.
func RegisterProcessor(reg prometheus.Registerer, p Processor, o Options) {
	RoleProcessor.wrap(reg).MustRegister(processor{newConsumer(p.Consumer, o), p.Events})
}

// Describe implements [prometheus.Collector].
func (p processor) Describe(to chan<- *prometheus.Desc) {
	p.consumer.Describe(to)
	describe(to, eventsApplied, eventsDropped, rebalances, gaps)
}

// Collect implements [prometheus.Collector].
func (p processor) Collect(to chan<- prometheus.Metric) {
	p.consumer.Collect(to)
	s, events := sink(to), p.events()
	for _, a := range events.Applied {
		s.put(eventsApplied, float64(a.Count), a.Type, a.State)
	}
	for outcome, reason := range dropped {
		s.put(eventsDropped, float64(events.Outcomes[outcome]), reason)
	}
	s.put(rebalances, float64(events.Sessions))
	s.put(gaps, float64(events.Gaps))
}
