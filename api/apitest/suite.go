package apitest

import (
	"testing"

	"github.com/tieredlog/rlmm/api"
)

// Config says what [Run] runs against.
type Config struct {
	// New returns a manager that is ready for every partition and allows mutations. It is
	// called for each test, and cleans up with [testing.T.Cleanup]. It may return the same
	// manager each time, with whatever it holds: every test takes a new random topic id and
	// looks at nothing else. While the suite runs nobody else may publish on that
	// manager's topic, since a test may find it not caught up then.
	New func(t *testing.T) api.RemoteLogMetadataManager
	// Bounded tells that HighestOffsetForEpoch gives Kafka's value
	// (highest.offset.bounds=epoch): bounded by the epoch within each segment, never going
	// down when segments are deleted. False is the contract's.
	Bounded bool
}

// Run tests the manager against the contract of package api: that a mutation is applied
// when it returns, what each query answers, and the typed errors with their details.
//
// Where the doc comments there leave room, these are the rules:
//
//   - A segment whose deletion is finished isn't known any more: an update of it is
//     ErrSegmentNotFound, and its id may be added again.
//   - After the deletion of a partition is finished, segments that it left can still be
//     updated, so that what cleans up can go on.
//   - An event that repeats a segment's state replaces broker, event time and, when it
//     carries some, custom metadata; it doesn't make the segment finished later.
//   - A leader epoch that is empty within a segment has no offset there, and the segment
//     isn't one for NextSegmentWithTxnIndex. To the bounded highest offset it counts with
//     the offset before its first.
//   - A mutation may leave the topic's name out where an event of the partition has given
//     it.
//
// What it doesn't test needs more than the contract: managers that aren't ready or
// assigned, shutdown, and failing stores.
func Run(t *testing.T, c Config) {
	t.Helper()
	for _, subject := range []struct {
		name  string
		rules []rule
	}{
		{"add", addRules},
		{"update", updateRules},
		{"custom metadata", customMetadataRules},
		{"partition delete", deleteRules},
		{"query", scriptRules(queryScripts)},
		{"unknown partition", unknownPartitionRules},
		{"argument", argumentRules},
		{"topic name", topicNameRules},
		{"result", resultRules},
		{"position", positionRules},
		{"concurrency", concurrencyRules},
		{"random events", randomRules()},
		{"scenario", scenarioRules(t)},
	} {
		t.Run(subject.name, func(t *testing.T) {
			for _, r := range subject.rules {
				t.Run(r.name, func(t *testing.T) { r.check(newTrial(t, c)) })
			}
		})
	}
}

// rule is a test whose name says what must hold.
type rule struct {
	name  string
	check func(t *trial)
}
