package processor_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
	"github.com/tieredlog/rlmm/processor"
)

// wantGivenUp waits until Run returns by itself with an error that names what to do.
func wantGivenUp(t *testing.T, c *rlmmtest.Cluster, p *rlmmtest.Processor, words ...string) error {
	t.Helper()
	err := p.Wait(c.Context())
	if err == nil {
		t.Fatal("Run returned without an error")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q doesn't say %q", err, word)
		}
	}
	return err
}

func TestRecreatedMetadataTopicIsRefused(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"same", "fresh"} {
		t.Run(folder+" folder", func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 2)
			p := c.RunProcessor()
			publishLives(c, 0, 10)
			c.WaitApplied()
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			rows := c.Rows()
			c.RecreateTopic(rlmmtest.MetadataTopic)
			publishLives(c, 100, 30) // more than there were
			dir := p.DataDir
			if folder == "fresh" {
				dir = t.TempDir()
			}
			p = c.StartProcessor(rlmmtest.InFolder(dir))
			err := wantGivenUp(t, c, p, "rlmm reset")
			if identity := (*store.IdentityError)(nil); !errors.As(err, &identity) {
				t.Errorf("%T: %v", err, err)
			}
			if diff := cmp.Diff(rows, c.Rows()); diff != "" {
				t.Errorf("the table changed: %s", diff)
			}
			if aside, _ := filepath.Glob(filepath.Join(dir, "processor", "*.aside-*")); len(aside) > 0 {
				t.Errorf("the local data was moved: %v", aside)
			}
		})
	}
}

// The topic is deleted and created again, and filled beyond what was applied, while the
// processor runs.
func TestMetadataTopicRecreatedUnderARunningProcessor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		then func(*rlmmtest.Cluster)
	}{
		{"left empty", func(*rlmmtest.Cluster) {}},
		{"filled before anybody looks", func(c *rlmmtest.Cluster) { publishLives(c, 100, 30) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 2)
			p := c.RunProcessor(soon)
			publishLives(c, 0, 10)
			c.WaitApplied()
			rows := c.Rows()
			fetch := c.Fault(kfake.Fault{
				Keys: []kmsg.Key{kmsg.Fetch}, Topic: rlmmtest.MetadataTopic, Err: kerr.NotLeaderForPartition, Count: -1,
			})
			c.RecreateTopic(rlmmtest.MetadataTopic)
			tt.then(c)
			fetch.Remove()
			_ = wantGivenUp(t, c, p, "rlmm reset") // by identity or by its end
			if diff := cmp.Diff(rows, c.Rows()); diff != "" {
				t.Errorf("the table changed: %s", diff)
			}
		})
	}
}

// The topic is deleted, created again and filled beyond what was applied between two looks
// at it. The records that are read on are of another topic: not one of them may get into
// the table, however soon they are fetched.
func TestRecreatedTopicIsNeverFolded(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	p := c.RunProcessor() // it looks every five seconds
	publishLives(c, 0, 10)
	c.WaitApplied()
	before := c.ReadAll(rlmmtest.Table)
	release := c.HoldFetch(rlmmtest.MetadataTopic)
	c.RecreateTopic(rlmmtest.MetadataTopic)
	publishLives(c, 100, 30)
	release()
	err := wantGivenUp(t, c, p, "rlmm reset")
	if identity := (*store.IdentityError)(nil); !errors.As(err, &identity) {
		t.Errorf("%T: %v", err, err)
	}
	for partition, records := range c.ReadAll(rlmmtest.Table) {
		if n := len(answers(records)) - len(answers(before[partition])); n != 0 {
			t.Errorf("%d answers to records of another topic in partition %d", n, partition)
		}
	}
}

func answers(records []*kgo.Record) []*kgo.Record {
	return slices.DeleteFunc(slices.Clone(records), func(r *kgo.Record) bool { return outcome(r) == "" })
}

// A table that has applied more than the metadata topic holds.
func TestTruncatedMetadataTopicIsRefused(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	publishLives(c, 0, 5)
	c.WaitApplied()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	position := lastPosition(t, c)
	for i, h := range position.Headers {
		if h.Key == "rlmm.offset" {
			position.Headers[i].Value = []byte("1000")
		}
	}
	c.PublishTo(position)
	err := wantGivenUp(t, c, c.StartProcessor(rlmmtest.InFolder(p.DataDir)), "rlmm reset", "ends at 20", "1000")
	if truncated := (*kafka.TruncatedError)(nil); !errors.As(err, &truncated) {
		t.Errorf("%T: %v", err, err)
	}
}

// lastPosition is a copy of the last position record of partition 0.
func lastPosition(t *testing.T, c *rlmmtest.Cluster) *kgo.Record {
	t.Helper()
	var last *kgo.Record
	for _, r := range c.Read(rlmmtest.Table, 0) {
		if string(r.Key) == codec.PositionKey(0) {
			last = &kgo.Record{Topic: r.Topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: r.Headers}
		}
	}
	if last == nil {
		t.Fatal("the table has no position")
	}
	return last
}

