package source

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/internal/rlmmtest"
)

// fleetOn asks for the first of two metadata partitions.
func fleetOn(t *testing.T, c *rlmmtest.Cluster) FleetPartition {
	t.Helper()
	topic, err := OpenTopic(c.Context(), c.Settings, rlmmtest.MetadataTopic, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer topic.Close()
	fleet, err := topic.Fleet(c.Context(), rlmmtest.Table)
	if err != nil || len(fleet) != 2 || fleet[0].MetadataPartition != 0 || fleet[1].MetadataPartition != 1 {
		t.Fatalf("%+v, %v", fleet, err)
	}
	return fleet[0]
}

// The table says how far the fleet is, whatever lies at its end.
func TestFleet(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	want := func(when string, applied, end int64, behind bool) {
		t.Helper()
		if got := fleetOn(t, c); got.Applied != applied || got.End != end || got.Behind != behind {
			t.Errorf("%s: %+v", when, got)
		}
	}
	c.CreateTopics()
	want("empty", -1, 0, false)
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(rlmmtest.Segment(tip, 1, 0, 9))
	want("without a fleet", -1, 1, true)
	p := c.RunProcessor()
	c.WaitApplied()
	want("applied", 0, 1, false)
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	for range 3 * firstTail {
		c.PublishTo(&kgo.Record{Topic: rlmmtest.Table, Partition: 0, Key: []byte("!0")})
	}
	want("behind what answers nothing", 0, 1, false)
	c.PublishEvents(rlmmtest.Segment(tip, 2, 0, 9))
	want("stopped", 0, 2, true)
}

func TestFleetWithoutATable(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	if err := c.CreateTopic(rlmmtest.MetadataTopic, 1, nil); err != nil {
		t.Fatal(err)
	}
	topic, err := OpenTopic(c.Context(), c.Settings, rlmmtest.MetadataTopic, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer topic.Close()
	if fleet, err := topic.Fleet(c.Context(), rlmmtest.Table); err == nil {
		t.Errorf("%+v", fleet)
	}
}
