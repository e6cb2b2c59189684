package views_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
	"github.com/tieredlog/rlmm/processor"
	"github.com/tieredlog/rlmm/views"
)

// finished is a segment of epoch 0 that was copied, as its events.
func finished(s api.RemoteLogSegmentMetadata) []api.RemoteLogMetadata {
	return []api.RemoteLogMetadata{s, rlmmtest.Update(s, api.CopySegmentFinished)}
}

// wantSegment fails unless the look-up finds the segment.
func wantSegment(t *testing.T, m *views.Manager, tip api.TopicIdPartition, epoch int32, offset int64, want api.UUID) {
	t.Helper()
	s, ok, err := m.RemoteLogSegmentMetadata(t.Context(), tip, epoch, offset)
	if err != nil || ok == want.IsZero() || s.ID.ID != want {
		t.Errorf("@%d/%d = %s, %t, %v; want %s", epoch, offset, s.ID.ID, ok, err, want)
	}
}

// everyRead is each read of the contract, as its error alone.
var everyRead = map[string]func(context.Context, *views.Manager, api.TopicIdPartition) error{
	"segment": func(ctx context.Context, m *views.Manager, tip api.TopicIdPartition) error {
		_, _, err := m.RemoteLogSegmentMetadata(ctx, tip, 0, 0)
		return err
	},
	"next": func(ctx context.Context, m *views.Manager, tip api.TopicIdPartition) error {
		_, _, err := m.NextSegmentWithTxnIndex(ctx, tip, 0, 0)
		return err
	},
	"highest": func(ctx context.Context, m *views.Manager, tip api.TopicIdPartition) error {
		_, _, err := m.HighestOffsetForEpoch(ctx, tip, 0)
		return err
	},
	"list": func(ctx context.Context, m *views.Manager, tip api.TopicIdPartition) error {
		_, err := m.ListRemoteLogSegments(ctx, tip)
		return err
	},
	"list by epoch": func(ctx context.Context, m *views.Manager, tip api.TopicIdPartition) error {
		_, err := m.ListRemoteLogSegmentsByEpoch(ctx, tip, 0)
		return err
	},
	"size": func(ctx context.Context, m *views.Manager, tip api.TopicIdPartition) error {
		_, err := m.RemoteLogSize(ctx, tip, 0)
		return err
	},
}

// wantEveryRead fails unless each read gives the error, nil for none.
func wantEveryRead(t *testing.T, m *views.Manager, tip api.TopicIdPartition, want error) {
	t.Helper()
	for name, read := range everyRead {
		if err := read(t.Context(), m, tip); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", name, err, want)
		}
	}
	if got := m.IsReady(t.Context(), tip); got != (want == nil) {
		t.Errorf("ready: %t", got)
	}
}

// C08 (a): everything has expired, before a processor ever saw it.
func TestReadyOnATopicWhoseRecordsAreGone(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	tip := c.PartitionOn(0, 0)
	for range 10 {
		c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	}
	if err := c.DeleteRecords(rlmmtest.MetadataTopic, 0, -1); err != nil {
		t.Fatal(err)
	}
	m := c.ReadyManager() // and without one
	wantEveryRead(t, m, tip, nil)
	if caught, err := m.CaughtUp(t.Context(), tip); !caught || err != nil {
		t.Errorf("caught up: %t, %v", caught, err)
	}
	wantSegment(t, m, tip, 0, 5, api.UUID{})
	c.RunProcessor()
	c.PublishEvents(finished(rlmmtest.Segment(tip, 2, 10, 19))...)
	c.WaitFor("later events", func() bool {
		_, ok, err := m.RemoteLogSegmentMetadata(t.Context(), tip, 0, 15)
		return ok && err == nil
	})
}

func TestReadyOnAnEmptyTopic(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 3)
	c.RunProcessor()
	m := c.ReadyManager()
	for p := range c.Partitions {
		wantEveryRead(t, m, c.PartitionOn(p, 0), nil)
	}
}

