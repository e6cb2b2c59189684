//go:build integration

package faults_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/processor"
	"github.com/tieredlog/rlmm/views"
)

// guarded is a world on a broker that minds rights.
type guarded struct {
	*world
	admin *kgo.Client
}

// everything is all rights there are.
var everything = []kafkatest.Right{
	{Operation: kadm.OpAll},
	{Operation: kadm.OpAll, Topic: "*"},
	{Operation: kadm.OpAll, Group: "*"},
	{Operation: kadm.OpAll, TransactionalIDPrefix: "*"},
}

// newGuarded starts with the topics of a fleet that has run, and without any right.
func newGuarded(t *testing.T) guarded {
	t.Helper()
	b := kafkatest.Start(t, kafkatest.WithAuthorizer())
	admin := b.AdminClient(t)
	kafkatest.Grant(t, admin, everything...)
	g := guarded{newWorld(t, b.Bootstrap()), admin}
	m := g.newMember()
	m.start()
	g.await("the fleet has run", func() bool { return m.sessions() > 0 })
	m.stop()
	kafkatest.Withdraw(t, admin, everything...)
	return g
}

func (g guarded) rejected() string { return g.group + "-rejected" }

// needed is what a processor needs on topics that exist.
func (g guarded) needed() []kafkatest.Right {
	return []kafkatest.Right{
		{Operation: kadm.OpDescribe, Topic: g.topic},
		{Operation: kadm.OpRead, Topic: g.topic},
		{Operation: kadm.OpDescribeConfigs, Topic: g.topic},
		{Operation: kadm.OpDescribe, Topic: g.table()},
		{Operation: kadm.OpRead, Topic: g.table()},
		{Operation: kadm.OpWrite, Topic: g.table()},
		{Operation: kadm.OpDescribeConfigs, Topic: g.table()},
		{Operation: kadm.OpDescribe, Topic: g.rejected()},
		{Operation: kadm.OpWrite, Topic: g.rejected()},
		{Operation: kadm.OpDescribeConfigs, Topic: g.rejected()},
		{Operation: kadm.OpRead, Group: g.group},
		{Operation: kadm.OpWrite, TransactionalIDPrefix: g.table() + "-"},
	}
}

// without grants all that is needed but for the given ones.
func (g guarded) without(missing ...kafkatest.Right) (granted []kafkatest.Right) {
	return slices.DeleteFunc(g.needed(), func(r kafkatest.Right) bool { return slices.Contains(missing, r) })
}

// poison puts a record on the input that must be rejected.
func (g guarded) poison() {
	g.t.Helper()
	for p := range int32(partitions) {
		r := &kgo.Record{Topic: g.topic, Partition: p, Value: []byte("poison")}
		if err := g.admin.ProduceSync(g.t.Context(), r).FirstErr(); err != nil {
			g.t.Fatal(err)
		}
	}
}

// A processor that lacks a right ends and names it; with all that the README lists it
// works.
func TestMissingRightsAreNamed(t *testing.T) {
	g := newGuarded(t)
	on := func(op kadm.ACLOperation, topic string) kafkatest.Right {
		return kafkatest.Right{Operation: op, Topic: topic}
	}
	for _, c := range []struct {
		missing []kafkatest.Right
		want    string
	}{
		{g.needed(), "Read on group " + g.group + " is denied"}, // the first that is asked for
		{[]kafkatest.Right{on(kadm.OpRead, g.topic)}, "Read on topic " + g.topic + " is denied"},
		{[]kafkatest.Right{on(kadm.OpDescribeConfigs, g.topic)}, "DescribeConfigs on topic " + g.topic + " is denied"},
		{[]kafkatest.Right{on(kadm.OpRead, g.table())}, "Read on topic " + g.table() + " is denied"},
		{[]kafkatest.Right{on(kadm.OpWrite, g.table())}, "Write on topic " + g.table() + " is denied"},
		{[]kafkatest.Right{on(kadm.OpWrite, g.table()), on(kadm.OpWrite, g.rejected())}, "IdempotentWrite on cluster"},
		{[]kafkatest.Right{on(kadm.OpWrite, g.rejected())}, "Write on topic " + g.rejected() + " is denied"},
		{[]kafkatest.Right{{Operation: kadm.OpRead, Group: g.group}}, "Read on group " + g.group + " is denied"},
		{[]kafkatest.Right{{Operation: kadm.OpWrite, TransactionalIDPrefix: g.table() + "-"}}, "--transactional-id " + g.table() + "- --resource-pattern-type prefixed"},
	} {
		t.Run(strings.ReplaceAll(c.want, g.group, "G"), func(t *testing.T) {
			granted := g.without(c.missing...)
			kafkatest.Grant(t, g.admin, granted...)
			defer kafkatest.Withdraw(t, g.admin, granted...)
			g.poison()
			m := g.newMember()
			m.start()
			m.wantGivenUp(c.want, "grant it")
		})
	}
	kafkatest.Grant(t, g.admin, g.needed()...)
	m := g.newMember()
	m.start()
	g.awaitAnswers()
	kafkatest.Withdraw(t, g.admin, on(kadm.OpRead, g.topic)) // while it runs
	m.wantGivenUp("Read on topic " + g.topic + " is denied")
}

