package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// MoveLeader makes the broker the leader of a partition that it has a replica of: it is
// put first among the replicas and elected. The order of the others stays. A broker that isn't in
// sync is only preferred from then on; the leader stays.
func MoveLeader(tb testing.TB, bootstrap []string, topic string, partition, broker int32) {
	tb.Helper()
	withClient(tb, bootstrap, func(ctx context.Context, client *kgo.Client) error {
		admin := kadm.NewClient(client)
		if err := prefer(ctx, admin, topic, partition, broker); err != nil {
			return fmt.Errorf("prefer broker %d for %s/%d: %w", broker, topic, partition, err)
		}
		var set kadm.TopicsSet
		set.Add(topic, partition)
		results, err := admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, set)
		if err == nil {
			err = results[topic][partition].Err
		}
		if err != nil && !errors.Is(err, kerr.ElectionNotNeeded) && !errors.Is(err, kerr.PreferredLeaderNotAvailable) {
			return fmt.Errorf("elect the leader of %s/%d: %w", topic, partition, err)
		}
		return nil
	})
}

func prefer(ctx context.Context, admin *kadm.Client, topic string, partition, broker int32) error {
	topics, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return err
	}
	replicas := []int32{broker}
	for _, r := range topics[topic].Partitions[partition].Replicas {
		if r != broker {
			replicas = append(replicas, r)
		}
	}
	var assign kadm.AlterPartitionAssignmentsReq
	assign.Assign(topic, partition, replicas)
	assigned, err := admin.AlterPartitionAssignments(ctx, assign)
	if err != nil {
		return err
	}
	return assigned.Error()
}
