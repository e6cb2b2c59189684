package kafka

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDenied(t *testing.T) {
	for _, c := range []struct {
		err       error
		operation string
		on        Resource
		want      string
	}{
		{sarama.ErrTopicAuthorizationFailed, "Read", OnTopic("t"), "Read on topic t is denied to this client; grant it: kafka-acls.sh --add --allow-principal User:NAME --operation Read --topic t: "},
		{sarama.ErrGroupAuthorizationFailed, "Read", OnGroup("g"), "--operation Read --group g: "},
		{sarama.ErrTransactionalIDAuthorizationFailed, "Write", OnTransactionalID("g-table-3", "g-table-"), "Write on transactional id g-table-3 is"},
		{sarama.ErrTransactionalIDAuthorizationFailed, "Write", OnTransactionalID("g-table-3", "g-table-"), "--transactional-id g-table- --resource-pattern-type prefixed: "},
		{fmt.Errorf("init: %w", sarama.ErrClusterAuthorizationFailed), "IdempotentWrite", OnCluster(), "--operation IdempotentWrite --cluster: init: "},
	} {
		err := Denied(c.err, c.operation, c.on)
		if !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.err) || !IsDenied(err) || CanHeal(err) {
			t.Errorf("got %v, want %q", err, c.want)
		}
		if again := Denied(err, "Other", c.on); again != err { //nolint:errorlint // the same
			t.Errorf("named twice: %v", again)
		}
	}
	for _, err := range []error{nil, io.EOF, sarama.ErrGroupAuthorizationFailed} {
		if got := Denied(err, "Read", OnTopic("t")); got != err { //nolint:errorlint // the same
			t.Errorf("%v became %v", err, got)
		}
	}
}

// Whatever a broker denies about a topic is named.
func TestDeniedRequestsAreNamed(t *testing.T) {
	w := newWorld(t)
	w.create("t", 1, nil)
	w.produce("t", 1)
	for _, c := range []struct {
		name string
		key  kmsg.Key
		ask  func() error
		want string
	}{
		{"metadata", kmsg.Metadata, func() error { _, err := w.cluster.Topic(w.ctx, "t"); return err }, "Describe on topic t"},
		{"offset", kmsg.ListOffsets, func() error { _, err := w.cluster.EndOffset(w.ctx, "t", 0); return err }, "Describe on topic t"},
		{"offsets", kmsg.ListOffsets, func() error { _, err := w.cluster.EndOffsets(w.ctx, "t", []int32{0}); return err }, "Describe on topic t"},
		{"tail", kmsg.Fetch, func() error { _, _, err := w.cluster.FirstData(w.ctx, "t", 0, 0, 1); return err }, "Read on topic t"},
		{"read", kmsg.Fetch, func() error { return w.cluster.MayRead(w.ctx, "t") }, "Read on topic t"},
		{"configuration", kmsg.DescribeConfigs, func() error { _, err := w.cluster.TopicConfig(w.ctx, "t", "cleanup.policy"); return err }, "DescribeConfigs on topic t"},
		{"create", kmsg.CreateTopics, func() error {
			_, err := w.cluster.Ensure(w.ctx, TopicSpec{Name: "u", Partitions: 1, ReplicationFactor: 1}, true)
			return err
		}, "Create on topic u"},
		{"delete", kmsg.DeleteTopics, func() error { return w.cluster.DeleteTopic(w.ctx, "t") }, "Delete on topic t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fault := w.Fault(kfake.Fault{Keys: []kmsg.Key{c.key}, Err: kerr.TopicAuthorizationFailed, Count: -1})
			defer fault.Remove()
			if err := c.ask(); !IsDenied(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	noError(t, w.cluster.MayRead(w.ctx, "t"))
}
