package processor_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
)

// sized is a segment whose row takes about so many bytes.
func sized(tip api.TopicIdPartition, n, bytes int) api.RemoteLogSegmentMetadata {
	s := rlmmtest.Segment(tip, n, int64(n)*10, int64(n)*10+9)
	s.CustomMetadata = api.NewCustomMetadata(make([]byte, bytes))
	return s
}

// limit sets max.message.bytes of a topic under a running processor.
func limit(c *rlmmtest.Cluster, topic string, bytes int) {
	c.AlterTopic(topic, "max.message.bytes", strconv.Itoa(bytes))
}

// The table takes less than the metadata topic for a while: what doesn't fit waits, what
// lies on other partitions doesn't, and nothing is refused in the end.
func TestTableThatTakesTooLittleIsWaitedFor(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	p := c.RunProcessor()
	tip, other := c.PartitionOn(0, 0), c.PartitionOn(1, 0)
	c.PublishEvents(sized(tip, 1, 50_000))
	c.WaitApplied()
	limit(c, rlmmtest.Table, 20_000)
	c.PublishEvents(rlmmtest.Update(sized(tip, 1, 0), api.CopySegmentFinished), rlmmtest.Segment(tip, 2, 20, 29), sized(tip, 3, 60_000))
	c.PublishEvents(rlmmtest.Segment(other, 1, 0, 9), rlmmtest.Segment(other, 2, 10, 19))
	c.WaitFor("the other partition", func() bool { return len(c.Answers(1)) == 2 })
	if n := len(c.Answers(0)); n != 1 {
		t.Errorf("%d answers, want the first alone", n)
	}
	limit(c, rlmmtest.Table, 1<<20)
	c.WaitFor("what waited", func() bool { return len(c.Answers(0)) == 4 })
	if diff := cmp.Diff([]string{"applied", "applied", "applied", "applied"}, c.Outcomes(0)); diff != "" {
		t.Error(diff)
	}
	if n := p.Stats().Sessions; n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
	c.VerifyTable()
}

// The limits of both topics are lowered: rows that no longer fit stay as they are, and
// what would write them is refused, once the processor knows.
func TestRowsLargerThanANewLimitStay(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(sized(tip, 1, 50_000), sized(tip, 2, 100))
	c.WaitApplied()
	before := c.Rows()
	limit(c, rlmmtest.MetadataTopic, 10_000)
	limit(c, rlmmtest.Table, 20_000)
	c.PublishEvents(
		rlmmtest.Update(sized(tip, 1, 0), api.CopySegmentFinished), sized(tip, 1, 0),
		rlmmtest.Update(sized(tip, 2, 0), api.CopySegmentFinished),
		rlmmtest.Update(sized(tip, 1, 0), api.DeleteSegmentStarted))
	c.WaitApplied()
	want := []string{"applied", "applied", "TooLarge", "TooLarge", "applied", "TooLarge"}
	if diff := cmp.Diff(want, c.Outcomes(0)); diff != "" {
		t.Error(diff)
	}
	after := c.Rows()
	for key, row := range before {
		if len(row) > 20_000 && after[key] != row {
			t.Errorf("row %s has changed", key)
		}
	}
	if n := p.Stats().Sessions; n != 2 {
		t.Errorf("%d sessions, want 2", n)
	}
}

// A limit of the rejected events that is lowered costs no rejection: those that it meets
// are cut shorter.
func TestRejectedEventsAreCutToANewLimit(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	limit(c, rlmmtest.Rejected, 10_000)
	c.PublishEvents(sized(tip, 1, 50_000), sized(tip, 1, 50_000))
	c.WaitFor("another session", func() bool { return p.Stats().Sessions == 2 })
	c.PublishEvents(sized(tip, 1, 50_000), rlmmtest.Update(sized(tip, 1, 0), api.CopySegmentFinished))
	c.WaitApplied()
	if n := len(c.Read(rlmmtest.Rejected, 0)); n != 2 {
		t.Errorf("%d rejections, want 2", n)
	}
	if diff := cmp.Diff([]string{"applied", "InvalidAdd", "InvalidAdd", "applied"}, c.Outcomes(0)); diff != "" {
		t.Error(diff)
	}
	if n := p.Stats().Sessions; n != 2 {
		t.Errorf("%d sessions, want 2", n)
	}
	c.VerifyTable()
}