// C08 (b): the last offsets are control records, which nobody ever applies.
func TestReadyBehindControlRecords(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	a := rlmmtest.Segment(tip, 1, 0, 9)
	c.PublishInTransaction(c.Records(finished(a)...)...)
	c.PublishInTransaction(c.Records(finished(rlmmtest.Segment(tip, 2, 10, 19))...)...)
	if end := c.PartitionInfo(rlmmtest.MetadataTopic, 0).HighWatermark; end != 6 {
		t.Fatalf("the topic ends at %d", end)
	}
	m := c.ReadyManager()
	wantSegment(t, m, tip, 0, 15, rlmmtest.ID(2))
	if caught, err := m.CaughtUp(t.Context(), tip); !caught || err != nil {
		t.Errorf("caught up: %t, %v", caught, err)
	}
	if _, err := m.UpdateRemoteLogSegmentMetadata(c.Context(), rlmmtest.Update(a, api.CopySegmentStarted)); !errors.Is(err, api.ErrInvalidSegmentTransition) {
		t.Errorf("a refusal behind control records: %v", err)
	}
}

// C08 (c): what the fleet hasn't applied is waited for, and reads aren't empty answers
// meanwhile.
func TestNotReadyBeforeTheEndIsApplied(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	c.WaitApplied()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	c.PublishEvents(finished(rlmmtest.Segment(tip, 2, 10, 19))...)
	m := c.NewManager()
	if err := m.ReconcileAssignment(c.Context(), c.All()); err != nil {
		t.Fatal(err)
	}
	notReady := func() (e *api.NotReadyError) {
		_, err := m.ListRemoteLogSegments(t.Context(), tip)
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		return e
	}
	c.WaitFor("it has applied what there is", func() bool { return notReady().Applied == 1 })
	if e := notReady(); e.Target != 3 || !e.Assigned || e.MetadataPartition != 0 {
		t.Errorf("%+v", e)
	}
	wantEveryRead(t, m, tip, api.ErrNotReady)
	c.WaitFor("only that one isn't ready", func() bool {
		err := m.Ready()
		return errors.Is(err, api.ErrNotReady) && !strings.Contains(err.Error(), "partition 1")
	})
	if _, err := m.CaughtUp(t.Context(), tip); !errors.Is(err, api.ErrNotReady) {
		t.Errorf("caught up: %v", err)
	}
	if _, err := m.UserPartitions(t.Context()); !errors.Is(err, api.ErrNotReady) {
		t.Errorf("user partitions: %v", err)
	}
	at, err := m.AddRemoteLogSegmentMetadata(t.Context(), rlmmtest.Segment(tip, 3, 20, 29))
	if !errors.Is(err, api.ErrNotReady) || at != api.NotPublished {
		t.Errorf("add: %v, %v", at, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := m.WaitReady(short); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, api.ErrNotReady) {
		t.Errorf("wait: %v", err)
	}
	c.RunProcessor()
	if err := m.WaitReady(c.Context()); err != nil {
		t.Fatal(err)
	}
	wantEveryRead(t, m, tip, nil)
	wantSegment(t, m, tip, 0, 15, rlmmtest.ID(2))
	if err := m.Ready(); err != nil {
		t.Error(err)
	}
}

// C08 (d): the end offset can't be had for a while. It heals by itself.
func TestEndOffsetFailuresHeal(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	m := c.NewManager()
	fault := c.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: rlmmtest.MetadataTopic, Err: kerr.LeaderNotAvailable, Count: -1,
	})
	if err := m.ReconcileAssignment(c.Context(), c.All()); err != nil {
		t.Fatal(err)
	}
	if err := fault.Wait(c.Context(), 4); err != nil {
		t.Fatal(err)
	}
	wantEveryRead(t, m, tip, api.ErrNotReady)
	c.WaitFor("the cause is told", func() bool {
		err := m.Ready()
		return err != nil && strings.Contains(err.Error(), "end offset not known: ")
	})
	fault.Remove()
	if err := m.WaitReady(c.Context()); err != nil {
		t.Fatal(err)
	}
	wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))

	fault = c.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: rlmmtest.MetadataTopic, Err: kerr.LeaderNotAvailable, Count: -1,
	})
	if caught, err := m.CaughtUp(t.Context(), tip); caught || !errors.Is(err, api.ErrIO) {
		t.Errorf("caught up without an end: %t, %v", caught, err)
	}
	wantEveryRead(t, m, tip, nil)
	fault.Remove()
	if caught, err := m.CaughtUp(t.Context(), tip); !caught || err != nil {
		t.Errorf("caught up: %t, %v", caught, err)
	}
}

