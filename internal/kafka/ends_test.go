package kafka

import (
	"errors"
	"testing"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// All partitions are asked for in one request to their leader.
func TestEndOffsets(t *testing.T) {
	w := newWorld(t)
	w.create("t", 3, nil)
	w.produce("t", 5)
	asked := w.count(kmsg.ListOffsets)
	got, err := w.cluster.EndOffsets(w.ctx, "t", []int32{0, 2})
	noError(t, err)
	wantSame(t, "ends", map[int32]int64{0: 5, 2: 0}, got)
	got, err = w.cluster.EndOffsets(w.ctx, "t", nil)
	noError(t, err)
	wantSame(t, "ends of nothing", map[int32]int64{}, got)
	wantSame(t, "requests", 1, asked.Hits())
}

// What can be had is returned beside the error about the rest.
func TestEndOffsetsInPart(t *testing.T) {
	w := newWorld(t)
	w.create("t", 2, nil)
	fault := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "t", Partitions: []int32{1}, Err: kerr.NotLeaderForPartition, Count: -1})
	got, err := w.cluster.EndOffsets(w.ctx, "t", []int32{0, 1, 7})
	if !errors.Is(err, sarama.ErrNotLeaderForPartition) || !errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
		t.Errorf("got %v, want both errors", err)
	}
	wantSame(t, "ends", map[int32]int64{0: 0}, got)
	fault.Remove()
	got, err = w.cluster.EndOffsets(w.ctx, "t", []int32{1})
	noError(t, err)
	wantSame(t, "ends", map[int32]int64{1: 0}, got)
}

func TestEndOffsetsWithoutABroker(t *testing.T) {
	w := newWorld(t)
	w.create("t", 2, nil)
	w.Close()
	if got, err := w.cluster.EndOffsets(w.ctx, "t", []int32{0, 1}); err == nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}
