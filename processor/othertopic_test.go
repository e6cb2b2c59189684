package processor_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/processor"
)

// A processor that is given another fleet's group leaves its table alone, whether the
// fleet runs or not.
func TestGroupOfAnotherTopicIsRefused(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"running", "stopped"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 2)
			p := c.RunProcessor()
			publishLives(c, 0, 5)
			c.WaitApplied()
			if when == "stopped" {
				c.WaitFor("all is committed", func() bool { return committed(t, c) > 0 })
				if err := p.Stop(); err != nil {
					t.Fatal(err)
				}
			}
			before := c.ReadAll(rlmmtest.Table)
			wrong := c.StartProcessor(func(cfg *processor.Config) { cfg.MetadataTopic = "other" })
			err := wantGivenUp(t, c, wrong, "group rlmm", "topic "+rlmmtest.MetadataTopic, "not for other", "--group", "rlmm reset")
			if taken := (*kafka.GroupTakenError)(nil); !errors.As(err, &taken) {
				t.Errorf("%T: %v", err, err)
			}
			for partition, records := range c.ReadAll(rlmmtest.Table) {
				if diff := cmp.Diff(len(before[partition]), len(records)); diff != "" {
					t.Errorf("records of partition %d of the table: %s", partition, diff)
				}
			}
			if c.TopicInfo("other") != nil {
				t.Error("its topic was created")
			}
		})
	}
}

// A fence of another topic is counted in recovery, and no reason to give up.
func TestFenceOfAnotherTopicIsPassedBy(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	publishLives(c, 0, 5)
	c.WaitApplied()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	c.PublishTo(c.Fence(0, rlmmtest.ID(99)))
	p = c.RunProcessor(rlmmtest.InFolder(p.DataDir))
	publishLives(c, 5, 5)
	c.WaitApplied()
	c.VerifyTable()
	if s := p.Stats(); s.Foreign != 1 || s.Resets != 0 {
		t.Errorf("%+v", s)
	}
}
