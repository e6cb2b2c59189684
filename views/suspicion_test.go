package views_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
	"github.com/tieredlog/rlmm/processor"
	"github.com/tieredlog/rlmm/views"
)

// other is a metadata topic that the table isn't made from.
var other = rlmmtest.ID(99)

// wantSuspect waits until the partition isn't ready because of another's fence.
func wantSuspect(t *testing.T, c *rlmmtest.Cluster, m *views.Manager, tip api.TopicIdPartition) {
	t.Helper()
	var cause *table.ForeignFenceError
	c.WaitFor("the cause", func() bool {
		err := m.Ready()
		return errors.Is(err, api.ErrNotReady) && errors.As(err, &cause)
	})
	for _, word := range []string{"--group", cause.Have.MetadataTopicID.String(), cause.Want.MetadataTopicID.String(), rlmmtest.Table + "/0"} {
		if !strings.Contains(cause.Error(), word) {
			t.Errorf("error %q doesn't say %q", cause, word)
		}
	}
	wantEveryRead(t, m, tip, api.ErrNotReady)
	s := m.Status()
	if s.State != api.StateRecovering || !errors.Is(s.Partitions[0].Err, cause) {
		t.Errorf("status %+v", s)
	}
}

// Another topic's processor fences a table under a view that runs, and one that begins.
// It gives up, and the fleet goes on: so do the views.
func TestFenceOfAnotherTopicHeals(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	running := c.ReadyManager()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	forgetGroup(t, c)
	if err := c.CreateTopic("other", 1, nil); err != nil {
		t.Fatal(err)
	}
	wrong := c.StartProcessor(func(cfg *processor.Config) { cfg.MetadataTopic = "other" })
	if err := wrong.Wait(c.Context()); !errors.As(err, new(*store.IdentityError)) {
		t.Fatalf("%T: %v", err, err)
	}
	fresh := c.NewManager()
	if err := fresh.ReconcileAssignment(c.Context(), c.All()); err != nil {
		t.Fatal(err)
	}
	managers := []*views.Manager{running, fresh}
	for _, m := range managers {
		wantSuspect(t, c, m, tip)
	}
	c.RunProcessor()
	c.PublishEvents(finished(rlmmtest.Segment(tip, 2, 10, 19))...)
	c.WaitApplied()
	for _, m := range managers {
		if err := m.WaitReady(c.Context()); err != nil {
			t.Fatal(err)
		}
		c.WaitFor("the later segment", func() bool {
			_, ok, err := m.RemoteLogSegmentMetadata(t.Context(), tip, 0, 15)
			return ok && err == nil
		})
		wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))
		if s := m.Status(); s.State != api.StateRunning || s.Partitions[0].Err != nil {
			t.Errorf("status %+v", s)
		}
	}
}

// forgetGroup leaves nothing that tells whose group it is.
func forgetGroup(t *testing.T, c *rlmmtest.Cluster) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Settings.Bootstrap...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).DeleteGroup(c.Context(), "rlmm"); err != nil {
		t.Fatal(err)
	}
}

// The fleet runs while another fences: it loses the partition with what it writes next,
// and takes it back.
func TestFenceOfAnotherTopicUnderTheFleet(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	m := c.ReadyManager()
	c.PublishTo(c.Fence(0, other))
	wantSuspect(t, c, m, tip)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 2, 10, 19))...)
	if err := m.WaitReady(c.Context()); err != nil {
		t.Fatal(err)
	}
	c.WaitFor("the later segment", func() bool {
		_, ok, err := m.RemoteLogSegmentMetadata(t.Context(), tip, 0, 15)
		return ok && err == nil
	})
}

// Behind another's position come another's answers.
func TestPositionOfAnotherTopicIsForGood(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	m := c.ReadyManager()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	fence := c.Fence(0, other)
	position := &kgo.Record{Topic: rlmmtest.Table, Key: []byte(codec.PositionKey(0)), Value: []byte("7")}
	position.Headers = append(position.Headers, fence.Headers...)
	position.Headers = append(position.Headers, kgo.RecordHeader{Key: "rlmm.offset", Value: []byte("7")})
	c.PublishTo(fence, position)
	wantNeverReady[*store.IdentityError](t, c, m, tip)
}
