package faults

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// bench is a recorder whose every step a test decides.
type bench struct {
	*Recorder
	topic   *topic
	manager *manager
	mutator *mutator
	events  *Events
}

func newBench(events int) *bench {
	t := newTopic()
	m := &manager{topic: t}
	b := &bench{topic: t, manager: m, events: NewEvents(rand.New(rand.NewPCG(1, 1)), testPartitions)}
	b.load(events)
	b.Recorder = newRecorder(Observed{
		Name: "test", Manager: m, Partitions: testPartitions, UserPartitions: LoadPartitions(),
		Ends: t.ends, Acknowledged: t.last, Seed: 1,
	})
	b.mutator = newMutator(b.Recorder, 0)
	return b
}

func (b *bench) load(n int) {
	for range n {
		m := b.events.Next("")
		var value []byte
		if m.Value != nil {
			value, _ = m.Value.(sarama.ByteEncoder).Encode()
		}
		b.topic.publish(m.Partition, value)
	}
}

// relyOnAll is what a view that is ready after its start may be relied on for.
func (b *bench) relyOnAll() {
	for p := range int32(testPartitions) {
		b.Rely(p, b.topic.last(p))
	}
}

func (b *bench) askMany(n int) {
	for range n {
		b.askOne(context.Background())
	}
}

func (b *bench) judge() (Counts, Findings) {
	b.look()
	return b.Judge(b.topic.history())
}

func (b *bench) mustFind(t *testing.T, part string) {
	t.Helper()
	if _, f := b.judge(); !strings.Contains(f.String(), part) {
		t.Errorf("found\n%s\nwant something with %q", f, part)
	}
}

func (b *bench) mustFindNothing(t *testing.T) Counts {
	t.Helper()
	counts, f := b.judge()
	if len(f) > 0 {
		t.Errorf("found\n%s", f)
	}
	return counts
}

func TestAnHonestManagerIsFoundHonest(t *testing.T) {
	b := newBench(500)
	b.relyOnAll()
	for range 20 {
		b.load(20)
		b.askMany(20)
		b.askCaughtUp(context.Background())
		b.mutator.mutate(context.Background())
	}
	counts := b.mustFindNothing(t)
	if counts.Judged != 20*21 || counts.CaughtUp != 20 || counts.Published != 20 {
		t.Errorf("judged %+v", counts)
	}
	asked, f := b.Final(context.Background(), b.topic.history())
	if asked < 1000 || len(f) > 0 {
		t.Errorf("asked %d at the end, found\n%s", asked, f)
	}
}

// A manager may be behind, as long as nobody can rely on more.
func TestAManagerThatIsBehindIsHonest(t *testing.T) {
	b := newBench(500)
	b.manager.behind = 100
	b.askMany(200)
	b.load(300)
	b.askMany(200)
	b.mustFindNothing(t)
}

func TestAStaleAnswerIsFound(t *testing.T) {
	b := newBench(1000)
	b.relyOnAll()
	b.manager.behind = 100
	b.askMany(200)
	b.mustFind(t, ", before")
}

func TestAnAnswerOlderThanTheAppliedOffsetIsFound(t *testing.T) {
	b := newBench(1000)
	b.manager.behind = 100
	b.manager.claims = b.topic.last
	b.askMany(200)
	b.mustFind(t, ", before")
}

func TestAnAnswerOlderThanAnEarlierOneIsFound(t *testing.T) {
	b := newBench(1000)
	b.askMany(200)
	b.manager.behind = 100
	b.askMany(200)
	b.mustFind(t, ", before")
}

// Without the look the answer would be true at some later offset.
func TestAnAnswerFromTheFutureIsFound(t *testing.T) {
	b := newBench(1000)
	b.look()
	b.load(1000)
	b.askMany(200)
	for i := range b.looks {
		b.looks[i].started = 1 << 40 // as if it began after the answers
	}
	b.mustFind(t, ", after")
}

