package processor_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
)

// overwrite writes tombstones under the keys of all rows but the last one that was written:
// compaction would take what proves to a store that the table is the one that it has read.
func overwrite(c *rlmmtest.Cluster) {
	answers := c.Answers(0)
	last := string(answers[len(answers)-1].Key)
	for key := range c.Rows() {
		if key != last {
			c.PublishTo(&kgo.Record{Topic: rlmmtest.Table, Key: []byte(key)})
		}
	}
}

// wantRepaired waits until the table has the rows again.
func wantRepaired(t *testing.T, c *rlmmtest.Cluster, rows map[string]string) {
	t.Helper()
	c.WaitFor("the rows are written again", func() bool { return cmp.Equal(rows, c.Rows()) })
	for _, r := range c.Read(rlmmtest.Table, 0) {
		if outcome, _ := rlmmtest.Header(r, "rlmm.outcome"); outcome == codec.OutcomeRepair.String() {
			return
		}
	}
	t.Error("without a repair")
}

// Rows that others wrote to are written again, whoever becomes the owner: it needs no
// store, since the input tells them, and one whose input lost its head has them in its
// store.
func TestRowsThatOthersWroteTo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		store    bool
		headless bool
		control  bool
	}{
		{name: "the same owner", store: true},
		{name: "another owner, without a store"},
		{name: "another owner, of an input with control records", control: true},
		{name: "the same owner, of an input without its head", store: true, headless: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 1)
			c.KeepTableHead()
			p := c.RunProcessor()
			if tt.control {
				c.PublishInTransaction(rlmmtest.Raw(0, nil))
			}
			publishLives(c, 0, 3)
			c.WaitApplied()
			rows := c.Rows()
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			overwrite(c)
			c.Compact()
			if tt.headless {
				if err := c.DeleteRecords(rlmmtest.MetadataTopic, 0, 1); err != nil {
					t.Fatal(err)
				}
			}
			dir := t.TempDir()
			if tt.store {
				dir = p.DataDir
			}
			p = c.RunProcessor(rlmmtest.InFolder(dir))
			wantRepaired(t, c, rows)
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			before := len(c.Read(rlmmtest.Table, 0))
			c.RunProcessor(rlmmtest.InFolder(dir))
			if n := len(c.Read(rlmmtest.Table, 0)) - before; n != 2 {
				t.Errorf("once more %d records, want a fence and a position", n)
			}
		})
	}
}

// An owner that can't know the rows doesn't judge events by what it has.
func TestRowsThatNothingTells(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.KeepTableHead()
	p := c.RunProcessor()
	publishLives(c, 0, 3)
	c.WaitApplied()
	rows := c.Rows()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	overwrite(c)
	c.Compact()
	if err := c.DeleteRecords(rlmmtest.MetadataTopic, 0, 1); err != nil {
		t.Fatal(err)
	}
	err := c.StartProcessor().Wait(c.Context())
	if err == nil || kafka.CanHeal(err) || !strings.Contains(err.Error(), "rlmm reset") {
		t.Errorf("without a store: %v", err)
	}
	c.RunProcessor(rlmmtest.InFolder(p.DataDir))
	wantRepaired(t, c, rows)
}

// Compaction takes records of an input with keys (KIP-1266) and leaves its beginning where
// it is. What is left doesn't tell the rows: an owner that can't know them doesn't judge
// events by it.
func TestRowsThatACompactedInputDoesNotTell(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.KeepTableHead()
	p := c.RunProcessor()
	c.AlterTopic(rlmmtest.MetadataTopic, "cleanup.policy", "compact")
	tip := c.PartitionOn(0, 0)
	s := rlmmtest.Segment(tip, 1, 0, 9)
	for _, record := range c.Records(rlmmtest.Segment(tip, 2, 10, 19), s, rlmmtest.Update(s, api.CopySegmentFinished), rlmmtest.Segment(tip, 3, 20, 29)) {
		event, err := codec.DecodeRecord(record.Value)
		if err != nil {
			t.Fatal(err)
		}
		c.PublishTo(&kgo.Record{Topic: rlmmtest.MetadataTopic, Key: []byte(codec.EventKey(event)), Value: record.Value})
	}
	c.WaitApplied()
	rows := c.Rows()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	overwrite(c)
	c.Compact()
	if start, n := c.PartitionInfo(rlmmtest.MetadataTopic, 0).LogStartOffset, len(c.Read(rlmmtest.MetadataTopic, 0)); start != 0 || n != 3 {
		t.Fatalf("the input begins at %d and has %d records", start, n)
	}
	err := c.StartProcessor().Wait(c.Context())
	if err == nil || kafka.CanHeal(err) || !strings.Contains(err.Error(), "rlmm reset") {
		t.Errorf("without a store: %v", err)
	}
	c.RunProcessor(rlmmtest.InFolder(p.DataDir))
	wantRepaired(t, c, rows)
}

// refuseRepairs has the table take no repairs for the time being.
func refuseRepairs() kfake.Fault {
	isRepair := func(r kmsg.Request) bool {
		part := r.(*kmsg.ProduceRequest).Topics[0].Partitions[0] //nolint:forcetypeassert // of its key
		return bytes.Contains(part.Records, []byte(codec.OutcomeRepair.String()))
	}
	return kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: rlmmtest.Table, When: isRepair, Count: -1, Err: kerr.NotEnoughReplicas}
}

// An owner that ends between the look at a foreign record and its repair has it repaired
// by the next one, though its store is past that record.
func TestOwnerThatEndsBeforeItsRepair(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	publishLives(c, 0, 3)
	c.WaitApplied()
	rows := c.Rows()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	overwrite(c)
	refused := c.Fault(refuseRepairs())
	held := c.StartProcessor(rlmmtest.InFolder(p.DataDir))
	c.WaitFor("a repair is refused", func() bool { return refused.Hits() > 0 })
	if err := held.Stop(); err != nil {
		t.Fatal(err)
	}
	refused.Remove()
	p = c.RunProcessor(rlmmtest.InFolder(p.DataDir))
	wantRepaired(t, c, rows)
	if n := p.Stats().Resets; n != 1 {
		t.Errorf("%d stores built anew", n)
	}
}