// C08 (e): what isn't consumed here is an error and never an empty answer.
func TestNotAssigned(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	c.RunProcessor()
	here, there := c.PartitionOn(0, 0), c.PartitionOn(1, 0)
	c.PublishEvents(append(finished(rlmmtest.Segment(here, 1, 0, 9)), finished(rlmmtest.Segment(there, 2, 0, 9))...)...)
	m := c.NewManager()
	wantEveryRead(t, m, here, api.ErrNotAssigned)
	if err := m.ReconcileAssignment(c.Context(), []int32{0}); err != nil {
		t.Fatal(err)
	}
	if err := m.WaitReady(c.Context()); err != nil {
		t.Fatal(err)
	}
	wantEveryRead(t, m, here, nil)
	wantEveryRead(t, m, there, api.ErrNotAssigned)
	if caught, err := m.CaughtUp(t.Context(), there); caught || err != nil {
		t.Errorf("caught up: %t, %v", caught, err)
	}
	for name, mutate := range map[string]func() (api.Position, error){
		"add": func() (api.Position, error) {
			return m.AddRemoteLogSegmentMetadata(t.Context(), rlmmtest.Segment(there, 3, 10, 19))
		},
		"update": func() (api.Position, error) {
			return m.UpdateRemoteLogSegmentMetadata(t.Context(), rlmmtest.Update(rlmmtest.Segment(there, 2, 0, 9), api.DeleteSegmentStarted))
		},
		"delete": func() (api.Position, error) {
			return m.PutRemotePartitionDeleteMetadata(t.Context(), rlmmtest.Delete(there, api.DeletePartitionMarked))
		},
	} {
		if at, err := mutate(); !errors.Is(err, api.ErrNotAssigned) || !errors.Is(err, api.ErrNotReady) || at != api.NotPublished {
			t.Errorf("%s: %v, %v", name, at, err)
		}
	}
	if end := c.PartitionInfo(rlmmtest.MetadataTopic, 1).HighWatermark; end != 2 {
		t.Errorf("something was published: the end is %d", end)
	}
}

func TestBadQueries(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	m := c.ReadyManager()
	for name, tip := range map[string]api.TopicIdPartition{
		"no topic id": {Topic: "orders"}, "negative partition": {TopicID: rlmmtest.ID(1), Partition: -1},
	} {
		t.Run(name, func(t *testing.T) { wantEveryRead(t, m, tip, api.ErrInvalidArgument) })
		if _, err := m.CaughtUp(t.Context(), tip); !errors.Is(err, api.ErrInvalidArgument) {
			t.Errorf("caught up: %v", err)
		}
	}
	tip := c.PartitionOn(0, 0)
	if _, _, err := m.RemoteLogSegmentMetadata(t.Context(), tip, 0, -1); !errors.Is(err, api.ErrInvalidArgument) {
		t.Errorf("negative offset: %v", err)
	}
	if _, _, err := m.NextSegmentWithTxnIndex(t.Context(), tip, 0, -1); !errors.Is(err, api.ErrInvalidArgument) {
		t.Errorf("negative offset: %v", err)
	}
}

