//go:build integration

package security_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/internal/pkitest"
)

const (
	table    = "rlmm-table"
	rejected = "rlmm-rejected"
)

const certificateSettings = `
security.protocol=SSL
ssl.keystore.certificate.chain.file=DIR/NAME.crt
ssl.keystore.key.file=DIR/NAME.key
`

// guarded is a world whose broker minds rights, with a client certificate for each part.
type guarded struct {
	*world
	admin     *kgo.Client
	clients   *pkitest.Authority
	processor string // the settings of processors
	server    string
}

// processorRights and serverRights are the least that docs/deployment.md lists. Read and
// Write include Describe.
func processorRights() []kafkatest.Right {
	const who = "User:CN=processor"
	return []kafkatest.Right{
		{Principal: who, Operation: kadm.OpRead, Topic: kafkatest.MetadataTopic},
		{Principal: who, Operation: kadm.OpDescribeConfigs, Topic: kafkatest.MetadataTopic},
		{Principal: who, Operation: kadm.OpRead, Topic: table},
		{Principal: who, Operation: kadm.OpWrite, Topic: table},
		{Principal: who, Operation: kadm.OpDescribeConfigs, Topic: table},
		{Principal: who, Operation: kadm.OpWrite, Topic: rejected},
		{Principal: who, Operation: kadm.OpDescribeConfigs, Topic: rejected},
		{Principal: who, Operation: kadm.OpRead, Group: "rlmm"},
		{Principal: who, Operation: kadm.OpWrite, TransactionalIDPrefix: table + "-"},
	}
}

func serverRights() []kafkatest.Right {
	const who = "User:CN=server"
	return []kafkatest.Right{
		{Principal: who, Operation: kadm.OpRead, Topic: kafkatest.MetadataTopic},
		{Principal: who, Operation: kadm.OpDescribeConfigs, Topic: kafkatest.MetadataTopic},
		{Principal: who, Operation: kadm.OpRead, Topic: table},
		{Principal: who, Operation: kadm.OpDescribeConfigs, Topic: table},
		{Principal: who, Operation: kadm.OpWrite, Topic: kafkatest.MetadataTopic},
	}
}

// creatorRights are what --create-topics takes besides.
func creatorRights() (all []kafkatest.Right) {
	for _, topic := range []string{kafkatest.MetadataTopic, table, rejected} {
		all = append(all, kafkatest.Right{Principal: "User:CN=processor", Operation: kadm.OpCreate, Topic: topic})
	}
	return all
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{world: newWorld(t), clients: pkitest.NewAuthority(t, "clients")}
	own, clients := g.writePair("broker", g.ca.Issue("broker", time.Hour)), g.write("clients.crt", g.clients.PEM)
	g.broker = kafkatest.Start(t, kafkatest.WithAuthorizer(), kafkatest.WithTLS(own, clients))
	g.admin = g.broker.AdminClient(t)
	g.processor, g.server = g.part("processor", g.clients.Issue("processor", time.Hour)), g.part("server", g.clients.Issue("server", time.Hour))
	return g
}

// part writes the certificate and the settings of a part.
func (g *guarded) part(name string, p pkitest.Pair) (config string) {
	g.writePair(name, p)
	return g.configure(name+".properties", strings.ReplaceAll(certificateSettings, "NAME", name))
}

// poison puts a record on every partition that must be rejected.
func (g *guarded) poison() {
	g.t.Helper()
	for p := range int32(50) {
		r := &kgo.Record{Topic: kafkatest.MetadataTopic, Partition: p, Value: []byte("poison")}
		if err := g.admin.ProduceSync(g.t.Context(), r).FirstErr(); err != nil {
			g.t.Fatal(err)
		}
	}
}

func (g *guarded) start(config, verb string, more ...string) member {
	g.t.Helper()
	return g.world.start(config, verb, append(more, "--create-topics=false")...)
}

// missing says how the error names a right.
func missing(r kafkatest.Right) string {
	operation := map[kadm.ACLOperation]string{kadm.OpRead: "Read", kadm.OpWrite: "Write", kadm.OpDescribeConfigs: "DescribeConfigs"}[r.Operation]
	switch {
	case r.Topic != "":
		return operation + " on topic " + r.Topic + " is denied"
	case r.Group != "":
		return operation + " on group " + r.Group + " is denied"
	}
	return operation + " on transactional id " + r.TransactionalIDPrefix
}

