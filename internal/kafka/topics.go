package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/IBM/sarama"
)

// TopicSpec is a topic that must be there.
type TopicSpec struct {
	Name string
	// Partitions is the count; 0 takes any count of an existing topic.
	Partitions int32
	// ReplicationFactor is used to create the topic only.
	ReplicationFactor int16
	// Configs is used to create the topic; of an existing one CleanupPolicy is
	// checked.
	Configs map[string]string
}

// MetadataTopic is Kafka's topic, with the settings that Kafka's own manager gives
// it (TopicBasedRemoteLogMetadataManager.newRemoteLogMetadataTopic).
func MetadataTopic(name string, partitions int32, replication, minISR int16) TopicSpec {
	return TopicSpec{name, partitions, replication, map[string]string{
		CleanupPolicy: "delete", "retention.ms": "-1", "remote.storage.enable": "false",
		"min.insync.replicas": strconv.Itoa(int(minISR)),
	}}
}

// tableIndexBytes is what a broker lays out for each of the two indexes of the segment that it
// writes. A kernel with a large readahead may clear all of an index when the broker first
// looks into it: with Kafka's 10 MiB the first batch of each of fifty partitions kept a request
// handler for 40 ms, and the fleet all together for up to 2 s. It suffices for 85 MiB of
// records; then the segment is full, and compaction may have it.
const tableIndexBytes = 256 << 10

// TableTopic is the table's: compacted, tombstones kept for seven days.
func TableTopic(name string, partitions int32, replication, minISR int16, maxMessageBytes int) TopicSpec {
	return TopicSpec{name, partitions, replication, map[string]string{
		CleanupPolicy: Compact, "delete.retention.ms": strconv.FormatInt((7 * 24 * time.Hour).Milliseconds(), 10),
		"min.insync.replicas": strconv.Itoa(int(minISR)), "max.message.bytes": strconv.Itoa(maxMessageBytes),
		"segment.index.bytes": strconv.Itoa(tableIndexBytes),
	}}
}

// RejectedTopic is the rejected events': kept for seven days.
func RejectedTopic(name string, replication, minISR int16, maxMessageBytes int) TopicSpec {
	return TopicSpec{name, 1, replication, map[string]string{
		CleanupPolicy: "delete", "retention.ms": strconv.FormatInt((7 * 24 * time.Hour).Milliseconds(), 10),
		"min.insync.replicas": strconv.Itoa(int(minISR)), "max.message.bytes": strconv.Itoa(maxMessageBytes),
	}}
}

// PartitionCount is the Setting of a [MismatchError] about a topic's partition count.
const PartitionCount = "the partition count"

// CleanupPolicy is the Setting of a [MismatchError] about a topic's cleanup policy.
const CleanupPolicy = "cleanup.policy"

// Compact is the cleanup policy of the table, which "delete" beside it would take the
// head of.
const Compact = "compact"

// MismatchError says that a topic isn't what rlmm needs; nothing was changed.
type MismatchError struct{ Topic, Setting, Want, Got string }

// Error names the setting and both values, and what changes a setting. What to do about
// a partition count depends on which topic was changed.
func (e *MismatchError) Error() string {
	s := fmt.Sprintf("topic %s: %s is %s, must be %s", e.Topic, e.Setting, e.Got, e.Want)
	if e.Setting != PartitionCount {
		s += fmt.Sprintf("; change it: kafka-configs.sh --alter --topic %s --add-config %s=VALUE", e.Topic, e.Setting)
	}
	return s
}

// PartitionCountError is the [MismatchError] of a topic that has another number of
// partitions than it must have.
func PartitionCountError(t Topic, want int32) error {
	return &MismatchError{t.Name, PartitionCount, strconv.Itoa(int(want)), strconv.Itoa(int(t.Partitions))}
}

// IsMismatch tells whether the error is a [MismatchError] about the setting.
func IsMismatch(err error, setting string) bool {
	mismatch := (*MismatchError)(nil)
	return errors.As(err, &mismatch) && mismatch.Setting == setting
}

// Unhealable marks the error.
func (*MismatchError) Unhealable() {}

// Ensure returns the topic, created if it is missing and create is true, once each
// of its partitions answers: a client that starts on a topic just created may else
// end with NOT_LEADER_OR_FOLLOWER. A missing topic is ErrNoTopic, one with another
// partition count or cleanup policy a MismatchError. An existing topic is never
// altered.
func (c *Cluster) Ensure(ctx context.Context, spec TopicSpec, create bool) (Topic, error) {
	t, err := c.Topic(ctx, spec.Name)
	if errors.Is(err, ErrNoTopic) && create {
		if err := c.create(ctx, spec); err != nil {
			return Topic{}, err
		}
		t, err = c.awaitTopic(ctx, spec)
	}
	if err != nil {
		return Topic{}, err
	}
	if err := c.check(ctx, spec, t); err != nil {
		return Topic{}, err
	}
	return t, c.probe(ctx, t)
}

func (c *Cluster) create(ctx context.Context, spec TopicSpec) error {
	entries := make(map[string]*string, len(spec.Configs))
	for k, v := range spec.Configs {
		entries[k] = &v
	}
	detail := &sarama.TopicDetail{NumPartitions: spec.Partitions, ReplicationFactor: spec.ReplicationFactor, ConfigEntries: entries}
	_, err := call(ctx, func() (struct{}, error) { return struct{}{}, c.admin.CreateTopic(spec.Name, detail, false) })
	if err != nil && !errors.Is(err, sarama.ErrTopicAlreadyExists) {
		return fmt.Errorf("create topic %s with replication factor %d: %w", spec.Name, spec.ReplicationFactor, deniedCreate(err, spec.Name))
	}
	return nil
}