// C09: a user partition is asked for late, while another one of the same metadata
// partition is asked all the time; and a metadata partition is assigned late.
func TestLatePartition(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	c.RunProcessor()
	p, q, r := c.PartitionOn(0, 0), c.PartitionOn(0, 1), c.PartitionOn(1, 0)
	a, b := rlmmtest.Segment(p, 1, 0, 9), rlmmtest.Segment(q, 2, 0, 9)
	c.PublishEvents(a, b, rlmmtest.Update(b, api.CopySegmentFinished), rlmmtest.Update(a, api.CopySegmentFinished))
	c.PublishEvents(finished(rlmmtest.Segment(r, 3, 0, 9))...)
	m := c.NewManager()
	assign := func(partitions ...int32) {
		if err := m.ReconcileAssignment(c.Context(), partitions); err != nil {
			t.Error(err)
		}
		if err := m.WaitReady(c.Context()); err != nil {
			t.Error(err)
		}
	}
	assign(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			wantSegment(t, m, p, 0, 5, a.ID.ID)
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	wantSegment(t, m, q, 0, 5, b.ID.ID)
	assign(0, 1)
	wantSegment(t, m, r, 0, 5, rlmmtest.ID(3))
	for n := range 15 {
		c.PublishEvents(finished(rlmmtest.Segment(q, 10+n, int64(n)*10+10, int64(n)*10+19))...)
	}
	c.WaitFor("the last event", func() bool {
		_, ok, err := m.RemoteLogSegmentMetadata(t.Context(), q, 0, 159)
		return ok && err == nil
	})
	close(stop)
	<-stopped
}

// C14: the table is deleted and created again under the manager, and the fleet fills it
// anew.
func TestTableRecreated(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor(func(cfg *processor.Config) { cfg.MaintainEvery, cfg.PurgeAfter = 50*time.Millisecond, 1<<62 })
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	dir := t.TempDir()
	inDir := func(cfg *views.Config) { cfg.DataDir = dir }
	m := c.ReadyManager(inDir)
	wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))
	c.RecreateTopic(rlmmtest.Table)
	c.WaitApplied()
	c.PublishEvents(finished(rlmmtest.Segment(tip, 2, 10, 19))...)
	c.WaitFor("the rebuilt table's rows", func() bool {
		_, ok, err := m.RemoteLogSegmentMetadata(t.Context(), tip, 0, 15)
		return ok && err == nil
	})
	wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	c.RecreateTopic(rlmmtest.Table) // while it is down
	c.WaitApplied()
	m = c.ReadyManager(inDir)
	wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))
	wantSegment(t, m, tip, 0, 15, rlmmtest.ID(2))
}

// wantNeverReady waits until the partition isn't ready because of what can't heal.
func wantNeverReady[E error](t *testing.T, c *rlmmtest.Cluster, m *views.Manager, tip api.TopicIdPartition) {
	t.Helper()
	var cause E
	c.WaitFor("the cause", func() bool {
		_, err := m.ListRemoteLogSegments(t.Context(), tip)
		return errors.Is(err, api.ErrNotReady) && errors.As(err, &cause)
	})
	if !strings.Contains(cause.Error(), "rlmm reset") {
		t.Errorf("no remedy: %v", cause)
	}
	wantEveryRead(t, m, tip, api.ErrNotReady)
}

// wantNotCaughtUp fails unless the question is an error: there is nothing to catch up
// with.
func wantNotCaughtUp(t *testing.T, m *views.Manager, tip api.TopicIdPartition) {
	t.Helper()
	if caught, err := m.CaughtUp(t.Context(), tip); caught || !errors.Is(err, api.ErrNotReady) {
		t.Errorf("caught up: %t, %v", caught, err)
	}
}

