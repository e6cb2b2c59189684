package processor_test

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/processor"
)

// life is the events of a segment that is copied and deleted.
func life(s api.RemoteLogSegmentMetadata) []api.RemoteLogMetadata {
	return []api.RemoteLogMetadata{
		s, rlmmtest.Update(s, api.CopySegmentFinished),
		rlmmtest.Update(s, api.DeleteSegmentStarted), rlmmtest.Update(s, api.DeleteSegmentFinished),
	}
}

// publishLives publishes the lives of n segments of each metadata partition, from
// first on.
func publishLives(c *rlmmtest.Cluster, first, n int) {
	var events []api.RemoteLogMetadata
	for p := range c.Partitions {
		tip := c.PartitionOn(p, 0)
		for i := first; i < first+n; i++ {
			events = append(events, life(rlmmtest.Segment(tip, i, int64(i)*10, int64(i)*10+9))...)
		}
	}
	c.PublishEvents(events...)
}

func wantNoAlarms(t *testing.T, processors ...*rlmmtest.Processor) {
	t.Helper()
	for _, p := range processors {
		if s := p.Stats(); s.Stale+s.Foreign+s.Gaps+s.Resets != 0 {
			t.Errorf("alarms: %+v", s)
		}
	}
}

func TestRecordingIsAnsweredExactlyOnce(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 50)
	a := c.RunProcessor()
	b := c.RunProcessor()
	n := c.PublishBundled()
	c.WaitApplied()
	c.VerifyTable()
	wantNoAlarms(t, a, b)
	applied := a.Stats().Outcomes[codec.OutcomeApplied] + b.Stats().Outcomes[codec.OutcomeApplied]
	if applied != int64(n) {
		t.Errorf("%d of %d records were applied", applied, n)
	}
}

func TestRecordsFromBeforeTheFirstStart(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 3)
	c.CreateTopics()
	publishLives(c, 0, 100)
	p := c.RunProcessor()
	c.WaitApplied()
	c.VerifyTable()
	wantNoAlarms(t, p)
}

func TestRestartGoesOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		next func(old *rlmmtest.Processor) []func(*processor.Config)
	}{
		{"in its folder", func(old *rlmmtest.Processor) []func(*processor.Config) {
			return []func(*processor.Config){rlmmtest.InFolder(old.DataDir)}
		}},
		{"in a fresh folder", func(*rlmmtest.Processor) []func(*processor.Config) { return nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 2)
			p := c.RunProcessor()
			for round := range 4 {
				publishLives(c, 50*round, 50) // also while it stops
				if err := p.Stop(); err != nil {
					t.Fatal(err)
				}
				p = c.RunProcessor(tt.next(p)...)
				wantNoAlarms(t, p)
			}
			c.WaitApplied()
			c.VerifyTable()
		})
	}
}

// The position is state: what the group has committed is never asked.
func TestCommittedOffsetsMayLie(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		at   int64
	}{{"the beginning", 0}, {"the end", 200}, {"the middle", 77}, {"behind the end", 5000}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 1)
			p := c.RunProcessor()
			publishLives(c, 0, 25)
			c.WaitApplied()
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			publishLives(c, 25, 25)
			commit(t, c, tt.at)
			p = c.RunProcessor(rlmmtest.InFolder(p.DataDir))
			c.WaitApplied()
			c.VerifyTable()
			wantNoAlarms(t, p)
		})
	}
}

// commit makes the group's committed offset of partition 0 what it never was.
func commit(t *testing.T, c *rlmmtest.Cluster, at int64) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Settings.Bootstrap...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	offsets := kadm.Offsets{}
	offsets.AddOffset(rlmmtest.MetadataTopic, 0, at, -1)
	if err := kadm.NewClient(client).CommitAllOffsets(c.Context(), "rlmm", offsets); err != nil {
		t.Fatal(err)
	}
}

// committed is what the group has committed for partition 0; −1 is nothing.
func committed(t *testing.T, c *rlmmtest.Cluster) int64 {
	t.Helper()
	cluster, err := kafka.Connect(c.Context(), c.Settings)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	offset, err := cluster.CommittedOffset(c.Context(), "rlmm", rlmmtest.MetadataTopic, 0)
	if err != nil {
		t.Fatal(err)
	}
	return offset
}

func TestMembersShareAndTakeOver(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 4)
	a := c.RunProcessor()
	publishLives(c, 0, 50)
	b := c.RunProcessor()
	c.WaitFor("both have two partitions", func() bool { return len(running(a)) == 2 && len(running(b)) == 2 })
	publishLives(c, 50, 50)
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, member := a.Running(); member {
		t.Error("one that was stopped is a member still")
	}
	publishLives(c, 100, 50)
	c.WaitFor("the other has all", func() bool { return slices.Equal(running(b), c.All()) })
	publishLives(c, 150, 50)
	c.WaitApplied()
	c.VerifyTable()
	wantNoAlarms(t, a, b)
}

func running(p *rlmmtest.Processor) []int32 {
	partitions, _ := p.Running()
	return partitions
}

func TestMoreMembersThanPartitions(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	a, b := c.RunProcessor(), c.RunProcessor()
	publishLives(c, 0, 10)
	c.WaitApplied()
	c.VerifyTable()
	c.WaitFor("one of them has the partition", func() bool { return len(running(a))+len(running(b)) == 1 })
}
