package processor_test

import (
	"errors"
	"testing"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/table"
)

// Where the head of the table is gone, a member without what was there would judge events
// by rows that it lacks. One that has it goes on.
func TestTableThatLostItsHead(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	publishLives(c, 0, 5)
	c.WaitApplied()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteRecords(rlmmtest.Table, 0, 6); err != nil {
		t.Fatal(err)
	}
	lost := (*table.HeadError)(nil)
	if err := c.StartProcessor().Wait(c.Context()); !errors.As(err, &lost) {
		t.Errorf("without a store: %v", err)
	}
	whole := c.RunProcessor(rlmmtest.InFolder(p.DataDir))
	publishLives(c, 5, 1)
	c.WaitFor("it goes on", func() bool { return whole.Stats().Outcomes[codec.OutcomeApplied] == 4 })
}

// A processor ends when retention may take the table's head.
func TestTablePolicyUnderARunningProcessor(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"delete", "compact,delete"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 1)
			p := c.RunProcessor()
			c.AlterTopic(rlmmtest.Table, "cleanup.policy", policy)
			if err := p.Wait(c.Context()); !kafka.IsMismatch(err, kafka.CleanupPolicy) {
				t.Error(err)
			}
		})
	}
}
