package doctor

import (
	"context"

	"github.com/tieredlog/rlmm/internal/kafka"
)

// SettingsChecks are the checks of the topics and their settings, which cost a few requests.
var SettingsChecks = []string{
	CheckTopic, CheckPartitions, CheckCleanup, CheckRetention, CheckReplication, CheckMinISR, CheckReplicas, CheckMessageBytes,
}

// Settings tells which of [SettingsChecks] find nothing, for those who look again and
// again. It changes nothing. That this client may not see them is an error; rejected events
// that it may not see are left out, for only processors need to.
func Settings(ctx context.Context, c *kafka.Cluster, w Want) (map[string]bool, error) {
	l := looker{cluster: c, want: w}
	for _, look := range []func(context.Context) error{l.brokers, l.topics, l.tiered} {
		if err := look(ctx); err != nil {
			return nil, err
		}
	}
	for _, err := range append(l.facts.Denied, l.facts.Metadata.Denied, l.facts.Table.Denied) {
		if err != nil {
			return nil, err
		}
	}
	ok := map[string]bool{}
	for _, check := range SettingsChecks {
		ok[check] = true
	}
	for _, f := range Judge(l.facts, w) {
		if _, judged := ok[f.Check]; judged {
			ok[f.Check] = false
		}
	}
	return ok, nil
}
