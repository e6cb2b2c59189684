package processor_test

import (
	"errors"
	"testing"

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
