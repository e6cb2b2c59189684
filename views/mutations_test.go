package views_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/views"
)

// mutation makes the event through the manager.
func mutation(c *rlmmtest.Cluster, m *views.Manager, event api.RemoteLogMetadata) (api.Position, error) {
	switch e := event.(type) {
	case api.RemoteLogSegmentMetadata:
		return m.AddRemoteLogSegmentMetadata(c.Context(), e)
	case api.RemoteLogSegmentMetadataUpdate:
		return m.UpdateRemoteLogSegmentMetadata(c.Context(), e)
	case api.RemotePartitionDeleteMetadata:
		return m.PutRemotePartitionDeleteMetadata(c.Context(), e)
	}
	panic(fmt.Sprintf("%T", event))
}

func end(c *rlmmtest.Cluster) int64 { return c.PartitionInfo(rlmmtest.MetadataTopic, 0).HighWatermark }

// Every outcome as a manager gives it that sees what forbids the event: nothing that is
// refused is published, and each accepted event lies where it is said to.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	m := c.ReadyManager()
	tip := c.PartitionOn(0, 0)
	s := rlmmtest.Segment(tip, 1, 0, 9)
	unknown := rlmmtest.Segment(tip, 2, 0, 9)
	wrongState, noEpochs, noID := s, s, s
	wrongState.State = api.CopySegmentFinished
	noEpochs.LeaderEpochs = api.LeaderEpochs{}
	noID.ID.ID = api.UUID{}
	custom := rlmmtest.Update(s, api.CopySegmentFinished)
	custom.CustomMetadata = api.NewCustomMetadata([]byte{1, 2})
	known := s
	huge := rlmmtest.Segment(tip, 3, 0, 9)
	huge.CustomMetadata = api.NewCustomMetadata(make([]byte, 2<<20))
	for _, step := range []struct {
		name  string
		event api.RemoteLogMetadata
		want  error
	}{
		{"an update before its add", rlmmtest.Update(s, api.CopySegmentFinished), &api.SegmentNotFoundError{ID: s.ID}},
		{"an add in the wrong state", wrongState, &api.InvalidAddError{ID: s.ID, State: api.CopySegmentFinished}},
		{"no epochs", noEpochs, api.ErrInvalidArgument},
		{"no id", noID, api.ErrInvalidArgument},
		{"an update without an id", rlmmtest.Update(noID, api.CopySegmentFinished), api.ErrInvalidArgument},
		{"a delete in no state", rlmmtest.Delete(tip, api.DeletePartitionNone), api.ErrInvalidArgument},
		{"an add", s, nil},
		{"the same add", s, &api.InvalidAddError{ID: s.ID, Known: &known}},
		{"back to the start", rlmmtest.Update(s, api.CopySegmentStarted), &api.InvalidSegmentTransitionError{ID: s.ID}},
		{"deleted too early", rlmmtest.Update(s, api.DeleteSegmentFinished), &api.InvalidSegmentTransitionError{ID: s.ID, To: api.DeleteSegmentFinished}},
		{"finished", custom, nil},
		{"finished again", rlmmtest.Update(s, api.CopySegmentFinished), nil},
		{"deletion skips a step", rlmmtest.Delete(tip, api.DeletePartitionStarted), &api.InvalidPartitionDeleteTransitionError{
			TopicIdPartition: tip, From: api.DeletePartitionNone, To: api.DeletePartitionStarted,
		}},
		{"marked", rlmmtest.Delete(tip, api.DeletePartitionMarked), nil},
		{"finished too early", rlmmtest.Delete(tip, api.DeletePartitionFinished), &api.InvalidPartitionDeleteTransitionError{
			TopicIdPartition: tip, From: api.DeletePartitionMarked, To: api.DeletePartitionFinished,
		}},
		{"an update of an unknown segment", rlmmtest.Update(unknown, api.DeleteSegmentStarted), &api.SegmentNotFoundError{ID: unknown.ID}},
		{"too large for the topic", huge, api.ErrInvalidArgument},
		{"after all that", unknown, nil},
	} {
		before := end(c)
		at, err := mutation(c, m, step.event)
		switch {
		case step.want == nil:
			if at != (api.Position{Offset: before}) || err != nil {
				t.Errorf("%s: %v, %v; want it at %d", step.name, at, err, before)
			}
			continue
		case errors.Is(step.want, api.ErrInvalidArgument):
			if !errors.Is(err, api.ErrInvalidArgument) {
				t.Errorf("%s: %v", step.name, err)
			}
		default:
			if diff := cmp.Diff(step.want.Error(), fmt.Sprint(err)); diff != "" {
				t.Errorf("%s: %s", step.name, diff)
			}
		}
		if at != api.NotPublished || end(c) != before {
			t.Errorf("%s: it was published at %v", step.name, at)
		}
	}
	stored, _, err := m.RemoteLogSegmentMetadata(t.Context(), tip, 0, 5)
	want := s
	want.State, want.BrokerID, want.EventTimestampMs = api.CopySegmentFinished, 2, 20
	want.CustomMetadata = custom.CustomMetadata
	if err != nil || !stored.Equal(want) {
		t.Errorf("the segment is %+v, %v; want %+v", stored, err, want)
	}
}