// C14: the metadata topic is another one now. Whoever looks at it sees that, and then
// nothing is answered any more.
func TestMetadataTopicRecreated(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, m *views.Manager, tip api.TopicIdPartition) {
		at, err := m.AddRemoteLogSegmentMetadata(t.Context(), rlmmtest.Segment(tip, 1, 0, 9))
		if !errors.Is(err, api.ErrNotReady) || at != api.NotPublished {
			t.Errorf("%v, %v", at, err)
		}
	}
	for _, tt := range []struct {
		name   string
		refill int // events
		look   func(*testing.T, *views.Manager, api.TopicIdPartition)
	}{
		{"empty, asked whether it is caught up", 0, wantNotCaughtUp},
		{"as long, asked whether it is caught up", 2, wantNotCaughtUp},
		{"longer, asked whether it is caught up", 9, wantNotCaughtUp},
		{"empty, a refused mutation", 0, refused},
		{"as long, a refused mutation", 2, refused},
		{"longer, a refused mutation", 9, refused},
		{"empty, a mutation that is published", 0, func(t *testing.T, m *views.Manager, tip api.TopicIdPartition) {
			at, err := m.AddRemoteLogSegmentMetadata(t.Context(), rlmmtest.Segment(tip, 2, 10, 19))
			if want := (api.Position{}); !errors.Is(err, api.ErrTimeout) || at != want {
				t.Errorf("%v, %v", at, err)
			}
		}},
		{"as long, nobody asks", 2, func(*testing.T, *views.Manager, api.TopicIdPartition) {}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 1)
			p := c.RunProcessor()
			tip := c.PartitionOn(0, 0)
			c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
			m := c.ReadyManager()
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			c.RecreateTopic(rlmmtest.MetadataTopic)
			for n := range tt.refill {
				c.PublishEvents(rlmmtest.Segment(tip, 100+n, 0, 9))
			}
			tt.look(t, m, tip)
			if tt.refill == 0 {
				wantNeverReady[*kafka.TruncatedError](t, c, m, tip)
			} else {
				wantNeverReady[*store.IdentityError](t, c, m, tip)
			}
			wantNotCaughtUp(t, m, tip)
			if at, err := mutation(c, m, rlmmtest.Segment(tip, 3, 20, 29)); !errors.Is(err, api.ErrNotReady) || at != api.NotPublished {
				t.Errorf("a mutation afterwards: %v, %v", at, err)
			}
		})
	}
}

// movedOn returns a user partition that another count of metadata partitions moves to
// one of the new ones.
func movedOn(c *rlmmtest.Cluster, partitions int32) api.TopicIdPartition {
	for n := 1; ; n++ {
		tip := api.TopicIdPartition{TopicID: rlmmtest.ID(n), Topic: "orders"}
		if codec.MetadataPartition(tip, partitions) >= c.Partitions {
			return tip
		}
	}
}

// The metadata topic gets more partitions, and others publish to the new ones, which
// nobody reads. To be caught up with the old ones means nothing then.
func TestMetadataTopicWithMorePartitions(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]bool{"asked whether it is caught up": true, "nobody asks": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 2)
			p := c.RunProcessor()
			m := c.ReadyManager()
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			tip := movedOn(c, 5)
			c.AddPartitions(rlmmtest.MetadataTopic, 5)
			added := c.Record(rlmmtest.Segment(tip, 1, 0, 9))
			added.Partition = codec.MetadataPartition(tip, 5)
			c.Publish(added)
			if asks {
				wantNotCaughtUp(t, m, tip)
			}
			var mismatch *kafka.MismatchError
			c.WaitFor("the cause", func() bool {
				_, err := m.ListRemoteLogSegments(t.Context(), tip)
				return errors.Is(err, api.ErrNotReady) && errors.As(err, &mismatch)
			})
			if mismatch.Topic != rlmmtest.MetadataTopic || mismatch.Want != "2" || mismatch.Got != "5" {
				t.Errorf("%+v", mismatch)
			}
			wantEveryRead(t, m, tip, api.ErrNotReady)
			wantNotCaughtUp(t, m, tip)
		})
	}
}

