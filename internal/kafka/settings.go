// Package kafka is how every part of rlmm reaches a Kafka cluster: one place for
// connection settings, for the client settings that the design depends on, and for
// the questions about topics and offsets that goka doesn't ask.
package kafka

import (
	"cmp"
	"errors"
	"time"

	"github.com/IBM/sarama"
	"github.com/rcrowley/go-metrics"
)

// Protocol is the protocol version that rlmm's clients speak. It serves brokers
// from 2.8 on, 4.x among them.
var Protocol = sarama.V2_8_0_0

// batchOverhead is more than a batch takes beside its records.
const batchOverhead = 128

// answerTimeout is how long a client waits for an answer before it gives the connection
// up: a little longer than a broker may hold a request, which is 10 s for one that waits
// for replicas, or for a silent member's session in the group. While a connection is
// half-open nothing else goes on over it, so sarama's 30 s would be as much longer.
const answerTimeout = 12 * time.Second

// maxMessageBytes bounds what our producers send in one record. The topic's own
// max.message.bytes decides; this must not be the lower bound.
const maxMessageBytes = 64 << 20

// Settings is how to reach a cluster.
type Settings struct {
	// Bootstrap is the host:port of at least one broker.
	Bootstrap []string
	// ClientID names this client to the brokers; "rlmm" when empty.
	ClientID string
	// SessionTimeout is how long the group waits for a silent member before it gives
	// its partitions to others; 10 s when 0.
	SessionTimeout time.Duration
	// FetchMaxWait is how long a broker may hold a fetch that has no records; 100 ms
	// when 0. To stop a view takes up to that long.
	FetchMaxWait time.Duration
	// Security is how connections are secured, and who connects.
	Security Security
	// Clients replaces parts of the settings for clients of one kind.
	Clients map[ClientKind]ClientSettings
}

// ClientKind is what a client does, as Kafka's prefixes remote.log.metadata.producer,
// .consumer and .admin tell clients apart.
type ClientKind string

// The kinds of clients. What asks for topics and offsets is a consumer.
const (
	ProducerClient ClientKind = "producer"
	ConsumerClient ClientKind = "consumer"
	AdminClient    ClientKind = "admin"
)

// ClientSettings is what clients of one kind have of their own.
type ClientSettings struct {
	// ClientID is the common one when empty.
	ClientID string
	// Security is the common one when nil.
	Security *Security
}

// Validate returns an error that names every setting that can't be right.
func (s Settings) Validate() error {
	var errs []error
	if len(s.Bootstrap) == 0 {
		errs = append(errs, errors.New("bootstrap: at least one host:port is needed"))
	}
	if s.SessionTimeout < 0 {
		errs = append(errs, errors.New("session timeout: must not be negative"))
	}
	if s.FetchMaxWait < 0 {
		errs = append(errs, errors.New("fetch max wait: must not be negative"))
	}
	errs = append(errs, s.Security.Validate())
	for kind, c := range s.Clients {
		if c.Security != nil {
			errs = append(errs, naming(string(kind)+" client", c.Security.Validate()))
		}
	}
	return errors.Join(errs...)
}

// of returns the settings of a kind of clients.
func (s Settings) of(kind ClientKind) ClientSettings {
	own := s.Clients[kind]
	own.ClientID = cmp.Or(own.ClientID, s.ClientID, "rlmm")
	if own.Security == nil {
		own.Security = &s.Security
	}
	return own
}

// base is what all clients share. Kafka's defaults for topic creation stay off: a
// client that asks for a missing topic must not create it with the wrong settings.
func (s Settings) base(kind ClientKind) *sarama.Config {
	own := s.of(kind)
	c := sarama.NewConfig()
	c.MetricRegistry = noMetrics{metrics.NewRegistry()}
	c.Version = Protocol
	c.ClientID = own.ClientID
	c.Metadata.AllowAutoTopicCreation = false
	c.Net.DialTimeout = 10 * time.Second
	c.Net.ReadTimeout = answerTimeout
	c.Net.WriteTimeout = answerTimeout
	own.Security.apply(c)
	return c
}

// Consumer returns the settings of a consumer that starts at the beginning and
// reports its errors.
func (s Settings) Consumer() *sarama.Config {
	return s.consumer(ConsumerClient)
}

// Admin returns the settings of what creates and deletes topics and groups.
func (s Settings) Admin() *sarama.Config { return s.consumer(AdminClient) }

func (s Settings) consumer(kind ClientKind) *sarama.Config {
	c := s.base(kind)
	c.Consumer.Return.Errors = true
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.MaxWaitTime = cmp.Or(s.FetchMaxWait, 100*time.Millisecond)
	c.Consumer.Fetch.Default = 128 << 10
	c.ChannelBufferSize = 512
	return c
}

// Group returns the settings of a member of a consumer group. The position comes
// from recovered state, so an offset out of range must be an error and never be
// mended by starting over.
func (s Settings) Group() *sarama.Config {
	c := s.Consumer()
	c.Consumer.Group.Session.Timeout = cmp.Or(s.SessionTimeout, 10*time.Second)
	c.Net.ReadTimeout = max(answerTimeout, c.Consumer.Group.Session.Timeout+2*time.Second)
	c.Consumer.Group.Heartbeat.Interval = c.Consumer.Group.Session.Timeout / 4
	c.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	c.Consumer.Group.ResetInvalidOffsets = false
	return c
}

// Producer returns the settings of an idempotent producer that waits for all
// in-sync replicas and sends at once. All three flush settings are 0: with one of
// them set, a producer that waits for a batch to fill can hang.
func (s Settings) Producer() *sarama.Config {
	c := s.base(ProducerClient)
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Idempotent = true
	c.Producer.Return.Successes = true
	c.Producer.Return.Errors = true
	c.Producer.MaxMessageBytes = maxMessageBytes
	c.Producer.Retry.Max = 30
	c.Producer.Flush.Frequency, c.Producer.Flush.Bytes, c.Producer.Flush.Messages = 0, 0, 0
	c.Net.MaxOpenRequests = 1
	return c
}

// ProducerTo is Producer for a topic that takes batches of limit bytes
// (max.message.bytes): sarama fills them up to what it is told.
func (s Settings) ProducerTo(limit int) *sarama.Config {
	c := s.Producer()
	c.Producer.MaxMessageBytes = limit - batchOverhead
	return c
}
