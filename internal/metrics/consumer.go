package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
)

// Role is what consumes metadata partitions.
type Role string

// The roles.
const (
	RoleProcessor Role = "processor"
	RoleView      Role = "view"
)

func (r Role) wrap(reg prometheus.Registerer) prometheus.Registerer {
	return prometheus.WrapRegistererWith(prometheus.Labels{"role": string(r)}, reg)
}

// Options choose what is shown.
type Options struct {
	// Partitions shows metadata partitions one by one, under the label partition.
	Partitions bool
}

// Consumer is what a processor and a manager of views tell alike. Counts by reason have
// every reason from the start.
type Consumer struct {
	// Ready returns nil when /readyz does.
	Ready  func() error
	Status func() api.Status
	Counts func() Counts
}

// Counts are since the start of the process, but for the store's, which are of now.
type Counts struct {
	Resets, Restarts map[string]int64
	Stale, Foreign   int64
	StoreBytes       int64
	OpenFiles        int
}

var (
	ready      = gauge("rlmm_ready", "Whether the consumer is ready (1) or not (0): a view when it answers for every metadata partition that it is assigned, a processor when it is a member of the group and processes.")
	initState  = gauge("rlmm_init_state", "The state of the consumer: 1 for the one that it is in, 0 for the others.", "state")
	byState    = gauge("rlmm_metadata_partitions", "Metadata partitions that the consumer has, by state.", "state")
	failedBy   = gauge("rlmm_metadata_partitions_failed", "Metadata partitions that have failed and don't heal by themselves, by reason.", "reason")
	resets     = counter("rlmm_state_resets_total", "Local stores that were moved aside and built anew, by reason.", "reason")
	restarts   = counter("rlmm_consumer_restarts_total", "Starts of what had ended, by reason.", "reason")
	stale      = counter("rlmm_table_stale_records_total", "Table records that answered what was answered before; with one writer for each partition there are none.")
	foreign    = counter("rlmm_table_foreign_records_total", "Table records that no processor of this metadata topic wrote.")
	storeBytes = gauge("rlmm_store_bytes", "Size of the local stores' table files in bytes.")
	openFiles  = gauge("rlmm_store_open_files", "Table files of the local stores that are open.")
)

// perPartition are the metrics of single metadata partitions, where they are asked for.
var (
	partitionReady   = gauge("rlmm_metadata_partition_ready", "Whether the metadata partition is up to date enough to be used (1) or not (0).", "partition")
	partitionApplied = gauge("rlmm_metadata_partition_applied_offset", "Greatest offset of the metadata partition that is applied; -1 is none.", "partition")
	partitionEnd     = gauge("rlmm_metadata_partition_end_offset", "End offset of the metadata partition as last seen; -1 before it was.", "partition")
)

// states are those of a consumer, in the order of severity.
var states = []api.State{api.StateRunning, api.StatePaused, api.StateRecovering, api.StateFailed}

// The reasons for which a metadata partition has failed.
const (
	endBeforeApplied = "end_before_applied"
	topicRecreated   = "topic_recreated"
	denied           = "denied"
	otherReason      = "other"
)

var failures = []string{endBeforeApplied, topicRecreated, denied, otherReason}

// consumer collects what is common to both roles.
type consumer struct {
	Consumer
	Options
	lag, staleness metric
}

func newConsumer(c Consumer, o Options) consumer {
	var by []string
	if o.Partitions {
		by = []string{"partition"}
	}
	return consumer{
		Consumer: c, Options: o,
		lag:       gauge("rlmm_metadata_lag_records", "Offsets between what is applied and the end of the metadata partitions as last seen, in all.", by...),
		staleness: gauge("rlmm_metadata_staleness_seconds", "How long ago it was last known that everything on a metadata partition was applied, in seconds: of the stalest one; 0 when the last look shows it.", by...),
	}
}

// Describe implements [prometheus.Collector].
func (c consumer) Describe(to chan<- *prometheus.Desc) {
	describe(to, ready, initState, byState, failedBy, resets, restarts, stale, foreign, storeBytes, openFiles, c.lag, c.staleness)
	if c.Partitions {
		describe(to, partitionReady, partitionApplied, partitionEnd)
	}
}

// Collect implements [prometheus.Collector].
func (c consumer) Collect(to chan<- prometheus.Metric) {
	s, status := sink(to), c.Status()
	s.put(ready, oneIf(c.Ready() == nil))
	for _, state := range states {
		s.put(initState, oneIf(status.State == state), string(state))
	}
	c.collectPartitions(s, status.Partitions)
	n := c.Counts()
	s.putAll(resets, n.Resets)
	s.putAll(restarts, n.Restarts)
	s.put(stale, float64(n.Stale))
	s.put(foreign, float64(n.Foreign))
	s.put(storeBytes, float64(n.StoreBytes))
	s.put(openFiles, float64(n.OpenFiles))
}

func (c consumer) collectPartitions(s sink, partitions []api.PartitionStatus) {
	inState, failed := map[string]int64{}, map[string]int64{}
	for _, state := range states {
		inState[string(state)] = 0
	}
	for _, reason := range failures {
		failed[reason] = 0
	}
	for _, p := range partitions {
		inState[string(p.State)]++
		if p.State == api.StateFailed {
			failed[failure(p.Err)]++
		}
	}
	s.putAll(byState, inState)
	s.putAll(failedBy, failed)
	if c.Partitions {
		c.collectEach(s, partitions)
		return
	}
	var lag, staleness float64
	for _, p := range partitions {
		lag += float64(p.Lag)
		staleness = max(staleness, p.Staleness.Seconds())
	}
	s.put(c.lag, lag)
	s.put(c.staleness, staleness)
}

func (c consumer) collectEach(s sink, partitions []api.PartitionStatus) {
	for _, p := range partitions {
		number := strconv.Itoa(int(p.MetadataPartition))
		s.put(partitionReady, oneIf(p.State == api.StateRunning), number)
		s.put(partitionApplied, float64(p.Applied), number)
		s.put(partitionEnd, float64(p.End), number)
		s.put(c.lag, float64(p.Lag), number)
		s.put(c.staleness, p.Staleness.Seconds(), number)
	}
}

// failure is the reason for which a metadata partition has failed.
func failure(err error) string {
	switch {
	case is[*kafka.TruncatedError](err):
		return endBeforeApplied
	case is[*store.IdentityError](err):
		return topicRecreated
	case kafka.IsDenied(err):
		return denied
	}
	return otherReason
}
