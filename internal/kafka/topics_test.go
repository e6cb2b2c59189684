package kafka

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestEnsureCreates(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		spec TopicSpec
		want map[string]string
	}{
		{MetadataTopic("metadata", 5, 1, 1), map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "min.insync.replicas": "1"}},
		{TableTopic("table", 5, 1, 1, 123456), map[string]string{"cleanup.policy": "compact", "delete.retention.ms": "604800000", "max.message.bytes": "123456", "segment.index.bytes": "262144"}},
		{RejectedTopic("rejected", 1, 1, 123456), map[string]string{"cleanup.policy": "delete", "retention.ms": "604800000", "max.message.bytes": "123456"}},
	} {
		t.Run(c.spec.Name, func(t *testing.T) {
			if _, err := w.cluster.Ensure(w.ctx, c.spec, false); !errors.Is(err, ErrNoTopic) {
				t.Fatalf("without the leave to create it: %v", err)
			}
			created, err := w.cluster.Ensure(w.ctx, c.spec, true)
			noError(t, err)
			wantSame(t, "topic", Topic{c.spec.Name, w.TopicInfo(c.spec.Name).TopicID, c.spec.Partitions, make([]int32, c.spec.Partitions)}, created)
			for name, want := range c.want {
				got, err := w.cluster.TopicConfig(w.ctx, c.spec.Name, name)
				noError(t, err)
				wantSame(t, name, want, got)
			}
			for _, create := range []bool{false, true} {
				again, err := w.cluster.Ensure(w.ctx, c.spec, create)
				noError(t, err)
				wantSame(t, "again", created, again)
			}
		})
	}
}

func TestEnsureAltersNothing(t *testing.T) {
	w := newWorld(t)
	w.create("t", 3, map[string]string{"cleanup.policy": "delete", "retention.ms": "12345", "max.message.bytes": "1000"})
	before := w.TopicInfo("t")
	changed := w.count(kmsg.CreateTopics, kmsg.CreatePartitions, kmsg.DeleteTopics, kmsg.AlterConfigs, kmsg.IncrementalAlterConfigs)
	var mismatch *MismatchError
	for _, c := range []struct {
		name string
		spec TopicSpec
		want *MismatchError
	}{
		{"fits", MetadataTopic("t", 3, 1, 1), nil},
		{"any count", TopicSpec{Name: "t"}, nil},
		{"fewer partitions", MetadataTopic("t", 2, 1, 1), &MismatchError{"t", "the partition count", "2", "3"}},
		{"more partitions", MetadataTopic("t", 4, 1, 1), &MismatchError{"t", "the partition count", "4", "3"}},
		{"another policy", TableTopic("t", 3, 1, 1, 1), &MismatchError{"t", "cleanup.policy", "compact", "delete"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, create := range []bool{false, true} {
				_, err := w.cluster.Ensure(w.ctx, c.spec, create)
				if mismatch = nil; errors.As(err, &mismatch) || c.want != nil {
					wantSame(t, "mismatch", c.want, mismatch)
					continue
				}
				noError(t, err)
			}
		})
	}
	wantSame(t, "changes", 0, changed.Hits())
	wantSame(t, "topic", before, w.TopicInfo("t"))
}

func TestEnsureWaitsUntilEachPartitionAnswers(t *testing.T) {
	w := newWorld(t)
	fault := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Partitions: []int32{2}, Err: kerr.NotLeaderForPartition, Count: 3})
	_, err := w.cluster.Ensure(w.ctx, MetadataTopic("t", 3, 1, 1), true)
	noError(t, err)
	wantSame(t, "refusals", 3, fault.Hits())

	w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.NotLeaderForPartition, Count: -1})
	ctx, cancel := context.WithTimeout(w.ctx, 200*time.Millisecond)
	defer cancel()
	if _, err := w.cluster.Ensure(ctx, MetadataTopic("t", 3, 1, 1), true); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}