// race publishes two events that each alone is accepted: nobody processes until both are
// on the topic. It returns the error of the one that comes second.
func race(t *testing.T, first, second func(*rlmmtest.Cluster, *views.Manager) (api.Position, error), known ...api.RemoteLogMetadata) error {
	t.Helper()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	c.PublishEvents(known...)
	a, b := c.ReadyManager(), c.ReadyManager()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	base := end(c)
	type result struct {
		at  api.Position
		err error
	}
	results := make(chan result, 2)
	for i, mutate := range []func(*rlmmtest.Cluster, *views.Manager) (api.Position, error){first, second} {
		m := []*views.Manager{a, b}[i]
		go func() {
			at, err := mutate(c, m)
			results <- result{at, err}
		}()
		c.WaitFor("it is published", func() bool { return end(c) == base+int64(i)+1 })
	}
	c.RunProcessor()
	var late error
	for range 2 {
		r := <-results
		switch r.at.Offset {
		case base:
			if r.err != nil {
				t.Errorf("the first: %v", r.err)
			}
		case base + 1:
			late = r.err
		default:
			t.Errorf("published at %v", r.at)
		}
	}
	return late
}

func does(event func(*rlmmtest.Cluster) api.RemoteLogMetadata) func(*rlmmtest.Cluster, *views.Manager) (api.Position, error) {
	return func(c *rlmmtest.Cluster, m *views.Manager) (api.Position, error) { return mutation(c, m, event(c)) }
}

// The outcomes of events that the log rejects: the manager didn't know better.
func TestOutcomesOfTheLog(t *testing.T) {
	t.Parallel()
	tip := api.TopicIdPartition{TopicID: rlmmtest.ID(1), Topic: "orders"}
	s := rlmmtest.Segment(tip, 1, 0, 9)
	always := func(e api.RemoteLogMetadata) func(*rlmmtest.Cluster, *views.Manager) (api.Position, error) {
		return does(func(*rlmmtest.Cluster) api.RemoteLogMetadata { return e })
	}
	t.Run("two adds", func(t *testing.T) {
		t.Parallel()
		other := s
		other.BrokerID = 7
		err := race(t, always(s), always(other))
		invalid := (*api.InvalidAddError)(nil)
		if !errors.As(err, &invalid) || invalid.Known == nil || !invalid.Known.Equal(s) {
			t.Errorf("%v: %+v", err, invalid)
		}
	})
	t.Run("two updates", func(t *testing.T) {
		t.Parallel()
		err := race(t, always(rlmmtest.Update(s, api.DeleteSegmentStarted)), always(rlmmtest.Update(s, api.CopySegmentFinished)), s)
		invalid := (*api.InvalidSegmentTransitionError)(nil)
		if !errors.As(err, &invalid) || invalid.From != api.DeleteSegmentStarted || invalid.To != api.CopySegmentFinished {
			t.Errorf("%v", err)
		}
	})
	t.Run("an update after the deletion", func(t *testing.T) {
		t.Parallel()
		err := race(t, always(rlmmtest.Update(s, api.DeleteSegmentFinished)), always(rlmmtest.Update(s, api.DeleteSegmentStarted)),
			s, rlmmtest.Update(s, api.DeleteSegmentStarted))
		missing := (*api.SegmentNotFoundError)(nil)
		if !errors.As(err, &missing) || missing.ID != s.ID {
			t.Errorf("%v", err)
		}
	})
	t.Run("two deletions", func(t *testing.T) {
		t.Parallel()
		err := race(t, always(rlmmtest.Delete(tip, api.DeletePartitionStarted)), always(rlmmtest.Delete(tip, api.DeletePartitionMarked)),
			rlmmtest.Delete(tip, api.DeletePartitionMarked))
		invalid := (*api.InvalidPartitionDeleteTransitionError)(nil)
		if !errors.As(err, &invalid) || invalid.From != api.DeletePartitionStarted || invalid.To != api.DeletePartitionMarked {
			t.Errorf("%v", err)
		}
	})
	t.Run("a retry", func(t *testing.T) {
		t.Parallel()
		finish := always(rlmmtest.Update(s, api.CopySegmentFinished))
		if err := race(t, finish, finish, s); err != nil {
			t.Error(err)
		}
	})
}

