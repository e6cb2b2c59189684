package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/IBM/sarama"
)

// Rights is a set of operations that this client may carry out on a resource.
type Rights struct {
	bits  int32
	known bool
}

// rightsOf reads a bit field of KIP-430: bit n is the operation of code n.
func rightsOf(bits int32) Rights { return Rights{bits, bits != noRights} }

// noRights is what brokers answer when they weren't asked, or don't tell.
const noRights = -1 << 31

// Lacks tells whether the broker said that the operation, Write for one, is denied.
func (r Rights) Lacks(operation sarama.AclOperation) bool {
	return r.known && r.bits&(1<<operation) == 0
}

// TopicDetail is what the cluster says of a topic and its replicas.
type TopicDetail struct {
	Topic
	// ReplicationFactor is the least of its partitions'.
	ReplicationFactor int
	// Leaderless are the partitions without a leader, UnderReplicated those with one of
	// which a replica isn't in sync.
	Leaderless, UnderReplicated []int32
	// Rights are this client's.
	Rights Rights
}

// TopicDetail asks for a topic. A missing one is ErrNoTopic, one that this client may not
// describe a [DeniedError].
func (c *Cluster) TopicDetail(ctx context.Context, name string) (TopicDetail, error) {
	req := metadataRequest([]string{name})
	req.IncludeTopicAuthorizedOperations = true
	meta, err := c.request(ctx, req)
	if err != nil {
		return TopicDetail{}, fmt.Errorf("metadata of topic %s: %w", name, err)
	}
	topic, err := topicIn(meta, name)
	if err != nil {
		return TopicDetail{}, err
	}
	i := slices.IndexFunc(meta.Topics, func(t *sarama.TopicMetadata) bool { return t.Name == name })
	d := TopicDetail{Topic: topic, Rights: rightsOf(meta.Topics[i].TopicAuthorizedOperations)}
	for at, p := range meta.Topics[i].Partitions {
		d.add(at == 0, p)
	}
	slices.Sort(d.Leaderless)
	slices.Sort(d.UnderReplicated)
	return d, nil
}

func (d *TopicDetail) add(first bool, p *sarama.PartitionMetadata) {
	if n := len(p.Replicas); first || n < d.ReplicationFactor {
		d.ReplicationFactor = n
	}
	switch {
	case p.Leader < 0:
		d.Leaderless = append(d.Leaderless, p.ID)
	case len(p.Isr) < len(p.Replicas):
		d.UnderReplicated = append(d.UnderReplicated, p.ID)
	}
}

// Configs returns the effective values of settings of topics, by topic and name. A topic
// without a setting, or of which it is denied to this client, lacks it.
func (c *Cluster) Configs(ctx context.Context, topics []string, names ...string) (map[string]map[string]string, error) {
	all := make(map[string]map[string]string, len(topics))
	for some := range slices.Chunk(topics, configsAtOnce) {
		results, err := call(ctx, func() ([]*sarama.ConfigResourceResult, error) {
			var resources []*sarama.ConfigResource
			for _, t := range some {
				resources = append(resources, &sarama.ConfigResource{Type: sarama.TopicResource, Name: t, ConfigNames: names})
			}
			return c.admin.DescribeConfigs(resources, sarama.DescribeConfigsOptions{})
		})
		if err != nil {
			return nil, fmt.Errorf("read settings of topics: %w", err)
		}
		for _, r := range results {
			all[r.Name] = valuesOf(r)
		}
	}
	return all, nil
}

// configsAtOnce bounds the topics of a request.
const configsAtOnce = 500

func valuesOf(r *sarama.ConfigResourceResult) map[string]string {
	values := make(map[string]string, len(r.Configs))
	for _, e := range r.Configs {
		values[e.Name] = e.Value
	}
	return values
}

// Group is what the cluster says of a consumer group.
type Group struct {
	// State is Kafka's name: Stable, PreparingRebalance, CompletingRebalance, Empty, or
	// Dead, which is one that isn't there.
	State   string
	Members int
	// Topics are what the members read; none unless the group is Stable.
	Topics []string
	// Rights are this client's.
	Rights Rights
}

