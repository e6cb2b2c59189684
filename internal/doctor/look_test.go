package doctor

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/secret"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick")) // never ends
}

// look examines a cluster, and gives a lag no time to go away.
func look(t *testing.T, s kafka.Settings, o Options) []Finding {
	t.Helper()
	c, err := kafka.Connect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := Want{Topic: rlmmtest.MetadataTopic, Group: "rlmm", Partitions: 4, Replication: 3}
	facts, err := Look(t.Context(), c, w, o)
	if err != nil {
		t.Fatal(err)
	}
	return Judge(facts, w)
}

// found fails the test unless the findings are of these checks, in order.
func found(t *testing.T, findings []Finding, checks ...string) {
	t.Helper()
	var got []string
	for _, f := range findings {
		got = append(got, f.Check)
	}
	if diff := cmp.Diff(checks, got); diff != "" {
		t.Errorf("-want +got\n%s%+v", diff, findings)
	}
}

var lately = Options{Since: time.Now().Add(-time.Hour), Settle: time.Minute}

// A fleet that works lacks nothing; each setting that is then changed is found.
func TestLookAtSettings(t *testing.T) {
	c := rlmmtest.NewCluster(t, 4)
	c.RunProcessor()
	s := rlmmtest.Segment(c.PartitionOn(1, 0), 1, 0, 9)
	c.PublishEvents(s, rlmmtest.Update(s, api.CopySegmentFinished))
	c.PublishInTransaction(c.Record(rlmmtest.Update(s, api.DeleteSegmentStarted)))
	found(t, look(t, c.Settings, lately))

	week := "604800000"
	if err := c.CreateTopic("orders", 1, map[string]string{"remote.storage.enable": "true", "retention.ms": "604800001"}); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTopic("local", 1, map[string]string{"retention.ms": "-1"}); err != nil {
		t.Fatal(err)
	}
	c.AlterTopic(rlmmtest.MetadataTopic, "retention.ms", week)
	c.AlterTopic(rlmmtest.MetadataTopic, "cleanup.policy", "compact")
	c.AlterTopic(rlmmtest.MetadataTopic, "max.message.bytes", "2000000")
	c.AlterTopic(rlmmtest.Table, "delete.retention.ms", "1000")
	c.AlterTopic(rlmmtest.Table, "min.insync.replicas", "2")
	findings := look(t, c.Settings, lately)
	found(t, findings, CheckCleanup, CheckRetention, CheckRetention, CheckMinISR, CheckMessageBytes, CheckMessageBytes)
	if want := "topic __remote_log_metadata keeps events for 7 days, and 1 tiered topics keep data as long or longer (orders: 168h0m0.001s): their segments will be forgotten"; findings[1].What != want {
		t.Errorf("%s", findings[1].What)
	}
	c.AddPartitions(rlmmtest.MetadataTopic, 5)
	found(t, look(t, c.Settings, lately)[:2], CheckPartitions, CheckPartitions)
}

func TestLookWithoutFleet(t *testing.T) {
	c := rlmmtest.NewCluster(t, 4)
	found(t, look(t, c.Settings, lately), CheckTopic, CheckTopic, CheckTopic, CheckFleet)
	if err := c.CreateTopic(rlmmtest.MetadataTopic, 4, nil); err != nil {
		t.Fatal(err)
	}
	found(t, look(t, c.Settings, lately), CheckTopic, CheckTopic, CheckFleet)
}

// A fleet that has stopped, a topic that was created again meanwhile, and a record that
// isn't the fleet's.
func TestLookAtLagAndIdentity(t *testing.T) {
	c := rlmmtest.NewCluster(t, 4)
	p := c.RunProcessor()
	s := rlmmtest.Segment(c.PartitionOn(1, 0), 1, 0, 9)
	c.PublishEvents(s, rlmmtest.Update(s, api.CopySegmentFinished))
	c.WaitApplied()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	found(t, look(t, c.Settings, lately), CheckFleet)

	c.PublishEvents(rlmmtest.Update(s, api.DeleteSegmentStarted), rlmmtest.Segment(c.PartitionOn(2, 0), 2, 0, 9))
	findings := look(t, c.Settings, Options{Since: lately.Since})
	found(t, findings, CheckFleet, CheckLag)
	if want := "the table doesn't answer 2 records of metadata partitions 1, 2 (most of 1: 1 records)"; findings[1].What != want {
		t.Errorf("%s", findings[1].What)
	}

	c.RecreateTopic(rlmmtest.MetadataTopic)
	c.PublishEvents(s)
	found(t, look(t, c.Settings, lately), CheckFleet, CheckIdentity)

	c.PublishTo(&kgo.Record{Topic: rlmmtest.Table, Partition: 3, Key: []byte("x")})
	found(t, look(t, c.Settings, lately), CheckFleet, CheckIdentity, CheckIdentity)
}