// An add whose row the table doesn't take.
func TestRowTooLarge(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	limit := map[string]string{"max.message.bytes": "8192"}
	if err := c.CreateTopic(rlmmtest.MetadataTopic, 1, limit); err != nil {
		t.Fatal(err)
	}
	limit["cleanup.policy"] = "compact"
	if err := c.CreateTopic(rlmmtest.Table, 1, limit); err != nil {
		t.Fatal(err)
	}
	c.RunProcessor()
	m := c.ReadyManager()
	s := rlmmtest.Segment(c.PartitionOn(0, 0), 1, 0, 9)
	s.CustomMetadata = api.NewCustomMetadata(make([]byte, 7000))
	at, err := mutation(c, m, s)
	if !errors.Is(err, api.ErrInvalidArgument) || !strings.Contains(err.Error(), "TooLarge") || at != (api.Position{}) {
		t.Errorf("%v, %v", at, err)
	}
	s.CustomMetadata = api.NewCustomMetadata(make([]byte, 100))
	if at, err := mutation(c, m, s); err != nil || at.Offset != 1 {
		t.Errorf("a smaller one: %v, %v", at, err)
	}
}

// A view that is behind doesn't refuse what has become valid meanwhile.
func TestStaleRefusal(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	m := c.ReadyManager()
	s := rlmmtest.Segment(c.PartitionOn(0, 0), 1, 0, 9)
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	c.PublishEvents(s)
	done := make(chan error, 1)
	go func() {
		_, err := mutation(c, m, rlmmtest.Update(s, api.CopySegmentFinished))
		done <- err
	}()
	c.RunProcessor()
	if err := <-done; err != nil {
		t.Error(err)
	}
	wantSegment(t, m, s.Partition(), 0, 5, s.ID.ID)
}

// publishPatience is longer than to publish takes, on a busy machine too.
const publishPatience = 3 * time.Second

