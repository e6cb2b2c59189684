package processor

import (
	"context"
	"errors"
	"hash"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"
	"github.com/lovoo/goka/storage"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/lag"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

// instance is one run of a goka processor, which can run only once.
type instance struct {
	cfg        Config
	log        *slog.Logger
	stats      *counters
	cluster    *kafka.Cluster
	identity   store.Identity
	partitions int32
	limits     limits
	maxAge     time.Duration
	writer     *table.Writer
	proofs     *kafka.Proofs // of the client that reads the metadata topic
	goka       *goka.Processor
	onRunning  func([]int32)
	// changed gets why the instance must end, for the watch.
	changed chan error

	maintaining sync.WaitGroup
	// rowLocks, one a partition, make one step of reading a row and sending what
	// follows from it.
	rowLocks []sync.Mutex

	mu     sync.Mutex
	stores map[int32]*recovering
	// leaders are who led the metadata topic's partitions as of the last write.
	leaders map[int32]leader
	gaveUp  error
}

// recovering is a store, and what its recovery met.
type recovering struct {
	*store.Store
	identity error
	doubts   table.Doubts
	gap      bool // compaction had taken something of what was read since it was opened
	lag      *lag.Tracker
	// fromStore tells whether it was there before, records counts what recovery read.
	fromStore bool
	records   int64
}

// newInstance checks the group, ensures the topics and builds the goka processor. close frees it.
func newInstance(ctx context.Context, p *Processor) (*instance, error) {
	cluster, err := kafka.Connect(ctx, p.cfg.Kafka)
	if err != nil {
		return nil, err
	}
	i := &instance{
		cfg: p.cfg, log: p.cfg.Logger, stats: &p.stats, cluster: cluster, onRunning: p.setRunning,
		stores: map[int32]*recovering{}, leaders: map[int32]leader{}, changed: make(chan error, 1),
	}
	if err := i.prepare(ctx); err != nil {
		if errors.Is(err, kafka.ErrNoTopic) && !p.cfg.CreateTopics {
			err = missingTopicError{err}
		}
		return nil, errors.Join(err, cluster.Close())
	}
	return i, nil
}

func (i *instance) prepare(ctx context.Context) error {
	if err := i.cluster.CheckGroup(ctx, i.cfg.Group, i.cfg.MetadataTopic); err != nil {
		return err
	}
	if err := i.ensureTopics(ctx); err != nil {
		return err
	}
	var err error
	i.goka, err = goka.NewProcessor(i.cfg.Kafka.Bootstrap, i.graph(), i.options()...)
	return err
}

// ensureTopics finds or creates the three topics and learns from them what the state
// is made from and how large a record may be.
func (i *instance) ensureTopics(ctx context.Context) error {
	c := i.cfg
	spec := kafka.MetadataTopic(c.MetadataTopic, c.Partitions, c.ReplicationFactor, c.MinISR)
	if c.Retention > 0 {
		spec.Configs["retention.ms"] = strconv.FormatInt(c.Retention.Milliseconds(), 10)
	}
	if _, err := i.cluster.Topic(ctx, c.MetadataTopic); err == nil {
		spec.Partitions, spec.Configs = 0, nil // Kafka's own topic is taken as it is
	}
	input, err := i.cluster.Ensure(ctx, spec, c.CreateTopics)
	if err != nil {
		return err
	}
	if err := i.cluster.MayRead(ctx, input.Name); err != nil {
		return err
	}
	if i.limits.input, err = i.limit(ctx, input.Name); err != nil {
		return err
	}
	rows, err := i.ensureTable(ctx, input)
	if err != nil {
		return err
	}
	if err := i.ensureRejected(ctx); err != nil {
		return err
	}
	i.partitions = input.Partitions
	i.rowLocks = make([]sync.Mutex, i.partitions)
	i.identity = store.Identity{ClusterID: i.cluster.ID(), MetadataTopicID: input.ID, TableTopicID: rows.ID}
	return nil
}

func (i *instance) ensureTable(ctx context.Context, input kafka.Topic) (kafka.Topic, error) {
	c := i.cfg
	spec := kafka.TableTopic(c.table(), input.Partitions, c.ReplicationFactor, c.MinISR, i.limits.input+rowOverhead)
	rows, err := i.cluster.Ensure(ctx, spec, c.CreateTopics)
	if mismatch := (*kafka.MismatchError)(nil); errors.As(err, &mismatch) && mismatch.Setting == kafka.PartitionCount {
		err = partitionsError{mismatch, input.Name}
	}
	if err != nil {
		return rows, err
	}
	if err := i.cluster.MayRead(ctx, rows.Name); err != nil {
		return rows, err
	}
	if i.limits.table, err = i.limit(ctx, rows.Name); err != nil {
		return rows, err
	}
	if err := i.limits.check(rows.Name); err != nil {
		return rows, err
	}
	age, err := i.cluster.TombstoneAge(ctx, rows.Name)
	i.maxAge = age / 2
	return rows, err
}

// ensureRejected makes room for an event's reason beside its raw bytes.
func (i *instance) ensureRejected(ctx context.Context) error {
	c := i.cfg
	spec := kafka.RejectedTopic(c.rejected(), c.ReplicationFactor, c.MinISR, i.limits.input+rowOverhead)
	rejected, err := i.cluster.Ensure(ctx, spec, c.CreateTopics)
	if err != nil {
		return err
	}
	i.limits.rejected, err = i.limit(ctx, rejected.Name)
	return err
}

func (i *instance) options() []goka.ProcessorOption {
	k := i.cfg.Kafka
	return []goka.ProcessorOption{
		goka.WithClientID(k.Consumer().ClientID),
		goka.WithHasher(codec.NewHasher),
		goka.WithNilHandling(goka.NilDecode),
		goka.WithPartitionChannelSize(256),
		goka.WithLogger(kafka.GokaLogger{Logger: i.log}),
		goka.WithConsumerSaramaBuilder(func([]string, string) (sarama.Consumer, error) {
			return i.cluster.NewConsumer(context.Background())
		}),
		goka.WithTopicManagerBuilder(func([]string) (goka.TopicManager, error) {
			return topicManager{kafka.TopicManager{Cluster: i.cluster}, i}, nil
		}),
		goka.WithConsumerGroupBuilder(i.buildGroup),
		goka.WithProducerBuilder(i.buildProducer),
		goka.WithStorageBuilder(i.buildStorage),
		goka.WithUpdateCallback(i.recover),
	}
}

func (i *instance) buildGroup(brokers []string, name, clientID string) (sarama.ConsumerGroup, error) {
	c := i.cfg.Kafka.Group()
	c.Consumer.Group.InstanceId = i.cfg.InstanceID
	i.proofs = kafka.NewProofs(c, i.cfg.MetadataTopic, i.identity.MetadataTopicID)
	c.Consumer.Interceptors = []sarama.ConsumerInterceptor{keyer{i.cfg.MetadataTopic, i.partitions}}
	inner, err := goka.ConsumerGroupBuilderWithConfig(c)(brokers, name, clientID)
	i.giveUpIf(err) // goka wraps without unwrapping
	return group{inner, i}, err
}

func (i *instance) buildProducer(brokers []string, clientID string, hasher func() hash.Hash32) (goka.Producer, error) {
	client, err := sarama.NewClient(brokers, i.cfg.Kafka.Producer())
	if err != nil {
		return nil, err
	}
	other, err := i.buildOther(client, brokers, clientID, hasher)
	if err != nil {
		i.giveUpIf(err) // goka wraps without unwrapping
		return nil, errors.Join(err, client.Close())
	}
	i.writer = table.NewWriter(table.WriterConfig{
		Client: client, Topic: i.cfg.table(), Partitions: i.partitions,
		MaxBatchBytes: i.limits.table, Refused: i.refused, Verify: i.verifyInput, Other: other,
		RejectionFailed: i.rejectionFailed, RenewEvery: i.cfg.RenewEvery, Failed: i.giveUpIf,
	})
	return i.writer, nil
}

// buildOther returns the producer of the rejected events. Whether it may be idempotent is
// asked before: goka would only tell it as a text.
func (i *instance) buildOther(client sarama.Client, brokers []string, clientID string, hasher func() hash.Hash32) (goka.Producer, error) {
	id, err := client.InitProducerID()
	if err == nil && id.Err != sarama.ErrNoError {
		err = kafka.Denied(id.Err, "IdempotentWrite", kafka.OnCluster())
	}
	if err != nil {
		return nil, err
	}
	return goka.ProducerBuilderWithConfig(i.cfg.Kafka.ProducerTo(i.limits.rejected))(brokers, clientID, hasher)
}

func (i *instance) buildStorage(topic string, p int32) (storage.Storage, error) {
	end, err := i.cluster.DataEnd(context.Background(), topic, p)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(i.cfg.DataDir, storesFolder, strconv.Itoa(int(p)))
	s, reset, err := store.Open(dir, i.cfg.Store, store.Expect{
		Identity: i.identity, TableEnd: end, MaxAge: i.maxAge,
		SumAt: table.SumAt(context.Background(), i.cluster, topic, p),
	})
	if reset != store.ResetNone {
		i.stats.resets.Add(reset)
		i.log.Warn("local store moved aside, rebuilding it", "partition", p, "reason", string(reset))
	}
	if err != nil {
		i.giveUpIf(err)
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stores[p] = &recovering{Store: s, lag: lag.New(time.Now(), 2*checkEvery), fromStore: s.Position().Table >= 0}
	return s, nil
}

// recover applies a table record that goka reads in recovery.
func (i *instance) recover(ctx goka.UpdateContext, _ storage.Storage, key string, value []byte) error {
	i.mu.Lock()
	st := i.stores[ctx.Partition()]
	i.mu.Unlock()
	st.gap = st.gap || ctx.Offset() != st.Position().Table+1
	st.records++
	r, err := table.Parse(key, value, ctx.Headers(), ctx.Timestamp())
	if err != nil {
		i.stats.foreign.Add(1)
		i.log.Warn("foreign record in the table", "partition", ctx.Partition(), "offset", ctx.Offset(), "error", err)
		_, err = st.doubts.Raise(st.Store, key, ctx.Partition(), i.partitions)
		return err
	}
	if err := table.CheckFenced(r, i.cfg.table(), ctx.Partition(), ctx.Offset()); err != nil {
		i.giveUp(err)
		return err
	}
	if err := r.CheckVersion(); err != nil {
		i.giveUp(err)
		return err
	}
	if have := r.MadeFrom(i.identity); r.Names() && have != i.identity {
		i.otherTopic(st, ctx, r.Kind, have)
	}
	if err := st.CheckNext(ctx.Offset()); err != nil {
		return err
	}
	applied, err := table.Apply(st.Store, r)
	i.giveUpIf(err) // goka wraps without unwrapping
	switch {
	case err != nil:
		return err
	case applied:
		return st.doubts.Settle(st.Store, key)
	}
	i.stats.stale.Add(1)
	i.log.Warn("stale record in the table", "partition", ctx.Partition(), "offset", ctx.Offset(), "source", r.Source)
	_, err = st.doubts.Raise(st.Store, key, ctx.Partition(), i.partitions)
	return err
}

// otherTopic takes in a record of recovery that names another metadata topic. A fence
// alone does no harm: our own follows it, and answers only a position.
func (i *instance) otherTopic(st *recovering, ctx goka.UpdateContext, kind table.Kind, have store.Identity) {
	if kind == table.Progress {
		st.identity = &store.IdentityError{Have: have, Want: i.identity}
		return
	}
	i.stats.foreign.Add(1)
	i.log.Warn("foreign fence in the table", "error", &table.ForeignFenceError{
		Topic: i.cfg.table(), Partition: ctx.Partition(), Offset: ctx.Offset(), Have: have, Want: i.identity,
	})
}

func (i *instance) recovered(p int32) (*recovering, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	st := i.stores[p]
	if st == nil {
		return nil, errors.New("its store was not opened")
	}
	return st, st.identity
}

// giveUp ends the processor with an error that can't heal.
func (i *instance) giveUp(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.gaveUp == nil {
		i.gaveUp = err
	}
}

func (i *instance) giveUpIf(err error) {
	if err != nil && !kafka.CanHeal(err) {
		i.giveUp(err)
	}
}

// fatal returns the error that the processor must end with, nil to go on.
func (i *instance) fatal(err error) error {
	i.giveUpIf(err)
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.gaveUp
}

func (i *instance) close() error { return i.cluster.Close() }
