package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tieredlog/rlmm/api"
)

const (
	// ownSegments is how many segments a mutator's partition has, ownSteps how many
	// mutations it gets before the next one has its turn.
	ownSegments = 8
	ownSteps    = 60
	// mutateTimeout is for servers that are gone; a manager's own limit is shorter.
	mutateTimeout = 3 * time.Minute
)

// mutator makes random mutations on partitions of its own, one after the other, and has
// their outcomes kept.
type mutator struct {
	r      *Recorder
	number int
	random *rand.Rand
	broker int32 // with the time, what makes an event the only one of its kind
	time   int64
	step   int
	tip    api.TopicIdPartition
	tips   []api.TopicIdPartition // that it has had
}

func newMutator(r *Recorder, number int) *mutator {
	random := rand.New(rand.NewPCG(r.o.Seed, uint64(3+number)))
	return &mutator{r: r, number: number, random: random, broker: random.Int32()}
}

// mutation is an event that was to be published, and what the manager said.
type mutation struct {
	event    api.RemoteLogMetadata
	position api.Position
	err      error
	lower    int64 // what was acknowledged when it began
	ended    int64 // by the clock
}

// String names the mutation in findings.
func (m mutation) String() string {
	return fmt.Sprintf("mutation %T %+v at %s (%v)", m.event, m.event, m.position, m.err)
}

// mutate makes one mutation, now and then with little patience.
func (m *mutator) mutate(ctx context.Context) {
	timeout := mutateTimeout
	if m.random.IntN(10) == 0 {
		timeout = time.Duration(m.random.IntN(30)) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	event := m.next()
	p := m.r.partitionOf(event.Partition())
	done := mutation{event: event, lower: max(m.r.floor[p].Load(), m.r.o.Acknowledged(p))}
	done.position, done.err = publish(ctx, m.r.o.Manager, event)
	done.ended = m.r.clock.Add(1)
	if isApplied(done) {
		m.r.Rely(p, done.position.Offset)
	}
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	m.r.mutations = append(m.r.mutations, done)
}

// isApplied tells whether the manager says that the event was published and applied.
func isApplied(m mutation) bool {
	k := kindOf(m.err)
	return m.position.Offset >= 0 && (k == decided || k == appliedUnknown)
}

// next is the next event; each partition's life ends with its deletion, or some of it.
func (m *mutator) next() api.RemoteLogMetadata {
	if m.step%ownSteps == 0 {
		m.tip = m.life(m.step / ownSteps)
		m.r.own[m.number].Store(new(m.tip))
	}
	m.time++
	m.step++
	if left := ownSteps - m.step%ownSteps; left <= 6 {
		return api.RemotePartitionDeleteMetadata{
			TopicIdPartition: m.tip, State: m.deletion(), EventTimestampMs: m.time, BrokerID: m.broker,
		}
	}
	n := m.random.IntN(ownSegments)
	id := api.RemoteLogSegmentID{TopicIdPartition: m.tip, ID: api.UUIDFromBits(uint64(m.broker), uint64(n))}
	if m.random.IntN(3) == 0 {
		return m.add(id, int64(n))
	}
	u := api.RemoteLogSegmentMetadataUpdate{
		ID: id, State: api.RemoteLogSegmentState(1 + m.random.IntN(3)), EventTimestampMs: m.time, BrokerID: m.broker,
	}
	if m.random.IntN(2) == 0 {
		u.CustomMetadata = api.NewCustomMetadata([]byte{byte(m.time)})
	}
	return u
}

// life is the user partition that is mutated next.
func (m *mutator) life(n int) api.TopicIdPartition {
	if lives := m.r.o.Lives; lives > 0 && n >= lives {
		return m.tips[n%lives]
	}
	m.tips = append(m.tips, api.TopicIdPartition{
		TopicID: api.UUIDFromBits(m.random.Uint64()|1, m.random.Uint64()), Topic: "own", Partition: m.random.Int32N(3),
	})
	return m.tips[n]
}

// deletion is a state of a partition's deletion; what lives again isn't deleted.
func (m *mutator) deletion() api.RemotePartitionDeleteState {
	if m.r.o.Lives > 0 {
		return api.DeletePartitionMarked
	}
	return api.RemotePartitionDeleteState(m.random.IntN(3))
}

// add makes a segment of two epochs that overlaps its neighbours.
func (m *mutator) add(id api.RemoteLogSegmentID, n int64) api.RemoteLogMetadata {
	start := n*100 + m.random.Int64N(50)
	return api.RemoteLogSegmentMetadata{
		ID: id, StartOffset: start, EndOffset: start + 150, SegmentSizeInBytes: m.random.Int32N(1000), BrokerID: m.broker,
		EventTimestampMs: m.time, MaxTimestampMs: m.time, TxnIndexEmpty: m.random.IntN(2) == 0,
		LeaderEpochs: api.NewLeaderEpochs(
			api.EpochOffset{LeaderEpoch: int32(n / 3), Offset: start}, api.EpochOffset{LeaderEpoch: int32(n/3) + 1, Offset: start + 70}),
	}
}

func publish(ctx context.Context, m api.RemoteLogMetadataManager, event api.RemoteLogMetadata) (api.Position, error) {
	switch e := event.(type) {
	case api.RemoteLogSegmentMetadata:
		return m.AddRemoteLogSegmentMetadata(ctx, e)
	case api.RemoteLogSegmentMetadataUpdate:
		return m.UpdateRemoteLogSegmentMetadata(ctx, e)
	case api.RemotePartitionDeleteMetadata:
		return m.PutRemotePartitionDeleteMetadata(ctx, e)
	}
	panic(fmt.Sprintf("no mutation is of type %T", event))
}

// owned are the partitions that the recorder has mutated.
func (r *Recorder) owned() []api.TopicIdPartition {
	r.mu.Lock()
	defer r.mu.Unlock()
	var tips []api.TopicIdPartition
	known := map[api.TopicIdPartition]bool{}
	for _, m := range r.mutations {
		if tip := m.event.Partition(); !known[tip] {
			known[tip] = true
			tips = append(tips, tip)
		}
	}
	return tips
}
