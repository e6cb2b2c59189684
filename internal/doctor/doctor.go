// Package doctor looks for what is wrong with what rlmm stands on: the cluster, its topics
// and their settings, the fleet, and this client's rights. [Look] asks the cluster and
// changes nothing; [Judge], which is pure, says what of the answers is wrong. On a healthy
// cluster it says nothing.
//
// What it can't see: whether this client may write with the table's transactional ids (a
// probe would disturb their owner), and the settings with which the brokers' own managers
// run, which brokers keep to themselves.
package doctor

import (
	"fmt"
	"time"
)

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	// Error is what stops rlmm, or loses metadata.
	Error Severity = "error"
	// Warning is what will hurt in a fault, or later.
	Warning Severity = "warning"
)

// Finding is one thing that is wrong.
type Finding struct {
	// Check is what was looked at: the name of one of the checks in [Checks].
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	// What says what is wrong, Remedy what to do about it.
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// The names of the checks.
const (
	CheckBroker        = "broker"
	CheckTieredStorage = "tiered_storage"
	CheckTopic         = "topic"
	CheckPartitions    = "partitions"
	CheckCleanup       = "cleanup_policy"
	CheckRetention     = "retention"
	CheckReplication   = "replication"
	CheckMinISR        = "min_isr"
	CheckReplicas      = "replicas"
	CheckMessageBytes  = "max_message_bytes"
	CheckFleet         = "fleet"
	CheckLag           = "lag"
	CheckIdentity      = "identity"
	CheckRejected      = "rejected"
	CheckRights        = "rights"
)

// Checks are all checks, and what each looks at.
var Checks = [...]struct{ Name, Text string }{
	{CheckBroker, "every broker answers, and is 2.8 or newer"},
	{CheckTieredStorage, "tiered storage is on at every broker"},
	{CheckTopic, "metadata topic, table and rejected events are there"},
	{CheckPartitions, "the metadata topic has as many partitions as configured, the table as many as it"},
	{CheckCleanup, "the metadata topic and the rejected events are deleted, the table compacted"},
	{CheckRetention, "the metadata outlives the data; the table keeps tombstones for a week"},
	{CheckReplication, "topics have as many replicas as configured, where there are so many brokers"},
	{CheckMinISR, "min.insync.replicas keeps acknowledged records, and lets one broker fail"},
	{CheckReplicas, "partitions have leaders, and replicas are in sync"},
	{CheckMessageBytes, "the table and the rejected events take what the metadata topic does"},
	{CheckFleet, "the group has members and isn't rebalancing"},
	{CheckLag, "the table answers what is on the metadata topic"},
	{CheckIdentity, "the table is made from this metadata topic"},
	{CheckRejected, "no event was rejected lately"},
	{CheckRights, "this client has the rights of processors, servers and writers"},
}

// Want is what is expected of the cluster.
type Want struct {
	// Topic is the metadata topic, Group the fleet's; the table is GROUP-table.
	Topic, Group string
	// Partitions is the count of metadata partitions that brokers are configured with; 0
	// when that isn't known.
	Partitions int32
	// Replication is the least replication factor, where there are so many brokers.
	Replication int
}

func finding(check string, severity Severity, remedy, format string, args ...any) []Finding {
	return []Finding{{check, severity, fmt.Sprintf(format, args...), remedy}}
}

// span is a duration as people say it.
func span(d time.Duration) string {
	if d < 0 {
		return "for ever"
	}
	if day := 24 * time.Hour; d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%d days", d/day)
	}
	return d.String()
}
