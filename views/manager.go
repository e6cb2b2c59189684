package views

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	"golang.org/x/sync/semaphore"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

// Manager is the remote log metadata manager on the topic: the whole contract of
// [api.TopicBasedRemoteLogMetadataManager] for a broker process to embed. It is safe
// for concurrent use. A fleet of processors must run somewhere; without one nothing is
// ever applied.
type Manager struct {
	cfg        Config
	cluster    *kafka.Cluster
	unlock     func() error // frees the data folder
	consumer   sarama.Consumer
	emitter    *emitter
	publishing *semaphore.Weighted
	watching   sync.WaitGroup
	partitions int32

	// ctx ends with Shutdown; flushed is closed when it has finished.
	ctx      context.Context
	cancel   context.CancelFunc
	finish   sync.Once
	flushed  chan struct{}
	flushErr error
	closing  sync.Once
	closeErr error

	reconciling sync.Mutex // one ReconcileAssignment after the other
	views       atomic.Pointer[assignment]
	lookup      *lookup // of what the views have indexed

	lookErr atomic.Pointer[error] // of the last look at the ends
	counters
}

var _ api.TopicBasedRemoteLogMetadataManager = (*Manager)(nil)

// NewManager connects to the cluster and returns a manager that consumes nothing until
// ReconcileAssignment. The metadata topic and the table must be there. Close frees
// what it holds.
func NewManager(ctx context.Context, cfg Config) (*Manager, error) {
	cfg = cfg.Defaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	unlock, err := store.Lock(filepath.Join(cfg.DataDir, storesFolder))
	if err != nil {
		return nil, err
	}
	cluster, err := kafka.Connect(ctx, cfg.Kafka)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	m := &Manager{cfg: cfg, cluster: cluster, unlock: unlock, lookup: newLookup(), publishing: semaphore.NewWeighted(maxPublishing), flushed: make(chan struct{})}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.views.Store(&assignment{})
	if err := m.connect(ctx); err != nil {
		m.cancel()
		return nil, errors.Join(err, cluster.Close(), unlock())
	}
	m.watching.Go(m.watch)
	return m, nil
}

func (m *Manager) connect(ctx context.Context) error {
	input, _, err := m.topics(ctx)
	if err != nil {
		return err
	}
	m.partitions = input.Partitions
	for _, topic := range []string{m.cfg.MetadataTopic, m.cfg.table()} {
		if _, err := m.cluster.Ensure(ctx, kafka.TopicSpec{Name: topic}, false); err != nil {
			return err
		}
		if err := m.cluster.MayRead(ctx, topic); err != nil {
			return err
		}
	}
	if err := m.checkPolicy(ctx); err != nil {
		return err
	}
	limit, err := m.cluster.TopicConfigInt(ctx, input.Name, "max.message.bytes")
	if err != nil {
		return err
	}
	if m.consumer, err = m.cluster.NewConsumer(ctx); err != nil {
		return err
	}
	m.emitter, err = newEmitter(ctx, m.cfg.Kafka, input, int(limit))
	return err
}

// topics asks for both topics and returns what the state is made from now.
func (m *Manager) topics(ctx context.Context) (input kafka.Topic, id store.Identity, err error) {
	seen, err := m.cluster.Look(ctx, m.cfg.MetadataTopic, m.cfg.table())
	if err != nil {
		return input, id, err
	}
	if input, err = seen.Topic(m.cfg.MetadataTopic); err != nil {
		return input, id, err
	}
	if m.partitions != 0 && input.Partitions != m.partitions {
		return input, id, kafka.PartitionCountError(input, m.partitions)
	}
	rows, err := seen.Topic(m.cfg.table())
	if err != nil {
		return input, id, fmt.Errorf("%w (a processor creates it)", err)
	}
	if rows.Partitions != input.Partitions {
		return input, id, kafka.PartitionCountError(rows, input.Partitions)
	}
	return input, store.Identity{ClusterID: m.cluster.ID(), MetadataTopicID: input.ID, TableTopicID: rows.ID}, nil
}

// expect is what the local store of a partition must fit now.
func (m *Manager) expect(ctx context.Context, number int32) (store.Expect, error) {
	_, id, err := m.topics(ctx)
	if err != nil {
		return store.Expect{}, err
	}
	end, err := m.cluster.DataEnd(ctx, m.cfg.table(), number)
	if err != nil {
		return store.Expect{}, err
	}
	maxAge, err := m.cluster.TombstoneAge(ctx, m.cfg.table())
	return store.Expect{
		Identity: id, TableEnd: end, MaxAge: maxAge / 2,
		SumAt: table.SumAt(ctx, m.cluster, m.cfg.table(), number),
	}, err
}

func (m *Manager) assigned(number int32) (*partition, bool) {
	p := m.views.Load().of(number)
	return p, p != nil
}

// indexShare is how many segments one metadata partition's indexes may hold.
func (m *Manager) indexShare() int64 {
	return m.cfg.MaxIndexedSegments / int64(max(1, m.views.Load().len()))
}