func TestRecreatedTableIsRebuilt(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	p := c.RunProcessor()
	publishLives(c, 0, 10)
	c.WaitApplied()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	c.RecreateTopic(rlmmtest.Table)
	publishLives(c, 10, 5)
	p = c.RunProcessor(rlmmtest.InFolder(p.DataDir))
	c.WaitApplied()
	c.VerifyTable()
	if resets := p.Stats().Resets; resets != 2 {
		t.Errorf("%d stores were reset, want 2", resets)
	}
}

func TestTableRecreatedUnderARunningProcessor(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	p := c.RunProcessor(soon)
	publishLives(c, 0, 10)
	c.WaitApplied()
	c.RecreateTopic(rlmmtest.Table)
	c.WaitApplied()
	publishLives(c, 10, 5)
	c.WaitApplied()
	c.VerifyTable()
	if resets := p.Stats().Resets; resets != 2 {
		t.Errorf("%d stores were reset, want 2", resets)
	}
}

func TestTopicsThatDoNotFit(t *testing.T) {
	t.Parallel()
	compact := map[string]string{"cleanup.policy": "compact"}
	for _, tt := range []struct {
		name  string
		build func(*rlmmtest.Cluster) error
		want  []string
	}{
		{"table with other partitions", func(c *rlmmtest.Cluster) error {
			return c.CreateTopic(rlmmtest.Table, 3, compact)
		}, []string{"rlmm-table", "the partition count is 3, must be 2"}},
		{"table that isn't compacted", func(c *rlmmtest.Cluster) error {
			return c.CreateTopic(rlmmtest.Table, 2, nil)
		}, []string{"rlmm-table", "cleanup.policy is delete, must be compact"}},
		{"table with smaller records", func(c *rlmmtest.Cluster) error {
			return c.CreateTopic(rlmmtest.Table, 2, map[string]string{"cleanup.policy": "compact", "max.message.bytes": "1000"})
		}, []string{"rlmm-table", "max.message.bytes is 1000"}},
		{"rejected events that are compacted", func(c *rlmmtest.Cluster) error {
			return c.CreateTopic(rlmmtest.Rejected, 1, compact)
		}, []string{"rlmm-rejected", "cleanup.policy"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 2)
			if err := tt.build(c); err != nil {
				t.Fatal(err)
			}
			err := wantGivenUp(t, c, c.StartProcessor(), tt.want...)
			if mismatch := (*kafka.MismatchError)(nil); !errors.As(err, &mismatch) {
				t.Errorf("%T: %v", err, err)
			}
		})
	}
}

func TestMissingTopicsAreNamed(t *testing.T) {
	t.Parallel()
	topics := []string{rlmmtest.MetadataTopic, rlmmtest.Table, rlmmtest.Rejected}
	for _, missing := range topics {
		t.Run(missing, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 2)
			c.CreateTopics()
			if err := c.DeleteTopic(missing); err != nil {
				t.Fatal(err)
			}
			p := c.StartProcessor(func(cfg *processor.Config) { cfg.CreateTopics = false })
			if err := wantGivenUp(t, c, p, missing); !errors.Is(err, kafka.ErrNoTopic) {
				t.Errorf("%T: %v", err, err)
			}
			if c.TopicInfo(missing) != nil {
				t.Errorf("%s was created", missing)
			}
		})
	}
}

// Kafka's own topic is taken as it is, whatever its partition count.
func TestExistingMetadataTopicIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 3)
	if err := c.CreateTopic(rlmmtest.MetadataTopic, 3, map[string]string{"retention.ms": "-1"}); err != nil {
		t.Fatal(err)
	}
	c.RunProcessor(func(cfg *processor.Config) { cfg.Partitions = 50 })
	publishLives(c, 0, 1)
	c.WaitApplied()
	c.VerifyTable()
	if got := len(c.PartitionInfos(rlmmtest.Table)); got != 3 {
		t.Errorf("the table has %d partitions", got)
	}
}

// Input that is gone before it was applied is a gap: counted, and passed by.
func TestGapIsCounted(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	publishLives(c, 0, 5)
	c.WaitApplied()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	publishLives(c, 5, 5)
	if err := c.DeleteRecords(rlmmtest.MetadataTopic, 0, 30); err != nil {
		t.Fatal(err)
	}
	p = c.RunProcessor(rlmmtest.InFolder(p.DataDir))
	c.WaitFor("the last record is applied", func() bool { return len(c.Answers(0)) == 30 })
	if s := p.Stats(); s.Gaps != 1 {
		t.Errorf("%d gaps", s.Gaps)
	}
}

