package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/api"
)

// Cluster answers questions about a cluster's topics and offsets. It is safe for
// concurrent use.
type Cluster struct {
	client      sarama.Client
	adminClient sarama.Client // client itself unless admins have settings of their own
	admin       sarama.ClusterAdmin
	id          string
	connect     func() (sarama.Client, error)

	mu      sync.Mutex
	readers []sarama.Client // of consumers; none before there is one

	dials    *Dials
	offsets  *offsets
	fetches  *fetches
	topics   *shared[string, metadataAnswer]
	settings *shared[topicSetting, settingsAnswer]
}

// Connect opens a connection to the cluster; Close ends it.
func Connect(ctx context.Context, s Settings) (*Cluster, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	cfg := s.Consumer()
	dials := NewDials(cfg)
	connect := func() (sarama.Client, error) { return sarama.NewClient(s.Bootstrap, cfg) }
	client, err := callOr(ctx, connect, closeClient)
	if err != nil {
		return nil, fmt.Errorf("connect to %v: %w", s.Bootstrap, err)
	}
	c := &Cluster{client: client, adminClient: client, connect: connect, dials: dials, offsets: newOffsets(client), fetches: newFetches(client)}
	c.topics = &shared[string, metadataAnswer]{ask: c.askTopics}
	c.settings = &shared[topicSetting, settingsAnswer]{ask: c.askSettings}
	if err := c.identify(ctx, s); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) identify(ctx context.Context, s Settings) (err error) {
	if _, own := s.Clients[AdminClient]; own {
		c.adminClient, err = callOr(ctx, func() (sarama.Client, error) { return sarama.NewClient(s.Bootstrap, s.Admin()) }, closeClient)
		if err != nil {
			c.adminClient = c.client
			return fmt.Errorf("connect to %v as admin: %w", s.Bootstrap, err)
		}
	}
	if c.admin, err = sarama.NewClusterAdminFromClient(c.adminClient); err != nil {
		return err
	}
	meta, err := c.request(ctx, metadataRequest([]string{""})) // none: an empty list would ask for all
	if err != nil {
		return fmt.Errorf("read the cluster id: %w", err)
	}
	if meta.ClusterID != nil {
		c.id = *meta.ClusterID
	}
	return nil
}

// Close ends the connections.
func (c *Cluster) Close() error {
	var errs []error
	for _, client := range c.clients() {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}

func (c *Cluster) clients() []sarama.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []sarama.Client{c.client}
	if c.adminClient != c.client {
		all = append(all, c.adminClient)
	}
	return append(all, c.readers...)
}

// Client is the client underneath, to share its connections. It is closed with the
// cluster.
func (c *Cluster) Client() sarama.Client { return c.client }

// Dials counts the connections of the client underneath.
func (c *Cluster) Dials() int64 { return c.dials.Count() }

// ID is Kafka's cluster id.
func (c *Cluster) ID() string { return c.id }

// EndOffset returns the offset that the next record of the partition will get.
func (c *Cluster) EndOffset(ctx context.Context, topic string, partition int32) (int64, error) {
	return c.offset(ctx, topic, partition, sarama.OffsetNewest)
}

// StartOffset returns the first offset that the partition still holds.
func (c *Cluster) StartOffset(ctx context.Context, topic string, partition int32) (int64, error) {
	return c.offset(ctx, topic, partition, sarama.OffsetOldest)
}

func (c *Cluster) offset(ctx context.Context, topic string, partition int32, at int64) (int64, error) {
	o, err := c.offsets.of(ctx, topic, partition, at)
	if err != nil {
		return 0, fmt.Errorf("offsets of %s/%d: %w", topic, partition, Denied(err, "Describe", OnTopic(topic)))
	}
	return o, nil
}

// request asks any broker for metadata. The answer is new: the client's own cache knows
// neither ids nor deletions.
func (c *Cluster) request(ctx context.Context, req *sarama.MetadataRequest) (*sarama.MetadataResponse, error) {
	return call(ctx, func() (*sarama.MetadataResponse, error) { return c.anyBroker(req) })
}