func TestLookAtRejectedEvents(t *testing.T) {
	c := rlmmtest.NewCluster(t, 4)
	c.RunProcessor()
	s := rlmmtest.Segment(c.PartitionOn(1, 0), 1, 0, 9)
	c.PublishEvents(s, s, s)
	c.Publish(rlmmtest.Raw(2, []byte{7}), rlmmtest.Raw(3, nil), rlmmtest.Raw(0, c.Record(s).Value))
	c.WaitApplied()
	c.WaitFor("the rejected events", func() bool { return len(c.Read(rlmmtest.Rejected, 0)) == 5 })
	findings := look(t, c.Settings, lately)
	found(t, findings, CheckRejected, CheckRejected, CheckRejected, CheckRejected)
	if f := findings[0]; f.Severity != Warning || f.What[:64] != "2 events were rejected lately with InvalidAdd; the last is 1/2: " {
		t.Errorf("%+v", f)
	}
	found(t, look(t, c.Settings, Options{Since: time.Now().Add(time.Hour)}))
}

// A client that may describe everything and read the table, and one that may nothing.
func TestLookAtRights(t *testing.T) {
	may := func(kind kmsg.ACLResourceType, name string, op kmsg.ACLOperation) kfake.ACL {
		return kfake.ACL{Resource: kind, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: op, Allow: true}
	}
	const topic, group = kmsg.ACLResourceTypeTopic, kmsg.ACLResourceTypeGroup
	b, err := kfake.NewCluster(
		kfake.NumBrokers(1), kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "admin", "a"),
		kfake.User("PLAIN", "nobody", "n"),
		kfake.User(
			"PLAIN", "reader", "r", may(topic, rlmmtest.MetadataTopic, kmsg.ACLOperationRead), may(topic, rlmmtest.MetadataTopic, kmsg.ACLOperationDescribeConfigs),
			may(topic, rlmmtest.Table, kmsg.ACLOperationRead), may(topic, rlmmtest.Table, kmsg.ACLOperationDescribeConfigs), may(group, "rlmm", kmsg.ACLOperationDescribe),
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	for _, name := range []string{rlmmtest.MetadataTopic, rlmmtest.Table, rlmmtest.Rejected} {
		configs := map[string]string{"cleanup.policy": "delete", "delete.retention.ms": "604800000"}
		if name == rlmmtest.Table {
			configs["cleanup.policy"] = "compact"
		}
		if err := b.CreateTopic(name, 4, configs); err != nil {
			t.Fatal(err)
		}
	}
	as := func(user, password string) (what []string) {
		jaas := fmt.Sprintf("org.apache.kafka.common.security.plain.PlainLoginModule required username=%q password=%q;", user, password)
		s := kafka.Settings{Bootstrap: b.ListenAddrs(), Security: kafka.Security{
			Protocol: kafka.SASLPlaintext, SASL: kafka.SASL{Mechanism: "PLAIN", JAAS: secret.Text(jaas)},
		}}
		for _, f := range look(t, s, lately) {
			if f.Check == CheckRights {
				what = append(what, f.What)
			}
		}
		return what
	}
	if got := as("admin", "a"); got != nil {
		t.Errorf("an admin lacks %q", got)
	}
	want := []string{
		"Write on topic __remote_log_metadata is denied to this client; servers that allow mutations, import and repair need it",
		"Write on topic rlmm-table is denied to this client; processors need it",
		"Read on group rlmm is denied to this client; processors need it",
		"Describe on topic rlmm-rejected is denied to this client; servers and processors need it",
		"Describe on transactional id rlmm-table-0 is denied to this client; servers and processors need it",
	}
	if diff := cmp.Diff(want, as("reader", "r")); diff != "" {
		t.Errorf("a reader: -want +got\n%s", diff)
	}
	if got := as("nobody", "n"); len(got) != 5 {
		t.Errorf("nobody lacks %q", got)
	}
}
