package processor_test

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/recording"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/processor"
)

// refuseRejections answers what is produced to the rejected events with the error while
// refuse says so; it is asked with how many were refused before.
func refuseRejections(c *rlmmtest.Cluster, code *kerr.Error, refuse func(before int64) bool) {
	var refused atomic.Int64
	c.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		topic := r.(*kmsg.ProduceRequest).Topics[0].Topic
		if topic != rlmmtest.Rejected || !refuse(refused.Load()) {
			return nil, nil, false
		}
		refused.Add(1)
		partition := kmsg.NewProduceResponseTopicPartition()
		partition.ErrorCode, partition.BaseOffset = code.Code, -1
		answer := r.ResponseKind().(*kmsg.ProduceResponse)
		answer.Topics = []kmsg.ProduceResponseTopic{{Topic: topic, Partitions: []kmsg.ProduceResponseTopicPartition{partition}}}
		return answer, nil, true
	})
}

// publishPoison publishes records that nobody can read, and an event behind them.
func publishPoison(c *rlmmtest.Cluster, n int) (poison []string) {
	var records []recording.Event
	for i := range n {
		poison = append(poison, strings.Repeat("p", i+1))
		records = append(records, rlmmtest.Raw(0, []byte(poison[i])))
	}
	c.Publish(append(records, c.Record(rlmmtest.Segment(c.PartitionOn(0, 0), 1, 0, 9)))...)
	return poison
}

// wantRejected sees that just these records are rejected, each at least once.
func wantRejected(t *testing.T, c *rlmmtest.Cluster, want []string) {
	t.Helper()
	rejected := map[string]bool{}
	for _, r := range c.Read(rlmmtest.Rejected, 0) {
		rejected[string(r.Value)] = true
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(rejected))); diff != "" {
		t.Errorf("rejected: %s", diff)
	}
}

// The rejected events aren't taken for longer than their producer tries: the partition
// waits, others don't, and no rejection is lost.
func TestRejectionsOutlastAnOutage(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	p := c.RunProcessor()
	var over atomic.Bool
	var refused atomic.Int64
	refuseRejections(c, kerr.NotEnoughReplicas, func(before int64) bool {
		refused.Store(before)
		return !over.Load()
	})
	poison := publishPoison(c, 10)
	c.PublishEvents(rlmmtest.Segment(c.PartitionOn(1, 0), 1, 0, 9))
	c.WaitFor("the other partition", func() bool { return len(c.Answers(1)) == 1 })
	c.WaitFor("more tries than a producer makes", func() bool { return refused.Load() > 40 })
	if n := len(c.Answers(0)); n != 0 {
		t.Errorf("%d answers before their rejections", n)
	}
	over.Store(true)
	c.WaitApplied()
	wantRejected(t, c, poison)
	if n := p.Stats().Sessions; n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
	c.VerifyTable()
}

// An error that the producer doesn't retry loses no rejection.
func TestRejectionsOutlastAnError(t *testing.T) {
	t.Parallel()
	for _, code := range []*kerr.Error{kerr.UnknownServerError, kerr.OutOfOrderSequenceNumber, kerr.InvalidTimestamp} {
		t.Run(code.Message, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 1)
			c.RunProcessor()
			refuseRejections(c, code, func(before int64) bool { return before < 1 })
			poison := publishPoison(c, 3)
			c.WaitApplied()
			wantRejected(t, c, poison)
			c.VerifyTable()
		})
	}
}

// A processor ends before a rejection is taken: the next one rejects the event.
func TestRejectionOutlivesItsProcessor(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	var over atomic.Bool
	tried := make(chan struct{})
	refuseRejections(c, kerr.NotEnoughReplicas, func(before int64) bool {
		if before == 1 {
			close(tried)
		}
		return !over.Load()
	})
	poison := publishPoison(c, 3)
	<-tried
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	over.Store(true)
	c.RunProcessor(rlmmtest.InFolder(p.DataDir))
	c.WaitApplied()
	wantRejected(t, c, poison)
	c.VerifyTable()
}

func lookOften(cfg *processor.Config) { cfg.MaintainEvery = 20 * time.Millisecond }

// The topic of the rejected events is deleted under a processor that creates topics.
func TestDeletedRejectedTopicIsCreatedAgain(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor(lookOften)
	if err := c.DeleteTopic(rlmmtest.Rejected); err != nil {
		t.Fatal(err)
	}
	poison := publishPoison(c, 3)
	c.WaitApplied()
	wantRejected(t, c, poison)
	c.VerifyTable()
}

// One that creates none names what is missing.
func TestDeletedRejectedTopicIsNamed(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	p := c.RunProcessor(lookOften, func(cfg *processor.Config) { cfg.CreateTopics = false })
	if err := c.DeleteTopic(rlmmtest.Rejected); err != nil {
		t.Fatal(err)
	}
	_ = wantGivenUp(t, c, p, rlmmtest.Rejected, "--create-topics")
}

// Of two processors with one group.instance.id the first ends, and names the remedy.
func TestSharedInstanceIDEndsTheFirst(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	id := func(cfg *processor.Config) { cfg.InstanceID = "one" }
	first := c.RunProcessor(id)
	second := c.RunProcessor(id)
	if err := wantGivenUp(t, c, first, `"one"`, "--instance-id"); kafka.CanHeal(err) {
		t.Errorf("%v is tried again", err)
	}
	publishLives(c, 0, 2)
	c.WaitApplied()
	if _, running := second.Running(); !running {
		t.Error("the second doesn't run")
	}
}