// metadataRequest is of the topics, nil for all.
func metadataRequest(topics []string) *sarama.MetadataRequest {
	return sarama.NewMetadataRequest(Protocol, topics)
}

// anyBroker asks one broker after the other until one answers. The least loaded one
// alone won't do: with connections that wait for records it is the one that is away.
func (c *Cluster) anyBroker(req *sarama.MetadataRequest) (meta *sarama.MetadataResponse, err error) {
	err = sarama.ErrOutOfBrokers
	for _, broker := range c.brokers() {
		if meta, err = c.metadataOf(broker, req); err == nil {
			return meta, nil
		}
	}
	return nil, err
}

// brokers are those that are known, connected ones first; before any is known, one to
// connect to first.
func (c *Cluster) brokers() []*sarama.Broker {
	all := c.client.Brokers()
	if seed := c.client.LeastLoadedBroker(); len(all) == 0 && seed != nil {
		return []*sarama.Broker{seed}
	}
	connected := map[*sarama.Broker]bool{}
	for _, b := range all {
		connected[b], _ = b.Connected()
	}
	slices.SortStableFunc(all, func(a, b *sarama.Broker) int {
		switch {
		case connected[a] == connected[b]:
			return 0
		case connected[a]:
			return -1
		}
		return 1
	})
	return all
}

func (c *Cluster) metadataOf(broker *sarama.Broker, req *sarama.MetadataRequest) (*sarama.MetadataResponse, error) {
	if err := broker.Open(c.client.Config()); err != nil && !errors.Is(err, sarama.ErrAlreadyConnected) {
		return nil, err
	}
	meta, err := broker.GetMetadata(req)
	return meta, closeBroken(broker, err)
}

// Topic is what the cluster says of a topic.
type Topic struct {
	Name       string
	ID         api.UUID
	Partitions int32
	// LeaderEpochs are those of the partitions, by number: another one each time that a broker
	// becomes the leader. −1 is unknown.
	LeaderEpochs []int32
}

// LeaderEpoch is that of a partition; −1 is unknown.
func (t Topic) LeaderEpoch(partition int32) int32 {
	if int(partition) >= len(t.LeaderEpochs) {
		return -1
	}
	return t.LeaderEpochs[partition]
}

// ErrNoTopic says that a topic doesn't exist.
var ErrNoTopic = errors.New("no such topic")

// Topic asks for a topic. A missing one is ErrNoTopic.
func (c *Cluster) Topic(ctx context.Context, name string) (Topic, error) {
	seen, err := c.Look(ctx, name)
	if err != nil {
		return Topic{}, err
	}
	return seen.Topic(name)
}

// Look is what the cluster said of some topics at one time.
type Look struct{ metadata *sarama.MetadataResponse }

// Topic is one of the topics that were asked for. A missing one is ErrNoTopic.
func (l Look) Topic(name string) (Topic, error) { return topicIn(l.metadata, name) }

// Look asks for topics, together with whoever asks for some at the same time.
func (c *Cluster) Look(ctx context.Context, names ...string) (Look, error) {
	answer, err := c.topics.get(ctx, names...)
	if err = errors.Join(err, answer.err); err != nil {
		return Look{}, fmt.Errorf("metadata of topics %v: %w", names, err)
	}
	return Look{answer.metadata}, nil
}

type metadataAnswer struct {
	metadata *sarama.MetadataResponse
	err      error
}

func (c *Cluster) askTopics(names []string) (a metadataAnswer) {
	a.metadata, a.err = c.anyBroker(metadataRequest(names))
	return a
}