// The main job and doctor with client certificates and the least rights; then each right
// withdrawn in turn, and certificates that are foreign or have expired.
func TestClientCertificatesAndRights(t *testing.T) {
	g := newGuarded(t)
	kafkatest.Grant(t, g.admin, slices.Concat(processorRights(), creatorRights(), serverRights())...)
	first := g.world.start(g.processor, "processor")
	first.awaitReady()
	first.Stop(t)
	kafkatest.Withdraw(t, g.admin, creatorRights()...)

	processor := g.start(g.processor, "processor")
	processor.awaitReady()
	server := g.world.start(g.server, "serve")
	server.awaitReady()
	server.mainJob()
	g.poison()
	server.mainJob() // behind what was rejected
	g.wantDoctor(g.processor, "tiered_storage", "rights", "rejected", "events", "undecodable")
	for _, m := range []member{processor, server} {
		m.Stop(t)
		g.wantNoSecret(m.Said(t))
	}

	for _, r := range processorRights() {
		t.Run("processor without "+missing(r), func(t *testing.T) { g.without(t, r) })
	}
	processor = g.start(g.processor, "processor")
	processor.awaitReady()
	for _, r := range serverRights() {
		if r.Operation != kadm.OpWrite { // which only mutations need
			t.Run("server without "+missing(r), func(t *testing.T) { g.serverWithout(t, r) })
		}
	}
	g.certificates()
}

// without runs a processor without one right: it ends, and says which is missing and how to
// grant it.
func (g *guarded) without(t *testing.T, r kafkatest.Right) {
	defer g.withdraw(t, r)()
	if r.Topic == rejected {
		g.poison()
	}
	said, code := g.run("processor", "--config", g.processor, "--data", t.TempDir(), "--create-topics=false")
	if code != 1 || !strings.Contains(said, missing(r)) || !strings.Contains(said, "kafka-acls.sh --add") {
		t.Errorf("exit %d, want %q in:\n%s", code, missing(r), said)
	}
}

// withdraw takes a right away until the returned function is called, but for Describe: it
// goes with Read and Write, and would be what is missed first.
func (g *guarded) withdraw(t *testing.T, r kafkatest.Right) (restore func()) {
	describe := r
	if describe.Operation = kadm.OpDescribe; r.TransactionalIDPrefix == "" {
		kafkatest.Grant(t, g.admin, describe)
	}
	kafkatest.Withdraw(t, g.admin, r)
	return func() {
		kafkatest.Grant(t, g.admin, r)
		if r.TransactionalIDPrefix == "" {
			kafkatest.Withdraw(t, g.admin, describe)
		}
	}
}

// serverWithout runs a server without one right: it says which is missing, and ends.
func (g *guarded) serverWithout(t *testing.T, r kafkatest.Right) {
	defer g.withdraw(t, r)()
	server := g.world.start(g.server, "serve")
	server.t = t
	await(t, "it tells of "+missing(r), func() bool { return strings.Contains(server.Said(t), missing(r)) })
	await(t, "it ends", func() bool { return closed(server.Done()) })
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// certificates tries those that the broker refuses; each is replaced while the server runs.
func (g *guarded) certificates() {
	for name, c := range map[string]struct {
		pair pkitest.Pair
		want string
	}{
		"foreign": {pkitest.NewAuthority(g.t, "foreign").Issue("server", time.Hour), "tls: unknown certificate"},
		"expired": {g.clients.Issue("server", -time.Hour), "expired"},
	} {
		g.writePair("server", c.pair)
		if name == "expired" { // which is told before anything starts
			if said, code := g.run("serve", "--config", g.server, "--data", g.t.TempDir()); code != 2 || !strings.Contains(said, c.want) {
				g.t.Errorf("exit %d\n%s", code, said)
			}
			continue
		}
		server := g.world.start(g.server, "serve")
		server.awaitUnready(c.want)
		g.wantNoStorm(1)
		g.writePair("server", g.clients.Issue("server", time.Hour))
		server.awaitReady()
		server.mainJob()
		server.Stop(g.t)
	}
}