// Nobody processes: the event is published, and the wait ends.
func TestMutationWithoutAFleet(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	tip := c.PartitionOn(0, 0)
	hasty := c.ReadyManager(func(cfg *views.Config) { cfg.ConsumeWait = publishPatience })
	m := c.ReadyManager()
	wantTimeout := func(t *testing.T, at api.Position, err error, offset int64, cause error) {
		t.Helper()
		timeout := (*api.TimeoutError)(nil)
		want := api.Position{Offset: offset}
		if !errors.As(err, &timeout) || timeout.Position != want || at != want || !errors.Is(timeout.Err, cause) {
			t.Errorf("%v, %v; want it at %d, ended by %v", at, err, offset, cause)
		}
	}
	at, err := mutation(c, hasty, rlmmtest.Segment(tip, 1, 0, 9))
	wantTimeout(t, at, err, 0, api.ErrNoProgress)

	ctx, cancel := context.WithTimeout(t.Context(), publishPatience)
	defer cancel()
	at, err = m.AddRemoteLogSegmentMetadata(ctx, rlmmtest.Segment(tip, 2, 0, 9))
	wantTimeout(t, at, err, 1, context.DeadlineExceeded)

	at, err = m.AddRemoteLogSegmentMetadata(ctx, rlmmtest.Segment(tip, 3, 0, 9))
	if err == nil || at != api.NotPublished || end(c) != 2 {
		t.Errorf("with a context that has ended: %v, %v", at, err)
	}

	// A refusal needs what lies on the topic to be applied first.
	at, err = mutation(c, hasty, rlmmtest.Update(rlmmtest.Segment(tip, 9, 0, 9), api.CopySegmentFinished))
	if !errors.Is(err, api.ErrNotReady) || at != api.NotPublished {
		t.Errorf("a refusal that can't be sure: %v, %v", at, err)
	}

	done := make(chan struct{})
	go func() {
		defer close(done)
		at, err := mutation(c, m, rlmmtest.Segment(tip, 4, 0, 9))
		if errors.Is(err, api.ErrUnacknowledged) && errors.Is(err, api.ErrClosed) {
			return // the acknowledgement came after the shutdown
		}
		wantTimeout(t, at, err, 2, api.ErrClosed)
	}()
	c.WaitFor("it is published", func() bool { return end(c) == 3 })
	m.Shutdown()
	<-done
}

// published is what a mutation came to.
type published struct {
	at  api.Position
	err error
}

// begin makes the mutation in the background.
func begin(c *rlmmtest.Cluster, m *views.Manager, event api.RemoteLogMetadata) <-chan published {
	done := make(chan published, 1)
	go func() {
		at, err := mutation(c, m, event)
		done <- published{at, err}
	}()
	return done
}

// patient waits longer for an outcome than any test does.
func patient(cfg *views.Config) { cfg.ConsumeWait = time.Hour }

// The partition is taken away from under a mutation that waits for its outcome. Nobody
// processes, so that it waits.
func TestUnassignedWhileAPublishedMutationWaits(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	m := c.ReadyManager(patient)
	tip := c.PartitionOn(0, 0)
	done := begin(c, m, rlmmtest.Segment(tip, 1, 0, 9))
	c.WaitFor("it is published", func() bool { return end(c) == 1 })
	n := 1
	c.WaitFor("a later one is acknowledged", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		n++
		_, err := m.AddRemoteLogSegmentMetadata(ctx, rlmmtest.Segment(tip, n, 0, 9))
		return errors.Is(err, api.ErrTimeout)
	})
	if err := m.ReconcileAssignment(c.Context(), nil); err != nil {
		t.Fatal(err)
	}
	got := <-done
	timeout := (*api.TimeoutError)(nil)
	if !errors.As(got.err, &timeout) || !errors.Is(got.err, api.ErrNotAssigned) || got.at != (api.Position{}) {
		t.Errorf("%v, %v; want a timeout, for it isn't assigned", got.at, got.err)
	}
}

// So it is with a mutation that waits to catch up before it is refused.
func TestUnassignedWhileAMutationCatchesUp(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	m := c.ReadyManager(patient)
	s := rlmmtest.Segment(c.PartitionOn(0, 0), 1, 0, 9)
	c.PublishEvents(s) // nobody applies it
	looked := make(chan struct{})
	var once sync.Once
	c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		for _, topic := range r.(*kmsg.FetchRequest).Topics {
			if topic.Topic == rlmmtest.MetadataTopic {
				once.Do(func() { close(looked) })
			}
		}
		return nil, nil, false
	})
	done := begin(c, m, rlmmtest.Update(s, api.CopySegmentFinished))
	select {
	case <-looked:
	case <-c.Context().Done():
		t.Fatal("it doesn't look at the topic")
	}
	if err := m.ReconcileAssignment(c.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := <-done; !errors.Is(got.err, api.ErrNotAssigned) || got.at != api.NotPublished || end(c) != 1 {
		t.Errorf("%v, %v; want that it isn't assigned", got.at, got.err)
	}
}

