package kafkatest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// adminListener is where the super user of a broker with an authorizer logs in.
const adminListener = "ADMIN"

// WithAuthorizer makes the broker mind rights (KIP-11, KIP-801): its ordinary listener
// takes everybody as User:ANONYMOUS, who may do nothing that isn't granted. See
// [Broker.AdminClient].
func WithAuthorizer() Option {
	return func(o *options) {
		o.direct = append(o.direct, adminListener)
		o.protocols[adminListener], o.protocols["CONTROLLER"] = "SASL_PLAINTEXT", "SASL_PLAINTEXT"
		jaas := `org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="admin" user_admin="admin";`
		maps.Copy(o.properties, map[string]string{
			"inter.broker.listener.name":                       adminListener,
			"sasl.enabled.mechanisms":                          "PLAIN",
			"sasl.mechanism.inter.broker.protocol":             "PLAIN",
			"sasl.mechanism.controller.protocol":               "PLAIN",
			"listener.name.admin.plain.sasl.jaas.config":       jaas,
			"listener.name.controller.plain.sasl.jaas.config":  jaas,
			"listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
			"authorizer.class.name":                            "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"super.users":                                      "User:admin",
		})
	}
}

// AdminClient returns a client of the super user of a broker with an authorizer. It is
// closed when the test ends.
func (b *Broker) AdminClient(tb testing.TB) *kgo.Client {
	tb.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Listener(adminListener).Address),
		kgo.SASL(plain.Auth{User: "admin", Pass: "admin"}.AsMechanism()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return client
}

// Right is what may be done to a resource.
type Right struct {
	Operation kadm.ACLOperation
	// One of these names the resource; "*" is all of its kind. Without any it is the
	// cluster.
	Topic, Group, TransactionalIDPrefix string
	// Principal has it, User:CN=alice for one; User:ANONYMOUS when empty.
	Principal string
}

func (r Right) acl() *kadm.ACLBuilder {
	b := kadm.NewACLs().Allow(cmp.Or(r.Principal, "User:ANONYMOUS")).AllowHosts("*").Operations(r.Operation).ResourcePatternType(kadm.ACLPatternLiteral)
	switch {
	case r.Topic != "":
		return b.Topics(r.Topic)
	case r.Group != "":
		return b.Groups(r.Group)
	case r.TransactionalIDPrefix == "*":
		return b.TransactionalIDs("*")
	case r.TransactionalIDPrefix != "":
		return b.TransactionalIDs(r.TransactionalIDPrefix).ResourcePatternType(kadm.ACLPatternPrefixed)
	}
	return b.Clusters()
}

// Grant gives the rights.
func Grant(tb testing.TB, admin *kgo.Client, rights ...Right) {
	tb.Helper()
	each(tb, rights, func(ctx context.Context, r Right) error {
		results, err := kadm.NewClient(admin).CreateACLs(ctx, r.acl())
		for _, result := range results {
			if err == nil {
				err = result.Err
			}
		}
		return err
	})
}

// Withdraw takes rights away that were granted.
func Withdraw(tb testing.TB, admin *kgo.Client, rights ...Right) {
	tb.Helper()
	each(tb, rights, func(ctx context.Context, r Right) error {
		results, err := kadm.NewClient(admin).DeleteACLs(ctx, r.acl())
		deleted := 0
		for _, result := range results {
			if deleted += len(result.Deleted); err == nil {
				err = result.Err
			}
		}
		if err == nil && deleted == 0 {
			err = fmt.Errorf("%+v wasn't granted", r)
		}
		return err
	})
}

func each(tb testing.TB, rights []Right, do func(context.Context, Right) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), topicTimeout)
	defer cancel()
	for _, r := range rights {
		if err := do(ctx, r); err != nil {
			tb.Fatalf("%+v: %v", r, err)
		}
	}
}