func TestAnAnswerFromBeyondTheAppliedOffsetIsFound(t *testing.T) {
	b := newBench(1000)
	b.manager.claims = func(p int32) int64 { return b.topic.last(p) - 200 }
	b.askMany(200)
	b.mustFind(t, ", after")
}

func TestAMissingSegmentIsFound(t *testing.T) {
	b := newBench(1000)
	b.manager.read = func(s State) (State, error) {
		if len(s.rows) > 0 {
			s.rows = s.rows[1:]
		}
		return s, nil
	}
	b.askMany(200)
	b.mustFind(t, "never")
}

func TestAnEmptyAnswerInsteadOfNotReadyIsFound(t *testing.T) {
	b := newBench(1000)
	b.relyOnAll()
	b.manager.read = func(State) (State, error) { return State{}, nil }
	b.askMany(200)
	b.mustFind(t, "test: ListRemoteLogSegments")
}

func TestNotReadyIsNoFinding(t *testing.T) {
	b := newBench(10)
	b.relyOnAll()
	b.manager.read = func(State) (State, error) { return State{}, &api.NotReadyError{Assigned: true} }
	b.askMany(20)
	if counts := b.mustFindNothing(t); counts.NotReady != 20 || counts.Answered != 0 {
		t.Errorf("counted %+v", counts)
	}
	if _, f := b.Final(context.Background(), b.topic.history()); len(f) == 0 {
		t.Error("a manager that is never ready again is fine at the end")
	}
	if err := b.Behind(context.Background()); !errors.Is(err, api.ErrNotReady) {
		t.Errorf("a manager that is never ready again is caught up: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.AwaitEach(ctx, time.Second); !errors.Is(err, api.ErrNotReady) {
		t.Errorf("a manager that is never ready again was caught up: %v", err)
	}
}

func TestAnUnheardErrorIsFound(t *testing.T) {
	b := newBench(10)
	b.manager.read = func(State) (State, error) { return State{}, errors.New("oops") }
	b.askMany(1)
	b.mustFind(t, "oops")
}

func TestAFalseCaughtUpIsFound(t *testing.T) {
	b := newBench(1000)
	b.manager.behind, b.manager.boasts = 100, true
	for range 200 {
		b.askCaughtUp(context.Background())
	}
	b.mustFind(t, ", before")
}

func TestAFalseCaughtUpIsFoundByTheAppliedOffset(t *testing.T) {
	b := newBench(100)
	b.manager.behind, b.manager.boasts = 1, true
	b.manager.claims = b.manager.applied
	b.askCaughtUp(context.Background())
	b.mustFind(t, "CaughtUp")
}

func TestMutationsThatLieAreFound(t *testing.T) {
	nowhere := func(api.RemoteLogMetadata) (int32, int64) { return -1, -1 }
	for name, c := range map[string]struct {
		lie  func(*manager)
		find string
	}{
		"applied, though refused": {func(m *manager) {
			m.outcome = func(at api.Position, _ error) (api.Position, error) { return at, nil }
		}, "the fold says"},
		"refused, though applied": {func(m *manager) {
			m.outcome = func(at api.Position, _ error) (api.Position, error) {
				return at, &api.SegmentNotFoundError{}
			}
		}, "the fold says"},
		"published, and isn't": {func(m *manager) {
			m.publish = nowhere
			m.outcome = func(api.Position, error) (api.Position, error) {
				at := api.Position{Offset: 3}
				return at, &api.TimeoutError{Position: at}
			}
		}, "is on partition"},
		"published elsewhere": {func(m *manager) {
			m.outcome = func(at api.Position, err error) (api.Position, error) {
				at.Offset++
				return at, err
			}
		}, "is on partition"},
		"not published, and is": {func(m *manager) {
			m.outcome = func(api.Position, error) (api.Position, error) { return api.NotPublished, api.ErrClosed }
		}, "is on the topic"},
		"published twice": {func(m *manager) {
			m.publish = func(e api.RemoteLogMetadata) (int32, int64) {
				m.topic.publishEvent(e)
				return m.topic.publishEvent(e)
			}
		}, "is on the topic at ["},
		"refused for nothing": {func(m *manager) {
			m.publish = nowhere
			m.outcome = func(api.Position, error) (api.Position, error) {
				return api.NotPublished, &api.InvalidSegmentTransitionError{To: api.DeleteSegmentFinished}
			}
		}, "never forbade"},
		"applied, and not published": {func(m *manager) {
			m.publish = nowhere
		}, "no such outcome"},
		"an unheard error": {func(m *manager) {
			m.publish = nowhere
			m.outcome = func(api.Position, error) (api.Position, error) { return api.NotPublished, errors.New("oops") }
		}, "no such outcome"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(100)
			c.lie(b.manager)
			for range 30 {
				b.mutator.mutate(context.Background())
			}
			b.mustFind(t, c.find)
		})
	}
}

