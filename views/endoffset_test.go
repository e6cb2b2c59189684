package views_test

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
)

// The end offset of a partition that is assigned now can't be had for ten seconds. It
// stays not ready and is asked for with growing pauses, until it heals by itself; the
// partition that was there before answers, catches up and mutates all the while.
func TestEndOffsetsFailForTenSeconds(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	c.RunProcessor()
	old, late := c.PartitionOn(0, 0), c.PartitionOn(1, 0)
	c.PublishEvents(append(finished(rlmmtest.Segment(old, 1, 0, 9)), finished(rlmmtest.Segment(late, 2, 0, 9))...)...)
	m := c.NewManager()
	reconcile := func(partitions ...int32) {
		if err := m.ReconcileAssignment(c.Context(), partitions); err != nil {
			t.Fatal(err)
		}
	}
	reconcile(0)
	if err := m.WaitReady(c.Context()); err != nil {
		t.Fatal(err)
	}
	fault := c.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: rlmmtest.MetadataTopic, Partitions: []int32{1}, Err: kerr.LeaderNotAvailable, Count: -1,
	})
	reconcile(0, 1)
	mutations := 0
	for began := time.Now(); time.Since(began) < 10*time.Second; mutations++ {
		wantEveryRead(t, m, old, nil)
		wantEveryRead(t, m, late, api.ErrNotReady)
		if caught, err := m.CaughtUp(t.Context(), old); !caught || err != nil {
			t.Fatalf("caught up on the other partition: %t, %v", caught, err)
		}
		if caught, err := m.CaughtUp(t.Context(), late); caught || !errors.Is(err, api.ErrNotReady) {
			t.Fatalf("caught up: %t, %v", caught, err)
		}
		s := rlmmtest.Segment(old, 100+mutations, 10, 19)
		if _, err := m.AddRemoteLogSegmentMetadata(c.Context(), s); err != nil {
			t.Fatalf("a mutation on the other partition: %v", err)
		}
	}
	// The shortest pauses are 25, 50, 100, … ms; each try asks sarama to try four times.
	if n := fault.Hits(); n < 4 || n > 60 {
		t.Errorf("asked %d times", n)
	}
	t.Logf("asked %d times, %d mutations meanwhile", fault.Hits(), mutations)
	fault.Remove()
	if err := m.WaitReady(c.Context()); err != nil {
		t.Fatal(err)
	}
	wantSegment(t, m, late, 0, 5, rlmmtest.ID(2))
}
