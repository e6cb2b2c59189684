package kafkatest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// MetadataTopic is the topic of Kafka's manager, which knows no other name.
	MetadataTopic = "__remote_log_metadata"
	// topicTimeout bounds each of the helpers for topics.
	topicTimeout  = time.Minute
	deleteTimeout = 5 * time.Second
	// leaderRetry is how often a new topic is asked for its leaders.
	leaderRetry = 20 * time.Millisecond
)

// CreateMetadataTopic creates a topic with the settings that Kafka's manager gives to
// its own (delete, unlimited retention) and the brokers' default replication factor, and
// returns when every partition has a leader that answers. A topic that exists fails the
// test. It is deleted when the test ends.
func CreateMetadataTopic(tb testing.TB, bootstrap []string, topic string, partitions int32) {
	tb.Helper()
	withClient(tb, bootstrap, func(ctx context.Context, client *kgo.Client) error {
		admin := kadm.NewClient(client)
		policy, retention := "delete", "-1"
		configs := map[string]*string{"cleanup.policy": &policy, "retention.ms": &retention}
		if _, err := admin.CreateTopic(ctx, partitions, -1, configs, topic); err != nil {
			return fmt.Errorf("create topic %s: %w", topic, err)
		}
		tb.Cleanup(func() { deleteTopic(tb, bootstrap, topic) })
		return awaitLeaders(ctx, admin, topic, int(partitions))
	})
}

// awaitLeaders asks until each leader tells the end of its partition: a topic that was
// just created is known before all of its leaders are.
func awaitLeaders(ctx context.Context, admin *kadm.Client, topic string, partitions int) error {
	tick := time.NewTicker(leaderRetry)
	defer tick.Stop()
	for {
		ends, err := admin.ListEndOffsets(ctx, topic)
		if err == nil && ends.Error() == nil && len(ends[topic]) == partitions {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("leaders of topic %s: %w", topic, ctx.Err())
		case <-tick.C:
		}
	}
}

// AlterTopic sets one of a topic's settings, such as min.insync.replicas.
func AlterTopic(tb testing.TB, bootstrap []string, topic, setting, value string) {
	tb.Helper()
	withClient(tb, bootstrap, func(ctx context.Context, client *kgo.Client) error {
		set := kadm.AlterConfig{Op: kadm.SetConfig, Name: setting, Value: &value}
		altered, err := kadm.NewClient(client).AlterTopicConfigs(ctx, []kadm.AlterConfig{set}, topic)
		if err == nil {
			err = altered[0].Err
		}
		if err != nil {
			return fmt.Errorf("set %s of topic %s: %w", setting, topic, err)
		}
		return nil
	})
}

// Load publishes the events, each to its own partition with its own key (null when nil)
// and in their order. Offsets are given anew and timestamps are of now.
func Load(tb testing.TB, bootstrap []string, topic string, events []Event) {
	tb.Helper()
	records := make([]*kgo.Record, len(events))
	for i, e := range events {
		records[i] = &kgo.Record{Topic: topic, Partition: e.Partition, Key: e.Key, Value: e.Value}
	}
	withClient(tb, bootstrap, func(ctx context.Context, client *kgo.Client) error {
		return client.ProduceSync(ctx, records...).FirstErr()
	}, kgo.RecordPartitioner(kgo.ManualPartitioner()))
}

// ReadTopic returns the events on the topic now, by partition and offset.
func ReadTopic(tb testing.TB, bootstrap []string, topic string) []Event {
	tb.Helper()
	var events []Event
	withClient(tb, bootstrap, func(ctx context.Context, client *kgo.Client) error {
		ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
		if err != nil {
			return err
		}
		if err := ends.Error(); err != nil {
			return err
		}
		events, err = consume(ctx, client, ends)
		return err
	}, kgo.KeepControlRecords())
	sortEvents(events)
	return events
}

// consume reads every partition from its start to its end.
func consume(ctx context.Context, client *kgo.Client, ends kadm.ListedOffsets) ([]Event, error) {
	left := map[int32]int64{} // the ends that aren't reached yet
	ends.Each(func(end kadm.ListedOffset) {
		if end.Offset > 0 {
			left[end.Partition] = end.Offset
			client.AddConsumePartitions(map[string]map[int32]kgo.Offset{
				end.Topic: {end.Partition: kgo.NewOffset().AtStart()},
			})
		}
	})
	var events []Event
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if end, ok := left[r.Partition]; ok && r.Offset >= end-1 {
				delete(left, r.Partition)
			}
			if !r.Attrs.IsControl() {
				events = append(events, eventOf(r))
			}
		})
	}
	return events, nil
}

func eventOf(r *kgo.Record) Event {
	return Event{
		Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(),
		Key: r.Key, Value: r.Value,
	}
}

func sortEvents(events []Event) {
	slices.SortFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
}

// deleteTopic leaves the brokers as they were. They may be gone by now, which is no
// failure of the test.
func deleteTopic(tb testing.TB, bootstrap []string, topic string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deleteTimeout)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...))
	if err != nil {
		tb.Logf("delete topic %s: %v", topic, err)
		return
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).DeleteTopic(ctx, topic); err != nil {
		tb.Logf("delete topic %s: %v", topic, err)
	}
}

// withClient calls f with a client of its own; an error fails the test.
func withClient(tb testing.TB, bootstrap []string, f func(context.Context, *kgo.Client) error, opts ...kgo.Opt) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), topicTimeout)
	defer cancel()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(bootstrap...))...)
	if err != nil {
		tb.Fatalf("client of %v: %v", bootstrap, err)
	}
	defer client.Close()
	if err := f(ctx, client); err != nil {
		tb.Fatal(err)
	}
}
