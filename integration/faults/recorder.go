package faults

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// Observed is whom a recorder asks, and what is known of it from elsewhere.
type Observed struct {
	// Name is told in findings.
	Name    string
	Manager api.RemoteLogMetadataManager
	// Partitions is the partition count of the metadata topic.
	Partitions int32
	// UserPartitions are asked about, beside the recorder's own.
	UserPartitions []api.TopicIdPartition
	// Ends reads the end offset of each metadata partition, now. It may fail.
	Ends func() ([]int64, error)
	// Acknowledged is the greatest offset of the metadata partition that a publish by
	// others was acknowledged at; −1 is none.
	Acknowledged func(metadataPartition int32) int64
	// Seed makes the queries and mutations, and the ids of what is added: two recorders
	// on a topic need two seeds.
	Seed uint64
	// MutateEvery is how long each of its mutators waits from one mutation to the next;
	// zero and less is 50 ms.
	MutateEvery time.Duration
	// Lives is how many user partitions of its own each of its mutators has, in turn and
	// then again, without deleting them: the state is of a fixed size after a while. Zero
	// and less is a new one each time, and each is deleted in the end.
	Lives int
}

// keptAnswers is how many answers a recorder keeps to be judged, chosen evenly among all.
const keptAnswers = 100_000

// The recorder asks without hurry: on the same machine others have work to do.
const (
	askers      = 3
	mutators    = 3
	askEvery    = 4 * time.Millisecond
	lookEvery   = 50 * time.Millisecond
	mutateEvery = 50 * time.Millisecond // unless Observed says otherwise
	askTimeout  = 20 * time.Second
)

// Recorder asks a manager all the time, mutates through it, and keeps what it said
// together with what that must agree with. Judge tells afterwards whether it was true.
type Recorder struct {
	o     Observed
	clock atomic.Int64 // counts what happens, to tell before from after

	// floor is, for each metadata partition, the offset that everybody may rely on being
	// applied when the manager answers.
	floor []atomic.Int64
	own   [mutators]atomic.Pointer[api.TopicIdPartition] // what each mutator mutates now

	mu        sync.Mutex
	random    *rand.Rand
	answers   []answered
	looks     []look
	mutations []mutation
	findings  Findings
	counts    Counts

	stopAsking, stopMutating context.CancelFunc
	asking, mutating         sync.WaitGroup
}

// Counts is how much a recorder has to go by.
type Counts struct {
	Asked, Answered, NotReady, NotAssigned, Failed int
	CaughtUp, Mutations, Published, Unknown        int
	// Judged is how many of the answers were compared with the history.
	Judged int
}

// answered is a query that was answered.
type answered struct {
	query          query
	answer         text
	lower          int64 // what the manager must have applied
	applied        int64 // what it said to have applied afterwards; −1 is nothing
	started, ended int64 // by the clock
}

// look is a look at the ends of the input that began at some time.
type look struct {
	started int64
	ends    []int64
}

// Record begins to ask. Stop ends it.
func Record(o Observed) *Recorder {
	if o.MutateEvery <= 0 {
		o.MutateEvery = mutateEvery
	}
	r := newRecorder(o)
	asking, stopAsking := context.WithCancel(context.Background())
	mutating, stopMutating := context.WithCancel(context.Background())
	r.stopAsking, r.stopMutating = stopAsking, stopMutating
	for range askers {
		r.asking.Go(func() { every(asking, askEvery, func() { r.askOne(asking) }) })
	}
	r.asking.Go(func() { every(asking, lookEvery, r.look) })
	r.asking.Go(func() { every(asking, askEvery, func() { r.askCaughtUp(asking) }) })
	for i := range mutators {
		m := newMutator(r, i)
		r.mutating.Go(func() { every(mutating, o.MutateEvery, func() { m.mutate(context.WithoutCancel(mutating)) }) })
	}
	return r
}

func newRecorder(o Observed) *Recorder {
	r := &Recorder{o: o, floor: make([]atomic.Int64, o.Partitions), random: rand.New(rand.NewPCG(o.Seed, 2))}
	for p := range r.floor {
		r.floor[p].Store(-1)
	}
	return r
}

// every calls f until the context ends.
func every(ctx context.Context, pause time.Duration, f func()) {
	for tick := time.NewTicker(pause); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			f()
		}
	}
}

// Rely says that the manager must have applied everything up to the offset whenever it
// answers from now on: the input's last offset before the partition was assigned to it.
func (r *Recorder) Rely(metadataPartition int32, offset int64) {
	f := &r.floor[metadataPartition]
	for {
		old := f.Load()
		if offset <= old || f.CompareAndSwap(old, offset) {
			return
		}
	}
}

// StopMutating returns when the last mutation has its outcome.
func (r *Recorder) StopMutating() {
	r.stopMutating()
	r.mutating.Wait()
}