func TestMutationsOfUnknownOutcomeAreEither(t *testing.T) {
	b := newBench(100)
	lost := &api.UnacknowledgedError{Op: "publish the event", Err: errors.New("lost")}
	b.manager.outcome = func(api.Position, error) (api.Position, error) { return api.NotPublished, lost }
	b.mutator.mutate(context.Background())
	b.manager.publish = func(api.RemoteLogMetadata) (int32, int64) { return -1, -1 }
	b.mutator.mutate(context.Background())
	if counts := b.mustFindNothing(t); counts.Unknown != 2 {
		t.Errorf("counted %+v", counts)
	}
}

// A refusal without publishing must be right at an offset that was reached.
func TestARefusalByStateIsJudgedByTheState(t *testing.T) {
	b := newBench(100)
	id := api.RemoteLogSegmentID{TopicIdPartition: LoadPartitions()[0], ID: api.RandomUUID()}
	update := api.RemoteLogSegmentMetadataUpdate{ID: id, State: api.CopySegmentFinished, BrokerID: 9}
	p := codec.MetadataPartition(id.TopicIdPartition, testPartitions)
	b.mutations = append(b.mutations, mutation{
		event: update, position: api.NotPublished, err: &api.SegmentNotFoundError{ID: id}, lower: b.topic.last(p),
	})
	b.mustFindNothing(t)
}

func TestAnswersBeyondTheLimitAreSampled(t *testing.T) {
	b := newBench(10)
	for range keptAnswers + 1000 {
		b.keep(answered{})
	}
	if len(b.answers) != keptAnswers || b.counts.Answered != keptAnswers+1000 {
		t.Errorf("kept %d of %d", len(b.answers), b.counts.Answered)
	}
}

// Mutators that have but some lives go through them again and again, and delete none.
func TestMutatorsWithFewLivesKeepTheStateSmall(t *testing.T) {
	b := newBench(0)
	b.o.Lives = 2
	m := newMutator(newRecorder(b.o), 0)
	tips := map[api.TopicIdPartition]bool{}
	for range 6 * ownSteps {
		event := m.next()
		tips[event.Partition()] = true
		if d, ok := event.(api.RemotePartitionDeleteMetadata); ok && d.State != api.DeletePartitionMarked {
			t.Fatalf("%+v", d)
		}
	}
	if len(tips) != 2 {
		t.Errorf("%d partitions", len(tips))
	}
}

// The recorder as tests use it: everything at once, on a topic that grows.
func TestRecordAllTheTime(t *testing.T) {
	b := newBench(200)
	r := Record(b.o)
	for tick := time.NewTicker(5 * time.Millisecond); asked(r) < 300; <-tick.C {
		b.load(1)
	}
	r.Stop()
	counts, f := r.Judge(b.topic.history())
	if len(f) > 0 || counts.Mutations == 0 || counts.CaughtUp == 0 {
		t.Errorf("counted %+v, found\n%s", counts, f)
	}
	if err := cmp.Or(r.Behind(t.Context()), r.AwaitEach(t.Context(), time.Second)); err != nil {
		t.Error(err)
	}
}

func asked(r *Recorder) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts.Answered
}
