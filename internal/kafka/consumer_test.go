package kafka

import (
	"testing"

	"github.com/IBM/sarama"
)

// TestConsumerOfManyPartitions consumes partitions of every lane, and holds one of them.
func TestConsumerOfManyPartitions(t *testing.T) {
	const partitions = 2*lanes + 1
	w := newWorld(t)
	w.create("t", partitions, nil)
	all, err := w.cluster.NewConsumer(w.ctx)
	noError(t, err)
	defer func() { noError(t, all.Close()) }()
	var consumed []sarama.PartitionConsumer
	for p := range int32(partitions) {
		one, err := all.ConsumePartition("t", p, 0)
		noError(t, err)
		defer one.Close()
		consumed = append(consumed, one)
	}
	all.Pause(map[string][]int32{"t": {1, 2}})
	for i, one := range consumed {
		if want := i == 1 || i == 2; one.IsPaused() != want {
			t.Errorf("partition %d is paused: %t", i, !want)
		}
	}
	all.Resume(map[string][]int32{"t": {1}})
	all.PauseAll()
	all.ResumeAll()
	w.produceToAll("t", partitions, 2)
	for i, one := range consumed {
		for offset := range int64(2) {
			if m := <-one.Messages(); m.Partition != int32(i) || m.Offset != offset {
				t.Errorf("got %d/%d, want %d/%d", m.Partition, m.Offset, i, offset)
			}
		}
	}
	for p, mark := range all.HighWaterMarks()["t"] {
		if mark != 2 {
			t.Errorf("the high water mark of partition %d is %d", p, mark)
		}
	}
	if n := len(all.HighWaterMarks()["t"]); n != partitions {
		t.Errorf("%d high water marks", n)
	}
}
