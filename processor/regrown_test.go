package processor_test

import (
	"errors"
	"testing"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/processor"
)

// A broker was restored from a backup, and the metadata topic grew again past what is
// applied. What is there isn't what the table was made from, whether a processor has its
// store, or learns of it from the table alone.
func TestRegrownMetadataTopicIsRefused(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"kept", "new"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewKeptCluster(t, 1)
			p := c.RunProcessor()
			tip := c.PartitionOn(0, 0)
			c.PublishEvents(rlmmtest.Segment(tip, 1, 0, 9))
			c.WaitApplied()
			stop(t, p)
			backup := c.Backup()
			p = c.RunProcessor(rlmmtest.InFolder(p.DataDir))
			c.PublishEvents(rlmmtest.Segment(tip, 2, 10, 19), rlmmtest.Segment(tip, 3, 20, 29))
			c.WaitApplied()
			stop(t, p)
			backup.Restore(rlmmtest.MetadataTopic)
			for n := range 4 {
				c.PublishEvents(rlmmtest.Segment(tip, 11+n, 10, 19))
			}
			again := c.StartProcessor(func(cfg *processor.Config) {
				if folder == "kept" {
					cfg.DataDir = p.DataDir
				}
			})
			err := wantGivenUp(t, c, again, "another record at 2", "rlmm reset")
			if regrown := (*kafka.RegrownError)(nil); !errors.As(err, &regrown) {
				t.Errorf("%T: %v", err, err)
			}
		})
	}
}

// The metadata topic loses its end and grows again under a processor that is running.
func TestRegrownMetadataTopicUnderAProcessor(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewKeptCluster(t, 1)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(rlmmtest.Segment(tip, 1, 0, 9))
	c.WaitApplied()
	backup := c.Backup()
	c.PublishEvents(rlmmtest.Segment(tip, 2, 10, 19))
	c.WaitApplied()
	backup.Restore(rlmmtest.MetadataTopic)
	c.PublishEvents(rlmmtest.Segment(tip, 11, 10, 19), rlmmtest.Segment(tip, 12, 20, 29))
	_ = wantGivenUp(t, c, p, "rlmm reset")
	if answers := c.Answers(0); len(answers) != 2 {
		t.Errorf("%d answers", len(answers))
	}
}

// The table lost its end and grew again: a store from before is of no use, and nothing is
// judged by it.
func TestRegrownTableIsReadAnew(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewKeptCluster(t, 1)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(rlmmtest.Segment(tip, 1, 0, 9))
	c.WaitApplied()
	stop(t, p)
	backup := c.Backup()
	p = c.RunProcessor(rlmmtest.InFolder(p.DataDir))
	c.PublishEvents(rlmmtest.Segment(tip, 2, 10, 19), rlmmtest.Segment(tip, 3, 20, 29))
	c.WaitApplied()
	stop(t, p)
	backup.Restore()
	other := c.RunProcessor()
	for n := range 5 {
		c.PublishEvents(rlmmtest.Segment(tip, 11+n, 10, 19))
	}
	c.WaitApplied()
	stop(t, other)
	p = c.RunProcessor(rlmmtest.InFolder(p.DataDir))
	if s := p.Stats(); s.Resets != 1 {
		t.Errorf("%+v", s)
	}
	unknown, known := rlmmtest.Segment(tip, 2, 10, 19), rlmmtest.Segment(tip, 11, 10, 19)
	c.PublishEvents(rlmmtest.Update(unknown, api.CopySegmentFinished), rlmmtest.Update(known, api.CopySegmentFinished))
	c.WaitApplied()
	c.VerifyTable()
}

// A store whose table is as it was stays, also when the broker was restarted.
func TestStoreOfTheSameTableStays(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewKeptCluster(t, 1)
	p := c.RunProcessor()
	for range 3 {
		publishLives(c, 0, 3)
		c.WaitApplied()
		stop(t, p)
		c.Backup()
		p = c.RunProcessor(rlmmtest.InFolder(p.DataDir))
		if s := p.Stats(); s.Resets != 0 {
			t.Errorf("%+v", s)
		}
	}
	c.VerifyTable()
}

func stop(t *testing.T, p *rlmmtest.Processor) {
	t.Helper()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
}

// endsAt has the broker say that a topic ends at the offset, which has one partition.
func endsAt(c *rlmmtest.Cluster, topic string, end int64) {
	c.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		req := r.(*kmsg.ListOffsetsRequest) //nolint:forcetypeassert // of its key
		if len(req.Topics) != 1 || req.Topics[0].Topic != topic || req.Topics[0].Partitions[0].Timestamp != sarama.OffsetNewest {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse) //nolint:forcetypeassert // of its request
		of, part := kmsg.NewListOffsetsResponseTopic(), kmsg.NewListOffsetsResponseTopicPartition()
		part.Offset = end
		of.Topic, of.Partitions = topic, append(of.Partitions, part)
		resp.Topics = append(resp.Topics, of)
		return resp, nil, true
	})
}

// The metadata topic loses its end with its leader, and the table takes no answers
// meanwhile. The answer to a record that is nowhere any more waits until it does.
func TestAnswerToALostRecordIsNotWritten(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(rlmmtest.Segment(tip, 1, 0, 9))
	c.WaitApplied()
	refused := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: rlmmtest.Table, Count: -1, Err: kerr.NotEnoughReplicas})
	c.PublishEvents(rlmmtest.Segment(tip, 2, 10, 19))
	c.WaitFor("the answer is refused", func() bool { return refused.Hits() > 0 })
	endsAt(c, rlmmtest.MetadataTopic, 1)
	if err := c.MoveTopicPartition(rlmmtest.MetadataTopic, 0, c.PartitionInfo(rlmmtest.MetadataTopic, 0).Leader); err != nil {
		t.Fatal(err)
	}
	refused.Remove()
	_ = wantGivenUp(t, c, p, "ends at 1, but 1 is applied", "rlmm reset")
	if answers := c.Answers(0); len(answers) != 1 {
		t.Errorf("%d answers", len(answers))
	}
}