// deniedCreate is a refusal to create a topic; the right is on the topic or on the cluster.
func deniedCreate(err error, topic string) error {
	return Denied(Denied(err, "Create", OnTopic(topic)), "Create", OnCluster())
}

// awaitTopic waits until the brokers tell of a topic just created with all its
// partitions.
func (c *Cluster) awaitTopic(ctx context.Context, spec TopicSpec) (t Topic, err error) {
	err = retry(ctx, func() error {
		if t, err = c.Topic(ctx, spec.Name); err != nil {
			return err
		}
		if t.Partitions < spec.Partitions {
			return fmt.Errorf("topic %s has %d of %d partitions", spec.Name, t.Partitions, spec.Partitions)
		}
		return nil
	})
	return t, err
}

// probe asks all partitions for their ends until each answers.
func (c *Cluster) probe(ctx context.Context, t Topic) error {
	partitions := make([]int32, t.Partitions)
	for p := range t.Partitions {
		partitions[p] = p
	}
	return retry(ctx, func() error {
		_, err := c.EndOffsets(ctx, t.Name, partitions)
		return err
	})
}

func (c *Cluster) check(ctx context.Context, spec TopicSpec, t Topic) error {
	if spec.Partitions != 0 && t.Partitions != spec.Partitions {
		return PartitionCountError(t, spec.Partitions)
	}
	want, ok := spec.Configs[CleanupPolicy]
	if !ok {
		return nil
	}
	return c.CheckPolicy(ctx, t.Name, want)
}

// CheckPolicy returns a [MismatchError] when the topic's cleanup policy isn't the wanted
// one.
func (c *Cluster) CheckPolicy(ctx context.Context, topic, want string) error {
	got, err := c.TopicConfig(ctx, topic, CleanupPolicy)
	if err == nil && got != want {
		err = &MismatchError{topic, CleanupPolicy, want, got}
	}
	return err
}

// TopicConfig returns the effective value of a topic's setting. It is asked for together
// with whatever else is asked for at the same time.
func (c *Cluster) TopicConfig(ctx context.Context, topic, name string) (string, error) {
	answer, err := c.settings.get(ctx, topicSetting{topic, name})
	if err = errors.Join(err, answer.err); err != nil {
		return "", fmt.Errorf("read %s of topic %s: %w", name, topic, err)
	}
	for _, result := range answer.results {
		if result.Name != topic {
			continue
		}
		if result.ErrorCode != sarama.ErrNoError {
			return "", fmt.Errorf("read %s of topic %s: %w", name, topic, Denied(result.ErrorCode, "DescribeConfigs", OnTopic(topic)))
		}
		for _, e := range result.Configs {
			if e.Name == name {
				return e.Value, nil
			}
		}
	}
	return "", fmt.Errorf("topic %s has no setting %s", topic, name)
}

type topicSetting struct{ topic, name string }

type settingsAnswer struct {
	results []*sarama.ConfigResourceResult
	err     error
}

func (c *Cluster) askSettings(asked []topicSetting) (a settingsAnswer) {
	byTopic := map[string]*sarama.ConfigResource{}
	for _, s := range asked {
		if byTopic[s.topic] == nil {
			byTopic[s.topic] = &sarama.ConfigResource{Type: sarama.TopicResource, Name: s.topic}
		}
		byTopic[s.topic].ConfigNames = append(byTopic[s.topic].ConfigNames, s.name)
	}
	a.results, a.err = c.admin.DescribeConfigs(slices.Collect(maps.Values(byTopic)), sarama.DescribeConfigsOptions{})
	return a
}

// TopicConfigInt is TopicConfig for a whole number.
func (c *Cluster) TopicConfigInt(ctx context.Context, topic, name string) (int64, error) {
	v, err := c.TopicConfig(ctx, topic, name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s of topic %s: %w", name, topic, err)
	}
	return n, nil
}

// retry calls f until it succeeds or can't succeed, with a pause between, or the
// context ends; the error is then f's last.
func retry(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil || !CanHeal(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TombstoneAge is how long a compacted topic keeps tombstones (delete.retention.ms).
func (c *Cluster) TombstoneAge(ctx context.Context, topic string) (time.Duration, error) {
	ms, err := c.TopicConfigInt(ctx, topic, "delete.retention.ms")
	return time.Duration(ms) * time.Millisecond, err
}

// DeleteTopic deletes a topic; one that doesn't exist is no error.
func (c *Cluster) DeleteTopic(ctx context.Context, name string) error {
	_, err := call(ctx, func() (struct{}, error) { return struct{}{}, c.admin.DeleteTopic(name) })
	if err != nil && !errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
		return fmt.Errorf("delete topic %s: %w", name, Denied(err, "Delete", OnTopic(name)))
	}
	return nil
}

// DeleteGroup deletes a consumer group; one that doesn't exist is no error, one with
// members is.
func (c *Cluster) DeleteGroup(ctx context.Context, name string) error {
	_, err := call(ctx, func() (struct{}, error) { return struct{}{}, c.admin.DeleteConsumerGroup(name) })
	if err != nil && !errors.Is(err, sarama.ErrGroupIDNotFound) {
		return fmt.Errorf("delete group %s: %w", name, Denied(err, "Delete", OnGroup(name)))
	}
	return nil
}

// IsEmpty tells whether no record was ever written to the topic.
func (c *Cluster) IsEmpty(ctx context.Context, topic string) (bool, error) {
	t, err := c.Topic(ctx, topic)
	if err != nil {
		return false, err
	}
	for p := range t.Partitions {
		if end, err := c.EndOffset(ctx, topic, p); err != nil || end > 0 {
			return false, err
		}
	}
	return true, nil
}