func TestEnsureErrors(t *testing.T) {
	w := newWorld(t)
	for _, e := range []*kerr.Error{kerr.TopicAuthorizationFailed, kerr.PolicyViolation, kerr.InvalidReplicationFactor} {
		fault := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Err: e})
		if _, err := w.cluster.Ensure(w.ctx, MetadataTopic("t", 3, 1, 1), true); !errors.Is(err, sarama.KError(e.Code)) || CanHeal(err) {
			t.Errorf("%s: got %v", e.Message, err)
		}
		fault.Remove()
	}
	// Another member was faster.
	w.ControlKey(int16(kmsg.CreateTopics), func(kmsg.Request) (kmsg.Response, error, bool) {
		w.SleepControl(func() { _ = w.CreateTopic("t", 3, nil) })
		return nil, nil, false
	})
	_, err := w.cluster.Ensure(w.ctx, MetadataTopic("t", 3, 1, 1), true)
	noError(t, err)
}

func TestTopicConfig(t *testing.T) {
	w := newWorld(t)
	w.create("t", 1, map[string]string{"delete.retention.ms": "3600000", "cleanup.policy": "compact"})
	age, err := w.cluster.TombstoneAge(w.ctx, "t")
	noError(t, err)
	wantSame(t, "tombstone age", time.Hour, age)
	n, err := w.cluster.TopicConfigInt(w.ctx, "t", "max.message.bytes")
	noError(t, err)
	wantSame(t, "the broker's default", int64(1048588), n)
	if _, err := w.cluster.TopicConfigInt(w.ctx, "t", "cleanup.policy"); err == nil {
		t.Error("a policy is a number")
	}
	if _, err := w.cluster.TopicConfig(w.ctx, "t", "no.such.setting"); err == nil {
		t.Error("a setting that isn't there has a value")
	}
	if _, err := w.cluster.TopicConfig(w.ctx, "x", "cleanup.policy"); !errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
		t.Errorf("of a topic that isn't there: %v", err)
	}
	w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Err: kerr.TopicAuthorizationFailed})
	if _, err := w.cluster.TopicConfig(w.ctx, "t", "cleanup.policy"); !errors.Is(err, sarama.ErrTopicAuthorizationFailed) || CanHeal(err) {
		t.Errorf("without the right: %v", err)
	}
}

func TestDeleteTopic(t *testing.T) {
	w := newWorld(t)
	w.create("t", 1, nil)
	for range 2 {
		noError(t, w.cluster.DeleteTopic(w.ctx, "t"))
		if w.TopicInfo("t") != nil {
			t.Fatal("it is there still")
		}
	}
	w.create("t", 1, nil)
	w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DeleteTopics}, Err: kerr.TopicAuthorizationFailed})
	if err := w.cluster.DeleteTopic(w.ctx, "t"); !errors.Is(err, sarama.ErrTopicAuthorizationFailed) {
		t.Fatalf("got %v", err)
	}
}

func TestDeleteGroup(t *testing.T) {
	w := newWorld(t)
	w.create("t", 1, nil)
	noError(t, w.cluster.DeleteGroup(w.ctx, "g")) // there is none
	member, err := kgo.NewClient(kgo.SeedBrokers(w.addr), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"))
	noError(t, err)
	defer member.Close()
	_, err = w.WaitGroupStable(w.ctx, "g", 1)
	noError(t, err)
	if err := w.cluster.DeleteGroup(w.ctx, "g"); !errors.Is(err, sarama.ErrNonEmptyGroup) {
		t.Fatalf("with a member: %v", err)
	}
	noError(t, member.LeaveGroupContext(w.ctx))
	noError(t, w.cluster.DeleteGroup(w.ctx, "g"))
}

func TestIsEmpty(t *testing.T) {
	w := newWorld(t)
	w.create("t", 3, nil)
	empty := func() bool {
		t.Helper()
		e, err := w.cluster.IsEmpty(w.ctx, "t")
		noError(t, err)
		return e
	}
	if !empty() {
		t.Error("nothing was written")
	}
	w.produce("t", 1)
	noError(t, w.DeleteRecords("t", 0, 1))
	if empty() {
		t.Error("what was written is trimmed, not never written")
	}
	if _, err := w.cluster.IsEmpty(w.ctx, "x"); !errors.Is(err, ErrNoTopic) {
		t.Errorf("got %v", err)
	}
}