// Stop ends asking and mutating.
func (r *Recorder) Stop() {
	r.StopMutating()
	r.stopAsking()
	r.asking.Wait()
	r.look() // bounds the last answers
}

func (r *Recorder) partitionOf(tip api.TopicIdPartition) int32 {
	return codec.MetadataPartition(tip, r.o.Partitions)
}

// applied is what the manager says to have applied of the partition's events, −1 when it
// doesn't say.
func (r *Recorder) applied(tip api.TopicIdPartition) int64 {
	if reporter, ok := r.o.Manager.(api.FreshnessReporter); ok {
		if f, ok := reporter.Freshness(tip); ok {
			return f.Applied
		}
	}
	return -1
}

// pick chooses what to ask: mostly of the load's partitions, often of its own.
func (r *Recorder) pick() query {
	r.mu.Lock()
	defer r.mu.Unlock()
	tip := r.o.UserPartitions[r.random.IntN(len(r.o.UserPartitions))]
	if own := r.own[r.random.IntN(mutators)].Load(); own != nil && r.random.IntN(4) == 0 {
		tip = *own
	}
	return randomQuery(r.random, tip)
}

// askOne asks anything and keeps the answer.
func (r *Recorder) askOne(ctx context.Context) { r.ask(ctx, r.pick()) }

func (r *Recorder) ask(ctx context.Context, q query) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	p := r.partitionOf(q.tip)
	r.Rely(p, r.applied(q.tip))
	a := answered{query: q, lower: r.floor[p].Load(), started: r.clock.Add(1)}
	answer, err := q.ask(ctx, r.o.Manager)
	a.applied, a.ended = r.applied(q.tip), r.clock.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Asked++
	if err != nil {
		r.failed(q, err)
		return
	}
	a.answer = answer
	r.keep(a)
}

// failed counts an error of a read, and tells of those that no read may give.
func (r *Recorder) failed(what fmt.Stringer, err error) {
	switch {
	case errors.Is(err, api.ErrNotAssigned):
		r.counts.NotAssigned++
	case errors.Is(err, api.ErrNotReady):
		r.counts.NotReady++
	case errors.Is(err, api.ErrIO):
		r.counts.Failed++
	default:
		r.findings.add("%s: %s failed with what no read may give: %v", r.o.Name, what, err)
	}
}

// keep keeps an answer, or drops one at random where there are too many.
func (r *Recorder) keep(a answered) {
	r.counts.Answered++
	if len(r.answers) < keptAnswers {
		r.answers = append(r.answers, a)
		return
	}
	if i := r.random.IntN(r.counts.Answered); i < keptAnswers {
		r.answers[i] = a
	}
}

// look keeps the ends of the input: what is applied before lies below them.
func (r *Recorder) look() {
	started := r.clock.Add(1)
	ends, err := r.o.Ends()
	if err != nil {
		return // Kafka is away; a later look bounds the answers as well
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks = append(r.looks, look{started, ends})
}

// caughtUpQuery is the question of CaughtUp, for findings.
type caughtUpQuery struct{ tip api.TopicIdPartition }

func (q caughtUpQuery) String() string { return fmt.Sprintf("CaughtUp(%s)", q.tip) }

// askCaughtUp asks whether the manager is caught up. When it says so, all that was
// acknowledged to anybody before must show in what it answers next.
func (r *Recorder) askCaughtUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	q := r.pick()
	p := r.partitionOf(q.tip)
	acknowledged := r.o.Acknowledged(p)
	yes, err := r.o.Manager.CaughtUp(ctx, q.tip)
	applied := r.applied(q.tip)
	r.mu.Lock()
	if err != nil {
		r.failed(caughtUpQuery{q.tip}, err)
	}
	if yes {
		r.counts.CaughtUp++
		if applied >= 0 && applied < acknowledged {
			r.findings.add("%s: %s is true, but %d is acknowledged and %d applied", r.o.Name, caughtUpQuery{q.tip}, acknowledged, applied)
		}
	}
	r.mu.Unlock()
	if yes {
		r.Rely(p, acknowledged)
		r.ask(ctx, q)
	}
}

// upper is the last offset that can have been applied when the answer was given.
func (r *Recorder) upper(h *History, a answered) int64 {
	p := r.partitionOf(a.query.tip)
	upper := int64(math.MaxInt64)
	if l, ok := r.lookAfter(a.ended); ok {
		upper = l.ends[p] - 1
	}
	if a.applied >= a.lower && a.applied >= 0 {
		// A row shows before its offset counts as applied. While compaction takes records
		// from a table that is read, it might be that of a later record.
		upper = min(upper, h.next(p, a.applied))
	}
	return max(upper, a.lower)
}