// The error is that the partition isn't assigned, not that a question about the topic
// failed for that reason.
func TestUnassignedWhileAMutationAsksForTheEnd(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	m := c.ReadyManager(patient)
	s := rlmmtest.Segment(c.PartitionOn(0, 0), 1, 0, 9)
	asked, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	c.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		once.Do(func() { close(asked) })
		c.SleepControl(func() { <-release })
		return nil, nil, false
	})
	done := begin(c, m, rlmmtest.Update(s, api.CopySegmentFinished)) // of a segment that isn't there
	select {
	case <-asked:
	case <-c.Context().Done():
		t.Fatal("it doesn't ask for the end")
	}
	unassigned := make(chan error, 1)
	go func() { unassigned <- m.ReconcileAssignment(c.Context(), nil) }()
	got := <-done
	close(release)
	if err := <-unassigned; err != nil {
		t.Fatal(err)
	}
	if _, ok := got.err.(*api.NotReadyError); !ok || !errors.Is(got.err, api.ErrNotAssigned) || got.at != api.NotPublished { //nolint:errorlint // the error itself
		t.Errorf("%v, %T: %v; want that it isn't assigned", got.at, got.err, got.err)
	}
}

// The metadata topic was created again: the event lies where another one was applied,
// and the topic ended there, not behind it.
func TestPublishedBelowWhatIsApplied(t *testing.T) {
	t.Parallel()
	for refill := range 2 {
		t.Run(fmt.Sprint("at ", refill), func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 1)
			p := c.RunProcessor()
			tip := c.PartitionOn(0, 0)
			c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
			m := c.ReadyManager(patient)
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			c.RecreateTopic(rlmmtest.MetadataTopic)
			for n := range refill {
				c.PublishEvents(rlmmtest.Segment(tip, 100+n, 0, 9))
			}
			at, err := mutation(c, m, rlmmtest.Segment(tip, 2, 10, 19))
			if want := (api.Position{Offset: int64(refill)}); !errors.Is(err, api.ErrTimeout) || at != want {
				t.Errorf("%v, %v; want it at %v", at, err, want)
			}
			truncated, identity := (*kafka.TruncatedError)(nil), (*store.IdentityError)(nil)
			if refill == 1 { // it ends behind what is applied, as if nothing had happened
				if !errors.As(err, &identity) {
					t.Errorf("%v; want that the topic is another one", err)
				}
				return
			}
			if !errors.As(err, &truncated) {
				t.Fatal(err)
			}
			want := kafka.TruncatedError{Topic: rlmmtest.MetadataTopic, Applied: 1, End: 1}
			if diff := cmp.Diff(want, *truncated); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The acknowledgement says an offset that is applied, or none: a fault of the broker's, or
// an answer to an event of before. The topic shows that it is still the one that the state
// was made from, or can't be asked: that isn't known, and the partition stays ready.
func TestAcknowledgementThatCannotBeBelieved(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		code   *kerr.Error
		offset int64
		ends   *kerr.Error // of the look at the topic's end
	}{
		{"a duplicate", kerr.DuplicateSequenceNumber, -1, nil},
		{"without an offset", nil, -1, nil},
		{"at an offset that is applied", nil, 0, nil},
		{"while the end can't be had", nil, 0, kerr.NotLeaderForPartition},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 1)
			c.RunProcessor()
			m := c.ReadyManager()
			tip := c.PartitionOn(0, 0)
			c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
			c.WaitApplied()
			c.WaitFor("the view has them", func() bool { caught, err := m.CaughtUp(c.Context(), tip); return caught && err == nil })
			if tt.ends != nil {
				c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: rlmmtest.MetadataTopic, Err: tt.ends, Count: -1})
			}
			answerPublish(c, tt.code, tt.offset)
			at, err := m.AddRemoteLogSegmentMetadata(c.Context(), rlmmtest.Segment(tip, 2, 10, 19))
			if !errors.Is(err, api.ErrUnacknowledged) || at != api.NotPublished {
				t.Errorf("%v, %v; want it unacknowledged", at, err)
			}
			if err := m.Ready(); err != nil {
				t.Error(err)
			}
			if _, err := mutation(c, m, rlmmtest.Segment(tip, 3, 10, 19)); err != nil {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}