// ReconcileAssignment implements [api.TopicBasedRemoteLogMetadataManager].
func (m *Manager) ReconcileAssignment(ctx context.Context, desired []int32) error {
	for _, number := range desired {
		if number < 0 || number >= m.partitions {
			return &api.InvalidArgumentError{Field: "metadata partition", Reason: fmt.Sprintf("%d is not within 0 to %d", number, m.partitions-1)}
		}
	}
	m.reconciling.Lock()
	defer m.reconciling.Unlock()
	if m.ctx.Err() != nil {
		return api.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.replace(desired)
}

// replace makes the desired partitions the assigned ones, in one step for readers.
func (m *Manager) replace(desired []int32) error {
	old := m.views.Load()
	next := make(assignment, m.partitions)
	for _, number := range desired {
		if p := old.of(number); p != nil {
			next[number] = p
		} else if next[number] == nil {
			next[number] = startPartition(m, number)
		}
	}
	m.views.Store(&next)
	var errs []error
	var mu sync.Mutex
	var wg sync.WaitGroup
	for number, p := range old.all {
		if next[number] == nil {
			wg.Go(func() {
				err := p.stop()
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			})
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// AssignedMetadataPartitions implements [api.TopicBasedRemoteLogMetadataManager].
func (m *Manager) AssignedMetadataPartitions() []int32 {
	return m.views.Load().numbers()
}

// MetadataPartitions is the partition count of the metadata topic.
func (m *Manager) MetadataPartitions() int32 { return m.partitions }

// ClusterID is Kafka's cluster id.
func (m *Manager) ClusterID() string { return m.cluster.ID() }

// CommittedOffset implements [api.TopicBasedRemoteLogMetadataManager]. Of a partition
// that isn't assigned it reads the store on disk, after a ReconcileAssignment that may
// be closing it.
func (m *Manager) CommittedOffset(number int32) int64 {
	if number < 0 || number >= m.partitions {
		return -1
	}
	if p, ok := m.assigned(number); ok {
		return p.committed()
	}
	m.reconciling.Lock()
	defer m.reconciling.Unlock()
	if p, ok := m.assigned(number); ok {
		return p.committed()
	}
	return store.Peek(m.dir(number)).Applied
}

// Ready returns nil when every assigned metadata partition is ready, else an error
// that is ErrNotReady and names each that isn't. Without any it is ready.
func (m *Manager) Ready() error {
	var errs []error
	for _, p := range m.views.Load().all {
		if !p.ready.isOpen() {
			errs = append(errs, p.notReady())
		}
	}
	return errors.Join(errs...)
}

// WaitReady waits until every metadata partition that is assigned now is ready. It
// gives up, with the error of one that isn't, when that is unassigned or the manager
// shut down meanwhile, and with all their errors when the context ends.
func (m *Manager) WaitReady(ctx context.Context) error {
	for _, p := range m.views.Load().all {
		select {
		case <-p.ready.whenOpen():
		case <-p.ctx.Done():
			if !p.ready.isOpen() {
				return p.notReady()
			}
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), m.Ready())
		}
	}
	return nil
}

// Shutdown implements [api.TopicBasedRemoteLogMetadataManager].
func (m *Manager) Shutdown() {
	m.cancel()
	m.finish.Do(func() {
		go func() {
			defer close(m.flushed)
			m.flushErr = m.finishUp()
		}()
	})
}

// finishUp waits for what runs, and flushes. The publishes come last: a broker that says
// nothing may keep them for minutes.
func (m *Manager) finishUp() error {
	m.watching.Wait()
	return errors.Join(m.flush(), m.emitter.Finish())
}

func (m *Manager) flush() error {
	m.reconciling.Lock()
	defer m.reconciling.Unlock()
	var errs []error
	for _, p := range m.views.Load().all {
		p.awaitEnded()
		errs = append(errs, p.flush())
	}
	return errors.Join(errs...)
}

// ShutdownAndFlush implements [api.TopicBasedRemoteLogMetadataManager]. It waits for the
// publishes under way too, whose mutations have ended: minutes, when the broker says
// nothing and the context lets it.
func (m *Manager) ShutdownAndFlush(ctx context.Context) error {
	m.Shutdown()
	select {
	case <-m.flushed:
		return m.flushErr
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close shuts down, flushes and frees the connections and the local store: reads fail
// from then on with ErrNotReady. Publishes that a broker doesn't answer within five
// seconds are cut, which is an error that is [api.ErrUnacknowledged]; their mutations
// have said so. It may be called more than once.
func (m *Manager) Close() error {
	m.closing.Do(func() { m.closeErr = m.close() })
	return m.closeErr
}

// publishGrace is how long Close waits for the answers to what is published.
const publishGrace = 5 * time.Second

func (m *Manager) close() error {
	cut := time.AfterFunc(publishGrace, m.emitter.producer.cut)
	errs := []error{m.ShutdownAndFlush(context.Background())}
	cut.Stop()
	m.reconciling.Lock()
	defer m.reconciling.Unlock()
	for _, p := range m.views.Load().all {
		errs = append(errs, p.close())
	}
	return errors.Join(append(errs, m.consumer.Close(), m.cluster.Close(), m.unlock())...)
}