// A newer release wrote a row. What this one can't read it doesn't pass by, whether or
// not it had an index to put the row in.
func TestRowOfANewerVersion(t *testing.T) {
	t.Parallel()
	for name, indexed := range map[string]bool{"with an index": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 1)
			p := c.RunProcessor()
			s := rlmmtest.Segment(c.PartitionOn(0, 0), 1, 0, 9)
			tip := s.Partition()
			c.PublishEvents(finished(s)...)
			m := c.ReadyManager()
			if indexed {
				wantSegment(t, m, tip, 0, 5, s.ID.ID)
			}
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			c.PublishEvents(rlmmtest.Update(s, api.DeleteSegmentStarted))
			c.PublishTo(&kgo.Record{
				Topic: rlmmtest.Table, Key: []byte(codec.SegmentKey(s.ID)), Value: []byte{byte(codec.NewestRowVersion + 1), 1},
				Headers: []kgo.RecordHeader{
					{Key: "rlmm.offset", Value: []byte("2")}, {Key: "rlmm.outcome", Value: []byte(codec.OutcomeApplied.String())},
				},
			})
			fresh := c.NewManager()
			if err := fresh.ReconcileAssignment(c.Context(), c.All()); err != nil {
				t.Fatal(err)
			}
			for _, m := range []*views.Manager{m, fresh} {
				var newer *codec.RowVersionError
				c.WaitFor("the cause", func() bool {
					err := m.Ready()
					return errors.Is(err, api.ErrNotReady) && errors.As(err, &newer)
				})
				if newer.Version != codec.NewestRowVersion+1 {
					t.Errorf("version %d", newer.Version)
				}
				wantEveryRead(t, m, tip, api.ErrNotReady)
			}
		})
	}
}

// A manager that starts on a table of another metadata topic, with its data and
// without.
func TestStartOnARecreatedMetadataTopic(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	dir := t.TempDir()
	m := c.ReadyManager(func(cfg *views.Config) { cfg.DataDir = dir })
	running := c.ReadyManager()
	if err := errors.Join(m.Close(), p.Stop()); err != nil {
		t.Fatal(err)
	}
	c.RecreateTopic(rlmmtest.MetadataTopic)
	for _, folder := range []string{dir, t.TempDir()} {
		m := c.NewManager(func(cfg *views.Config) { cfg.DataDir = folder })
		if err := m.ReconcileAssignment(c.Context(), c.All()); err != nil {
			t.Fatal(err)
		}
		wantNeverReady[*store.IdentityError](t, c, m, tip)
	}
	// The fleet is refused too; those who run look at the topic themselves.
	if err := c.StartProcessor().Wait(c.Context()); err == nil || !strings.Contains(err.Error(), "rlmm reset") {
		t.Errorf("the processor: %v", err)
	}
	wantNeverReady[*store.IdentityError](t, c, running, tip)
}

// A table that lacks its beginning is never taken for the whole.
func TestUnfencedTable(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	c.WaitApplied()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	answers := c.Answers(0)
	last := answers[len(answers)-1]
	c.RecreateTopic(rlmmtest.Table)
	c.PublishTo(&kgo.Record{Topic: last.Topic, Key: last.Key, Value: last.Value, Headers: last.Headers})
	m := c.NewManager()
	if err := m.ReconcileAssignment(c.Context(), c.All()); err != nil {
		t.Fatal(err)
	}
	wantNeverReady[*table.UnfencedError](t, c, m, tip)
}

// What nobody of rlmm wrote is counted and passed by.
func TestForeignTableRecords(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	c.WaitApplied()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	c.PublishTo(&kgo.Record{Topic: rlmmtest.Table, Key: []byte("nonsense"), Value: []byte("x")})
	m := c.ReadyManager()
	wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))
	q := c.RunProcessor()
	c.PublishEvents(finished(rlmmtest.Segment(tip, 2, 10, 19))...)
	c.WaitFor("it goes on", func() bool {
		_, ok, err := m.RemoteLogSegmentMetadata(t.Context(), tip, 0, 15)
		return ok && err == nil
	})
	if n := q.Stats().Foreign; n != 1 {
		t.Errorf("%d foreign records", n)
	}
}