// answerPublish answers the next publish in the broker's place.
func answerPublish(c *rlmmtest.Cluster, code *kerr.Error, offset int64) {
	c.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		req := r.(*kmsg.ProduceRequest)
		if req.Topics[0].Topic != rlmmtest.MetadataTopic {
			c.KeepControl()
			return nil, nil, false
		}
		p := kmsg.NewProduceResponseTopicPartition()
		p.Partition, p.BaseOffset = req.Topics[0].Partitions[0].Partition, offset
		if code != nil {
			p.ErrorCode = code.Code
		}
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.Partitions = rlmmtest.MetadataTopic, append(topic.Partitions, p)
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
}

// The metadata topic was created again and is longer than what is applied: nobody will
// ever apply the event. Whoever waits is told so when that is found out.
func TestPublishedToARecreatedTopic(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
	m := c.ReadyManager(patient)
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	c.RecreateTopic(rlmmtest.MetadataTopic)
	for n := range 9 {
		c.PublishEvents(rlmmtest.Segment(tip, 100+n, 0, 9))
	}
	at, err := mutation(c, m, rlmmtest.Segment(tip, 2, 10, 19))
	identity := (*store.IdentityError)(nil)
	if !errors.Is(err, api.ErrTimeout) || !errors.As(err, &identity) || at != (api.Position{Offset: 9}) {
		t.Errorf("%v, %v; want it at 9, on another topic", at, err)
	}
}

// The answer at an event's offset is to another event, which lay there on the topic that
// was there before.
func TestAnswerToAnotherEvent(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	m := c.ReadyManager(patient)
	tip := c.PartitionOn(0, 0)
	done := begin(c, m, rlmmtest.Segment(tip, 1, 0, 9))
	c.WaitFor("it is published", func() bool { return end(c) == 1 })
	other := codec.SegmentKey(rlmmtest.Segment(tip, 2, 10, 19).ID)
	fence := &kgo.Record{Topic: rlmmtest.Table, Key: []byte(codec.RejectedKey(0)), Headers: []kgo.RecordHeader{
		{Key: "rlmm.cluster.id", Value: []byte(m.ClusterID())},
		{Key: "rlmm.topic.id", Value: []byte(api.UUID(c.TopicInfo(rlmmtest.MetadataTopic).TopicID).String())},
	}}
	c.PublishTo(fence, &kgo.Record{Topic: rlmmtest.Table, Key: []byte(other), Headers: []kgo.RecordHeader{
		{Key: "rlmm.offset", Value: []byte("0")}, {Key: "rlmm.outcome", Value: []byte("SegmentNotFound")},
	}})
	if got := <-done; !errors.Is(got.err, api.ErrTimeout) || got.at != (api.Position{}) {
		t.Errorf("%v, %v; want a timeout", got.at, got.err)
	}
}

// The publish fails, or its acknowledgement doesn't come: what is refused at once isn't
// published, all else may be.
func TestFailedPublish(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	m := c.ReadyManager()
	tip := c.PartitionOn(0, 0)
	produce := func(err *kerr.Error, count int) kfake.Fault {
		return kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: rlmmtest.MetadataTopic, Err: err, Count: count}
	}
	try := func(ctx context.Context, n int, want ...error) {
		t.Helper()
		at, err := m.AddRemoteLogSegmentMetadata(ctx, rlmmtest.Segment(tip, n, 0, 9))
		for _, w := range want {
			if !errors.Is(err, w) || at != api.NotPublished {
				t.Errorf("%v, %v; want %v", at, err, w)
			}
		}
	}
	c.Fault(produce(kerr.TopicAuthorizationFailed, 1))
	try(c.Context(), 1, api.ErrIO, sarama.ErrTopicAuthorizationFailed)

	fault := c.Fault(produce(kerr.NotLeaderForPartition, -1))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	try(ctx, 2, api.ErrUnacknowledged, context.DeadlineExceeded)
	try(ctx, 3, api.ErrIO, context.DeadlineExceeded)
	try(c.Context(), 4, api.ErrUnacknowledged, sarama.ErrNotLeaderForPartition) // it tries no more
	fault.Remove()
	if at, err := mutation(c, m, rlmmtest.Segment(tip, 5, 0, 9)); err != nil {
		t.Errorf("afterwards: %v, %v", at, err)
	}
}