// A process that embeds a manager lives on when its rights are withdrawn: it answers, as
// old as it is, says what is missing, and goes on once that is granted again.
func TestAManagerOutlivesItsRights(t *testing.T) {
	g := newGuarded(t)
	kafkatest.Grant(t, g.admin, append(g.needed(), kafkatest.Right{Operation: kadm.OpWrite, Topic: g.topic})...)
	processor := g.newMember()
	processor.start()
	m := g.manager(t.TempDir())
	if err := m.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := kafkatest.Right{Operation: kadm.OpRead, Topic: g.table()}
	kafkatest.Withdraw(t, g.admin, read)
	g.await("the manager says what is missing", func() bool { return says(m, api.StateFailed, "Read on topic "+g.table()) })
	if err := m.Ready(); err != nil {
		t.Errorf("it answers no more: %v", err)
	}
	kafkatest.Grant(t, g.admin, read)
	g.await("it is well again", func() bool { return says(m, api.StateRunning, "") })
	if _, err := m.AddRemoteLogSegmentMetadata(t.Context(), g.large(24)); err != nil {
		t.Error(err)
	}
}

// A broker that forgets silent producers and their transactional ids at once: an owner
// whose id it has forgotten gets another producer id when it renews its epoch, and goes
// on.
func TestForgottenProducersStartOver(t *testing.T) {
	b := kafkatest.Start(t, kafkatest.WithProperty("transactional.id.expiration.ms", "1000"),
		kafkatest.WithProperty("transaction.remove.expired.transaction.cleanup.interval.ms", "500"),
		kafkatest.WithProperty("producer.id.expiration.ms", "500"),
		kafkatest.WithProperty("producer.id.expiration.check.interval.ms", "200"))
	w := newWorld(t, b.Bootstrap())
	p, err := processor.New(processor.Config{
		Kafka: w.settings(), MetadataTopic: w.topic, Group: w.group, DataDir: t.TempDir(),
		CreateTopics: true, ReplicationFactor: 1, RenewEvery: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	w.observe()
	w.publishFor(time.Second)
	var before int64
	w.await("the owner has a producer id", func() bool { before = w.producerID(); return before > 0 })
	w.await("the owner has another producer id, since its own was forgotten", func() bool { return w.producerID() > before })
	w.publishFor(time.Second)
	w.awaitAnswers()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it gave up: %v", err)
	}
	if sessions := p.Stats().Sessions; sessions != 1 {
		t.Errorf("%d sessions, want that it went on", sessions)
	}
	w.verify()
}

// producerID is that of the owner of the table's first partition; 0 while the broker
// knows none.
func (w *world) producerID() (id int64) {
	w.admin(func(ctx context.Context, admin *kadm.Client) error {
		described, err := admin.DescribeTransactions(ctx, w.table()+"-0")
		id = described[w.table()+"-0"].ProducerID
		return err
	})
	return id
}

// says tells whether every partition is in the state, for the reason.
func says(m *views.Manager, state api.State, reason string) bool {
	return !slices.ContainsFunc(m.Status().Partitions, func(p api.PartitionStatus) bool {
		told := ""
		if p.Err != nil {
			told = p.Err.Error()
		}
		return p.State != state || !strings.Contains(told, reason) || reason == "" && told != ""
	})
}