// TopicAtLeaders asks each broker that leads one of the partitions for the topic, and
// returns what each says. A leader knows of a new topic before it serves its records, so
// what was fetched from it before this call is of the topic that it names; other brokers
// may be behind. A missing topic is ErrNoTopic.
func (c *Cluster) TopicAtLeaders(ctx context.Context, name string, partitions []int32) ([]Topic, error) {
	leaders := map[int32]*sarama.Broker{}
	for _, p := range partitions {
		leader, err := c.client.Leader(name, p)
		if err != nil {
			return nil, fmt.Errorf("leader of %s/%d: %w", name, p, err)
		}
		leaders[leader.ID()] = leader
	}
	var topics []Topic
	for _, leader := range leaders {
		t, err := call(ctx, func() (Topic, error) {
			meta, err := c.metadataOf(leader, metadataRequest([]string{name}))
			if err != nil {
				return Topic{}, err
			}
			return topicIn(meta, name)
		})
		if err != nil {
			_ = c.client.RefreshMetadata(name) // a leader that moved; the next try finds it
			return nil, fmt.Errorf("metadata of topic %s at broker %d: %w", name, leader.ID(), err)
		}
		topics = append(topics, t)
	}
	return topics, nil
}

func topicIn(meta *sarama.MetadataResponse, name string) (Topic, error) {
	for _, t := range meta.Topics {
		if t.Name == name {
			return topicOf(t)
		}
	}
	return Topic{}, fmt.Errorf("topic %s: %w", name, ErrNoTopic)
}

// Topics lists the cluster's topics.
func (c *Cluster) Topics(ctx context.Context) ([]Topic, error) {
	meta, err := c.request(ctx, metadataRequest(nil))
	if err != nil {
		return nil, fmt.Errorf("metadata of all topics: %w", err)
	}
	topics := make([]Topic, 0, len(meta.Topics))
	for _, t := range meta.Topics {
		topic, err := topicOf(t)
		if err != nil {
			return nil, err
		}
		topics = append(topics, topic)
	}
	return topics, nil
}

func topicOf(t *sarama.TopicMetadata) (Topic, error) {
	switch t.Err {
	case sarama.ErrNoError, sarama.ErrLeaderNotAvailable:
		return Topic{t.Name, api.UUID(t.Uuid), int32(len(t.Partitions)), epochsOf(t)}, nil
	case sarama.ErrUnknownTopicOrPartition:
		return Topic{}, fmt.Errorf("topic %s: %w", t.Name, ErrNoTopic)
	}
	return Topic{}, fmt.Errorf("topic %s: %w", t.Name, Denied(t.Err, "Describe", OnTopic(t.Name)))
}

func epochsOf(t *sarama.TopicMetadata) []int32 {
	epochs := slices.Repeat([]int32{-1}, len(t.Partitions))
	for _, p := range t.Partitions {
		if int(p.ID) < len(epochs) {
			epochs[p.ID] = p.LeaderEpoch
		}
	}
	return epochs
}

// closeBroken closes a connection whose request brought no answer, and returns the
// error: an answer that comes too late leaves it of no use, and sarama keeps it.
func closeBroken(b *sarama.Broker, err error) error {
	if err != nil {
		_ = b.Close() // the error is told already
	}
	return err
}

// Reconnect closes the clients' connections; what they ask next opens others. It is for
// when one connection turned out to be dead: the others of that time may be too, and each
// would show it only after a timeout of its own. It waits for requests under way.
func Reconnect(clients ...sarama.Client) {
	var closing sync.WaitGroup
	for _, client := range clients {
		for _, b := range client.Brokers() {
			closing.Go(func() { _ = b.Close() }) // one that isn't open stays so
		}
	}
	closing.Wait()
}

// Reconnect is [Reconnect] for the cluster's own connections.
func (c *Cluster) Reconnect() { Reconnect(c.clients()...) }

// call runs f and gives up waiting when the context ends. sarama takes no context;
// f then goes on until its own network timeouts.
func call[T any](ctx context.Context, f func() (T, error)) (T, error) {
	return callOr(ctx, f, func(T) {})
}

// callOr is call for what must be freed: late gets a value that comes after the context
// has ended.
func callOr[T any](ctx context.Context, f func() (T, error), late func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				late(r.value)
			}
		}()
		var zero T
		return zero, context.Cause(ctx)
	}
}

func closeClient(c sarama.Client) { _ = c.Close() }