func TestContextEndsRunWithoutError(t *testing.T) {
	t.Parallel()
	t.Run("while it processes", func(t *testing.T) {
		t.Parallel()
		c := rlmmtest.NewCluster(t, 2)
		p := c.RunProcessor()
		publishLives(c, 0, 10)
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Run("while it starts", func(t *testing.T) {
		t.Parallel()
		c := rlmmtest.NewCluster(t, 2)
		p := c.StartProcessor()
		c.WaitFor("it creates topics", func() bool { return c.TopicInfo(rlmmtest.MetadataTopic) != nil })
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Run("while there is no broker", func(t *testing.T) {
		t.Parallel()
		c := rlmmtest.NewCluster(t, 2)
		c.Close()
		if err := c.StartProcessor().Stop(); err != nil {
			t.Error(err)
		}
	})
}

// A store that can't be read is moved aside and built anew from the table.
func TestCorruptStoreIsRebuilt(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	publishLives(c, 0, 5)
	c.WaitApplied()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	current := filepath.Join(p.DataDir, "processor", "0", "CURRENT")
	if err := os.WriteFile(current, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	p = c.RunProcessor(rlmmtest.InFolder(p.DataDir))
	publishLives(c, 5, 5)
	c.WaitApplied()
	c.VerifyTable()
	if resets := p.Stats().Resets; resets != 1 {
		t.Errorf("%d stores were reset", resets)
	}
}

// A table that was created again while an owner went on writing begins with what that
// owner wrote. What came before is lost: nobody may take it for the whole.
func TestUnfencedTableIsRefused(t *testing.T) {
	t.Parallel()
	for name, stray := range map[string]func(*testing.T, *rlmmtest.Cluster) *kgo.Record{
		"an answer": func(_ *testing.T, c *rlmmtest.Cluster) *kgo.Record {
			answers := c.Answers(0)
			return answers[len(answers)-1]
		},
		"a position": lastPosition,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 1)
			p := c.RunProcessor()
			publishLives(c, 0, 5)
			c.WaitApplied()
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			r := stray(t, c)
			c.RecreateTopic(rlmmtest.Table)
			c.PublishTo(&kgo.Record{Topic: r.Topic, Key: r.Key, Value: r.Value, Headers: r.Headers})
			err := wantGivenUp(t, c, c.StartProcessor(), "rlmm reset", "rlmm-table/0")
			if unfenced := (*table.UnfencedError)(nil); !errors.As(err, &unfenced) {
				t.Errorf("%T: %v", err, err)
			}
		})
	}
}

// The topic grows by a partition: the table doesn't fit any more.
func TestPartitionsAddedUnderARunningProcessor(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	p := c.RunProcessor(soon)
	c.AddPartitions(rlmmtest.MetadataTopic, 3)
	err := wantGivenUp(t, c, p, "rlmm-table", "the partition count is 2, must be 3")
	if mismatch := (*kafka.MismatchError)(nil); !errors.As(err, &mismatch) {
		t.Errorf("%T: %v", err, err)
	}
}

// soon makes the processor look after itself every few milliseconds. It purges nothing:
// the events of tests are old.
func soon(c *processor.Config) {
	c.MaintainEvery = 20 * time.Millisecond
	c.PurgeAfter = math.MaxInt64
}

// The table gets a partition: its rows are looked for where they don't lie.
func TestPartitionsAddedToTheTable(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	p := c.RunProcessor(soon)
	c.AddPartitions(rlmmtest.Table, 3)
	err := wantGivenUp(t, c, p, "rlmm-table", "the partition count is 3, must be 2", "rlmm reset")
	if mismatch := (*kafka.MismatchError)(nil); !errors.As(err, &mismatch) {
		t.Errorf("%T: %v", err, err)
	}
}

// The table is deleted after the head of its input was: a table of what is left would be
// without segments that are there.
func TestLostTableOfATruncatedTopicIsRefused(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"stopped", "running"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 1)
			p := c.RunProcessor(soon)
			publishLives(c, 0, 10)
			c.WaitFor("all is committed", func() bool { return committed(t, c) == 40 })
			if err := c.DeleteRecords(rlmmtest.MetadataTopic, 0, 21); err != nil {
				t.Fatal(err)
			}
			if when == "stopped" {
				if err := p.Stop(); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.DeleteTopic(rlmmtest.Table); err != nil {
				t.Fatal(err)
			}
			if when == "stopped" {
				p = c.StartProcessor(rlmmtest.InFolder(p.DataDir))
			}
			err := wantGivenUp(t, c, p, "rlmm reset", "begins at 21", "up to 39")
			if lost := (*kafka.LostHeadError)(nil); !errors.As(err, &lost) {
				t.Errorf("%T: %v", err, err)
			}
			if answers := c.Answers(0); len(answers) > 0 {
				t.Errorf("%d answers in the new table", len(answers))
			}
		})
	}
}

// A fleet that is new goes on with what is left, and says so; so does it after it was
// killed before it had anything to apply.
func TestNewFleetOnATruncatedTopic(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	publishLives(c, 0, 10)
	if err := c.DeleteRecords(rlmmtest.MetadataTopic, 0, 40); err != nil {
		t.Fatal(err)
	}
	p := c.RunProcessor()
	if position := headerInt(t, lastPosition(t, c), "rlmm.offset"); position != 39 {
		t.Errorf("position %d, want 39", position)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	commit(t, c, 40)
	publishLives(c, 10, 1)
	again := c.RunProcessor()
	c.WaitFor("the last records are applied", func() bool { return len(c.Answers(0)) == 4 })
	if first, second := p.Stats().Gaps, again.Stats().Gaps; first != 1 || second != 0 {
		t.Errorf("%d and %d gaps, want 1 and 0", first, second)
	}
}
