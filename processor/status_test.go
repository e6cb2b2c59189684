package processor_test

import (
	"testing"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/processor"
)

// A processor tells how far it is in each partition that it owns.
func TestStatus(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	idle, err := processor.New(processor.Config{Kafka: c.Settings, DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if s := idle.Status(); s.State != api.StateRecovering || s.Err == nil || len(s.Partitions) != 0 {
		t.Errorf("before it runs: %+v", s)
	}
	p := c.RunProcessor(func(cfg *processor.Config) { cfg.MaintainEvery = 100 * time.Millisecond }) // and looks as often
	c.PublishEvents(rlmmtest.Segment(c.PartitionOn(1, 0), 1, 0, 9))
	var s api.Status
	c.WaitFor("it has applied it and seen so", func() bool {
		s = p.Status()
		return len(s.Partitions) == 2 && s.Partitions[1].Applied == 0 && s.Partitions[1].End == 1 && s.Partitions[0].End == 0
	})
	for number, got := range s.Partitions {
		if got.MetadataPartition != int32(number) || got.State != api.StateRunning || got.Lag != 0 || got.Target != -1 {
			t.Errorf("partition %d: %+v", number, got)
		}
	}
	if s.State != api.StateRunning || s.Err != nil {
		t.Errorf("while it runs: %+v", s)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if s = p.Status(); s.State != api.StateRecovering || len(s.Partitions) != 0 {
		t.Errorf("when it has ended: %+v", s)
	}
}