// The event reaches the topic and the connection is cut before the answer. A retry says
// that it is in.
func TestLostAcknowledgement(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	m := c.ReadyManager()
	s := rlmmtest.Segment(c.PartitionOn(0, 0), 1, 0, 9)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if r.(*kmsg.ProduceRequest).Topics[0].Topic != rlmmtest.MetadataTopic || ctx.Err() != nil {
			return nil, nil, false
		}
		cancel() // while it is on its way
		return nil, nil, false
	})
	at, err := m.AddRemoteLogSegmentMetadata(ctx, s)
	published := (*api.TimeoutError)(nil)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, api.ErrUnacknowledged) && !errors.As(err, &published) {
		t.Errorf("%v, %v; want that it was canceled on its way", at, err)
	}
	if published == nil && at != api.NotPublished || published != nil && at != published.Position {
		t.Errorf("it is at %v: %v", at, err)
	}
	c.WaitFor("it is applied", func() bool {
		list, err := m.ListRemoteLogSegments(t.Context(), s.Partition())
		return err == nil && len(list) == 1
	})
	refused := (*api.InvalidAddError)(nil)
	if at, err = mutation(c, m, s); !errors.As(err, &refused) || !refused.AlreadyAdded(s) || at != api.NotPublished {
		t.Errorf("the retry: %v, %v", at, err)
	}
}