// Group asks for a consumer group. One that this client may not describe is a
// [DeniedError].
func (c *Cluster) Group(ctx context.Context, name string) (Group, error) {
	got, err := call(ctx, func() (*sarama.GroupDescription, error) {
		coordinator, err := c.client.Coordinator(name)
		if err != nil {
			return nil, err
		}
		answer, err := coordinator.DescribeGroups(&sarama.DescribeGroupsRequest{
			Version: 5, Groups: []string{name}, IncludeAuthorizedOperations: true,
		})
		switch {
		case err != nil:
			return nil, closeBroken(coordinator, err)
		case len(answer.Groups) != 1:
			return nil, sarama.ErrIncompleteResponse
		case answer.Groups[0].Err != sarama.ErrNoError:
			return nil, answer.Groups[0].Err
		}
		return answer.Groups[0], nil
	})
	if errors.Is(err, sarama.ErrGroupIDNotFound) {
		return Group{State: "Dead", Rights: rightsOf(noRights)}, nil
	}
	if err != nil {
		return Group{}, fmt.Errorf("describe group %s: %w", name, Denied(err, "Describe", OnGroup(name)))
	}
	return Group{got.State, len(got.Members), subscriptions(got), rightsOf(got.AuthorizedOperations)}, nil
}

// subscriptions are the topics that the members read, each once. What isn't a consumer's
// it passes by.
func subscriptions(g *sarama.GroupDescription) (topics []string) {
	for _, m := range g.Members {
		if member, err := m.GetMemberMetadata(); err == nil && member != nil {
			topics = append(topics, member.Topics...)
		}
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// FindTransactionalID returns a [DeniedError] when this client may not use the
// transactional id, one of several that begin with the prefix. It changes nothing, and so
// shows only whether the id may be described, as who may write may.
func (c *Cluster) FindTransactionalID(ctx context.Context, id, prefix string) error {
	_, err := call(ctx, func() (struct{}, error) {
		_, err := c.client.TransactionCoordinator(id)
		return struct{}{}, err
	})
	return Denied(err, "Describe", OnTransactionalID(id, prefix))
}

// BrokerVersions is what a broker can do.
type BrokerVersions struct {
	ID   int32
	Addr string
	// MaxVersions is the highest version of each API, by key; nil with Err.
	MaxVersions map[int16]int16
	// Err is why it couldn't be asked.
	Err error
}

// BrokerVersions asks each broker of the cluster, in the order of their ids.
func (c *Cluster) BrokerVersions(ctx context.Context) []BrokerVersions {
	var all []BrokerVersions
	for _, b := range c.client.Brokers() {
		v := BrokerVersions{ID: b.ID(), Addr: b.Addr()}
		v.MaxVersions, v.Err = call(ctx, func() (map[int16]int16, error) { return c.versionsOf(b) })
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b BrokerVersions) int { return int(a.ID) - int(b.ID) })
	return all
}

func (c *Cluster) versionsOf(b *sarama.Broker) (map[int16]int16, error) {
	if err := b.Open(c.client.Config()); err != nil && !errors.Is(err, sarama.ErrAlreadyConnected) {
		return nil, err
	}
	answer, err := b.ApiVersions(new(sarama.ApiVersionsRequest))
	if err != nil {
		return nil, closeBroken(b, err)
	}
	versions := make(map[int16]int16, len(answer.ApiKeys))
	for _, k := range answer.ApiKeys {
		versions[k.ApiKey] = k.MaxVersion
	}
	return versions, nil
}

// BrokerConfig returns the value of a broker's setting, and whether the broker tells one.
func (c *Cluster) BrokerConfig(ctx context.Context, broker int32, name string) (string, bool, error) {
	results, err := call(ctx, func() ([]*sarama.ConfigResourceResult, error) {
		resource := &sarama.ConfigResource{Type: sarama.BrokerResource, Name: strconv.Itoa(int(broker)), ConfigNames: []string{name}}
		return c.admin.DescribeConfigs([]*sarama.ConfigResource{resource}, sarama.DescribeConfigsOptions{})
	})
	if err == nil && len(results) == 1 && results[0].ErrorCode != sarama.ErrNoError {
		err = results[0].ErrorCode
	}
	if err != nil {
		return "", false, fmt.Errorf("read %s of broker %d: %w", name, broker, Denied(err, "DescribeConfigs", OnCluster()))
	}
	for _, r := range results {
		if value, ok := valuesOf(r)[name]; ok {
			return value, true, nil
		}
	}
	return "", false, nil
}
