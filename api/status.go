package api

import (
	"slices"
	"time"
)

// State is how a consumer of metadata partitions does, in Kafka Connect's words.
type State string

// The states.
const (
	// StateRunning answers, or processes.
	StateRunning State = "RUNNING"
	// StateRecovering catches up, or tries again what may heal by itself.
	StateRecovering State = "RECOVERING"
	// StatePaused applies nothing since a person said so; see [Controller].
	StatePaused State = "PAUSED"
	// StateFailed needs a person: what is wrong doesn't heal by itself.
	StateFailed State = "FAILED"
)

// Freshness is how old what is known of a metadata partition is.
type Freshness struct {
	MetadataPartition int32
	// Applied is the greatest offset of the metadata partition that is applied; −1 is
	// none.
	Applied int64
	// Staleness is how long ago it was last known that everything on the metadata
	// partition was applied; 0 when the last look at its end shows it. It grows while the
	// fleet is down and while Kafka can't be reached. A consumer that was never there
	// counts from its start.
	Staleness time.Duration
}

// PartitionStatus is how a consumer does on one metadata partition.
type PartitionStatus struct {
	Freshness
	State State
	// Target is the offset that must be applied before reads are answered; −1 when it
	// isn't known yet, or nobody reads there.
	Target int64
	// End is the metadata partition's end offset as last seen, −1 before; EndSeen is when.
	End     int64
	EndSeen time.Time
	// Lag is End − 1 − Applied, by offsets: what carries no data counts too.
	Lag int64
	// Err is what is wrong, nil when nothing is.
	Err error
}

// Status is how a consumer of metadata partitions does.
type Status struct {
	State State
	// Err is what is wrong with the whole, nil when nothing is.
	Err error
	// Partitions are by number.
	Partitions []PartitionStatus
}

// fromBest are the states, the worst last.
var fromBest = []State{StateRunning, StatePaused, StateRecovering, StateFailed}

// WorstState is the state of a whole whose parts have these: the worst, in the order
// RUNNING, PAUSED, RECOVERING, FAILED.
func WorstState(parts []PartitionStatus) State {
	worst := 0
	for _, p := range parts {
		worst = max(worst, slices.Index(fromBest, p.State))
	}
	return fromBest[worst]
}

// FreshnessReporter is a manager that tells how old its answers are.
type FreshnessReporter interface {
	// Freshness is that of answers about the partition that are given from now on; false
	// when this manager gives none. It costs next to nothing.
	Freshness(tip TopicIdPartition) (Freshness, bool)
}