// The topic's name may be left out where the partition is known.
func TestTopicLeftOut(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	m := c.ReadyManager()
	named := c.PartitionOn(0, 0)
	tip := named
	tip.Topic = ""
	s := rlmmtest.Segment(tip, 1, 0, 9)
	for _, event := range []api.RemoteLogMetadata{
		s, rlmmtest.Update(s, api.CopySegmentFinished), rlmmtest.Delete(tip, api.DeletePartitionMarked),
	} {
		if at, err := mutation(c, m, event); !errors.Is(err, api.ErrInvalidArgument) || at != api.NotPublished {
			t.Errorf("%T of an unknown partition: %v, %v", event, at, err)
		}
	}
	if _, err := mutation(c, m, rlmmtest.Delete(named, api.DeletePartitionMarked)); err != nil {
		t.Fatal(err)
	}
	for _, event := range []api.RemoteLogMetadata{
		s, rlmmtest.Update(s, api.CopySegmentFinished), rlmmtest.Delete(tip, api.DeletePartitionStarted),
	} {
		if at, err := mutation(c, m, event); err != nil {
			t.Errorf("%T: %v, %v", event, at, err)
		}
	}
	listed, err := m.ListRemoteLogSegments(t.Context(), tip)
	if err != nil || len(listed) != 1 || listed[0].Partition() != named {
		t.Errorf("listed %v, %v", listed, err)
	}
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	m := c.ReadyManager()
	tip := c.PartitionOn(0, 0)
	s := rlmmtest.Segment(tip, 1, 0, 9)
	for _, event := range finished(s) {
		if _, err := mutation(c, m, event); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		m.Shutdown()
		if err := m.ShutdownAndFlush(c.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before := end(c)
	for _, event := range append(finished(rlmmtest.Segment(tip, 2, 10, 19)), rlmmtest.Delete(tip, api.DeletePartitionMarked)) {
		if at, err := mutation(c, m, event); !errors.Is(err, api.ErrClosed) || at != api.NotPublished {
			t.Errorf("%T: %v, %v", event, at, err)
		}
	}
	if end(c) != before {
		t.Error("something was published")
	}
	if err := m.ReconcileAssignment(c.Context(), nil); !errors.Is(err, api.ErrClosed) {
		t.Errorf("reconcile: %v", err)
	}
	wantEveryRead(t, m, tip, nil)
	wantSegment(t, m, tip, 0, 5, s.ID.ID)
	if users, err := m.UserPartitions(t.Context()); err != nil || len(users) != 1 {
		t.Errorf("user partitions %v, %v", users, err)
	}
	if got := m.CommittedOffset(0); got != 1 {
		t.Errorf("committed %d", got)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	wantEveryRead(t, m, tip, api.ErrNotReady)
	if got := m.CommittedOffset(0); got != 1 {
		t.Errorf("committed %d after close", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.ReadyManager().ShutdownAndFlush(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("flush with a context that has ended: %v", err)
	}
}

// A manager that is shut down while everybody writes: each mutation is accepted, or told
// where it was published, or wasn't published.
func TestShutdownUnderLoad(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	c.RunProcessor()
	m := c.ReadyManager()
	var wg sync.WaitGroup
	var mu sync.Mutex
	published := map[api.Position]bool{}
	started := make(chan struct{}, 1000)
	for n := range 16 {
		wg.Go(func() {
			for i := 0; ; i++ {
				at, err := mutation(c, m, rlmmtest.Segment(c.PartitionOn(int32(n%2), 0), 1000*n+i+1, 0, 9))
				if at.Offset >= 0 {
					mu.Lock()
					if published[at] {
						t.Errorf("two events at %v", at)
					}
					published[at] = true
					mu.Unlock()
				}
				switch {
				case err == nil:
					started <- struct{}{}
					continue
				case errors.Is(err, api.ErrClosed):
				default:
					t.Errorf("%v, %v", at, err)
				}
				return
			}
		})
	}
	for range 100 {
		<-started
	}
	go func() {
		for range started { // let the writers go on
		}
	}()
	if err := m.ShutdownAndFlush(c.Context()); err != nil {
		t.Error(err)
	}
	wg.Wait()
	close(started)
	c.WaitApplied()
	c.VerifyTable()
	for at := range published {
		if at.Offset >= c.PartitionInfo(rlmmtest.MetadataTopic, at.MetadataPartition).HighWatermark {
			t.Errorf("nothing lies at %v", at)
		}
	}
}

// More bytes at once than one batch of the topic takes.
func TestManyLargeMutations(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	m := c.ReadyManager()
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			s := rlmmtest.Segment(c.PartitionOn(0, 0), n+1, 0, 9)
			s.CustomMetadata = api.NewCustomMetadata(make([]byte, 20_000))
			if at, err := mutation(c, m, s); err != nil {
				t.Errorf("%v, %v", at, err)
			}
		})
	}
	wg.Wait()
}

// outcomeOf is the outcome that a mutation's error stands for.
func outcomeOf(err error) string {
	for want, outcome := range map[error]string{
		api.ErrInvalidAdd: "InvalidAdd", api.ErrSegmentNotFound: "SegmentNotFound",
		api.ErrInvalidSegmentTransition:         "InvalidSegmentTransition",
		api.ErrInvalidPartitionDeleteTransition: "InvalidPartitionDeleteTransition",
	} {
		if errors.Is(err, want) {
			return outcome
		}
	}
	if err != nil {
		return err.Error()
	}
	return "applied"
}

// Many write the same few segments through two managers at once. Whatever was published
// has just the outcome that the table says.
func TestOutcomesUnderContention(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	managers := []*views.Manager{c.ReadyManager(), c.ReadyManager()}
	tip := c.PartitionOn(0, 0)
	var mu sync.Mutex
	told := map[int64]string{}
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			for i := range 25 {
				s := rlmmtest.Segment(tip, i%5+1, 0, 9)
				events := []api.RemoteLogMetadata{
					s, rlmmtest.Update(s, api.CopySegmentFinished), rlmmtest.Update(s, api.DeleteSegmentStarted),
					rlmmtest.Update(s, api.DeleteSegmentFinished), rlmmtest.Delete(tip, api.RemotePartitionDeleteState(i%2)),
				}
				at, err := mutation(c, managers[n%2], events[(n+i/5)%5])
				if at.Offset < 0 {
					continue
				}
				mu.Lock()
				if told[at.Offset] != "" {
					t.Errorf("two events at %v", at)
				}
				told[at.Offset] = outcomeOf(err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	c.VerifyTable()
	outcomes := map[int64]string{}
	for i, o := range c.Outcomes(0) {
		outcomes[int64(i)] = o
	}
	if diff := cmp.Diff(outcomes, told); diff != "" {
		t.Error(diff)
	}
}
