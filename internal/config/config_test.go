package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tieredlog/rlmm/internal/kafka"
)

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rlmm.properties")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, o Options) *Config {
	t.Helper()
	c, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPrecedence(t *testing.T) {
	path := write(t, "# a comment\n\ngroup.id = from-file\n")
	other := write(t, "client.id=from-command-config\ngroup.id=isn't read\n")
	for _, c := range []struct {
		o             Options
		value, origin string
	}{
		{Options{}, "rlmm", "default"},
		{Options{File: path}, "from-file", path + ":3"},
		{Options{File: path, CommandConfig: other}, "from-file", path + ":3"},
		{Options{File: path, Environ: []string{"RLMM_GROUP_ID=from-env", "GROUP_ID=no"}}, "from-env", "RLMM_GROUP_ID"},
		{Options{File: path, Environ: []string{"RLMM_GROUP_ID="}}, "from-file", path + ":3"},
		{Options{File: path, Environ: []string{"RLMM_GROUP_ID=from-env"}, Flags: map[string]string{"group": "from-flag", "execute": "true"}}, "from-flag", "--group"},
	} {
		cfg := load(t, c.o)
		if got := cfg.Text("group.id"); got != c.value || cfg.Origin("group.id").String() != c.origin {
			t.Errorf("%+v: %q from %s, want %q from %s", c.o, got, cfg.Origin("group.id"), c.value, c.origin)
		}
	}
	if got := load(t, Options{File: path, CommandConfig: other}).Text("client.id"); got != "from-command-config" {
		t.Errorf("client id %q", got)
	}
}

// The last of several lines counts, as with java.util.Properties.
func TestTheLastLineCounts(t *testing.T) {
	if got := load(t, Options{File: write(t, "group.id=a\ngroup.id=b\n")}).Text("group.id"); got != "b" {
		t.Errorf("%q", got)
	}
}

// The place decides first, then how specific the key is.
func TestPrefixes(t *testing.T) {
	const kafkas = "remote.log.metadata."
	path := write(t, strings.Join([]string{
		"client.id=plain", kafkas + "common.client.client.id=common", kafkas + "producer.client.id=producer",
		"session.timeout.ms=1000", kafkas + "consumer.session.timeout.ms=7000",
		kafkas + "admin.security.protocol=SASL_PLAINTEXT", kafkas + "admin.sasl.mechanism=PLAIN",
		kafkas + "admin.sasl.jaas.config=PlainLoginModule required username=a password=b;",
		"bootstrap.servers=h:1, i:2",
	}, "\n"))
	s, err := load(t, Options{File: path}).Kafka()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{s.ClientID, s.Clients[kafka.ProducerClient].ClientID, s.SessionTimeout.String(), strings.Join(s.Bootstrap, " ")}
	if diff := cmp.Diff([]string{"common", "producer", "7s", "h:1 i:2"}, got); diff != "" {
		t.Error(diff)
	}
	admin := s.Clients[kafka.AdminClient].Security
	if admin == nil || admin.Protocol != kafka.SASLPlaintext || s.Security.Protocol != kafka.Plaintext {
		t.Errorf("admin %+v, all %+v", admin, s.Security)
	}
	if _, own := s.Clients[kafka.ConsumerClient]; own || s.Clients[kafka.ProducerClient].Security != nil {
		t.Errorf("%+v: settings that nobody gave", s.Clients)
	}
	s, err = load(t, Options{File: path, Environ: []string{"RLMM_CLIENT_ID=env"}}).Kafka()
	if err != nil || s.ClientID != "env" {
		t.Errorf("%q, %v", s.ClientID, err)
	}
}

func TestValues(t *testing.T) {
	c := load(t, Options{File: write(t, "session.timeout.ms=6s\nfetch.max.wait.ms=50\ncreate.topics=true\nstore.block.cache.bytes=7\nssl.enabled.protocols= TLSv1.2 , TLSv1.3\n")})
	if c.Duration("session.timeout.ms") != 6*time.Second || c.Duration("fetch.max.wait.ms") != 50*time.Millisecond {
		t.Error(c.Duration("session.timeout.ms"), c.Duration("fetch.max.wait.ms"))
	}
	if !c.Bool("create.topics") || c.Int("store.block.cache.bytes") != 7 || !slices.Equal(c.List("ssl.enabled.protocols"), []string{"TLSv1.2", "TLSv1.3"}) {
		t.Error("values are read wrong")
	}
}

// Every default is a value that its own key takes.
func TestDefaultsAreAllowed(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Catalogue() {
		if k.Default != "" && k.check(k.Default) != "" {
			t.Errorf("%s: %s", k.Name, k.check(k.Default))
		}
		if k.Doc == "" || !slices.Contains(Groups(), k.Group) || seen[k.Name] || slices.Contains(unused, k.Name) {
			t.Errorf("%+v", k)
		}
		seen[k.Name] = true
	}
}

func TestAllFaultsAtOnceWithWhereAndTheNearestKey(t *testing.T) {
	path := write(t, strings.Join([]string{
		"bootstrap.server=h:1",
		"", "! comment \\",
		"group.id=\\",
		"   g",
		"session.timeout.ms=soon",
		"security.protocol=TLS",
		"remote.log.metadata.consumer.ssl.keystore.locatoin=x",
		"remote.log.metadata.producer.bootstrap.servers=h:1",
		"nothing.like.it.at.all=hunter2",
		"http.address=nowhere",
		"create.topics=yes",
		"remote.log.metadata.topic.num.partitions=0",
		"ssl.keystore.key=",
		"sasl.jaas.config=x",
		"sasl.jaas.config.file=/x",
		`client.id=\uZZZZ`,
		"sasl.kerberos.service.name=kafka",
		"http.admin.address=0.0.0.0:6060",
		"assign=1,x",
	}, "\n"))
	_, err := Load(Options{
		File: path, Environ: []string{"RLMM_BOOTSTRAP_SERVER=h:1", "RLMM_PORT=tcp://10.0.0.1:80", "RLMM_SESSION_TIMEOUT_MS=0", "RLMM_SERVICE_HOST=x"},
		Flags: map[string]string{"bootstrap": "host-without-port"},
	})
	var faults *Error
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	var got []string
	for _, f := range faults.Faults {
		got = append(got, strings.ReplaceAll(f.String(), path, "FILE"))
	}
	want := []string{
		`--bootstrap: "host-without-port" is no host:port`,
		"RLMM_BOOTSTRAP_SERVER: unknown variable; did you mean RLMM_BOOTSTRAP_SERVERS?",
		"RLMM_SESSION_TIMEOUT_MS: must be 1 or more, not 0",
		`FILE:17: the line can't be read as a property`,
		"FILE:1: bootstrap.server: unknown key; did you mean bootstrap.servers?",
		"FILE:6: session.timeout.ms: must be a number: ms, or a duration like 30s",
		`FILE:7: security.protocol: "TLS" is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL`,
		"FILE:8: remote.log.metadata.consumer.ssl.keystore.locatoin: unknown key; did you mean remote.log.metadata.consumer.ssl.keystore.location?",
		"FILE:9: remote.log.metadata.producer.bootstrap.servers: unknown key; did you mean remote.log.metadata.common.client.bootstrap.servers?",
		"FILE:10: nothing.like.it.at.all: unknown key",
		`FILE:11: http.address: "nowhere" is no host:port`,
		`FILE:12: create.topics: "yes" is neither true nor false`,
		"FILE:13: remote.log.metadata.topic.num.partitions: must be 1 or more, not 0",
		"FILE:14: ssl.keystore.key: must not be empty",
		"FILE:18: sasl.kerberos.service.name: unknown key",
		`FILE:19: http.admin.address: "0.0.0.0:6060" is not on loopback`,
		`FILE:20: assign: "1,x" is neither all nor numbers like 0,3,7`,
		"FILE:15: sasl.jaas.config: is given both itself and as sasl.jaas.config.file",
	}
	order := cmpopts.SortSlices(strings.Compare)
	if diff := cmp.Diff(want, got, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(err.Error(), "has 18 faults") || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

func TestAFileThatIsntThere(t *testing.T) {
	if _, err := Load(Options{File: "/no/such.properties"}); err == nil || !strings.Contains(err.Error(), "/no/such.properties") {
		t.Error(err)
	}
}

func TestConnectionFaultsSayWhereTheyWereGiven(t *testing.T) {
	path := write(t, "bootstrap.servers=h:1\nsecurity.protocol=SASL_SSL\nssl.truststore.location=/no/trust.p12\nsasl.mechanism=PLAIN\nsasl.jaas.config=hunter2\n")
	_, err := load(t, Options{File: path}).Kafka()
	for _, part := range []string{path + ":3: ssl.truststore.location /no/trust.p12: no such file", path + ":5: sasl.jaas.config: must be"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v is without %s", err, part)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret is shown: %v", err)
	}
	if _, err = new(Config).Kafka(); err == nil || !strings.Contains(err.Error(), "--bootstrap") {
		t.Errorf("without brokers: %v", err)
	}
}

// Kafka's client settings that tune its Java clients do no harm; they are told of.
func TestSettingsOfKafkasClientsThatAreNotUsed(t *testing.T) {
	path := write(t, "linger.ms=5\nremote.log.metadata.consumer.max.poll.records=7\nremote.log.metadata.initialization.retry.interval.ms=100\n")
	var names []string
	for _, s := range load(t, Options{File: path}).Unused() {
		names = append(names, s.Name)
	}
	want := []string{"linger.ms", "remote.log.metadata.consumer.max.poll.records", "remote.log.metadata.initialization.retry.interval.ms"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	for _, name := range unused {
		if strings.Contains(name, "keystore") || strings.Contains(name, "jaas") || strings.Contains(name, "password") || strings.Contains(name, "cipher") {
			t.Errorf("%s secures a connection; it must not be passed over", name)
		}
	}
}

func TestABrokersPropertiesWorkAsTheyAre(t *testing.T) {
	const path = "testdata/server.properties"
	c := load(t, Options{File: path})
	s, err := c.Kafka()
	if err == nil || strings.Count(err.Error(), "\n") > 2 || !strings.Contains(err.Error(), "/etc/kafka/manager.p12") {
		t.Errorf("only the stores are missing here: %v", err)
	}
	password, _ := s.Security.SASL.JAAS.Reveal()
	got := []string{
		strings.Join(s.Bootstrap, ","), string(s.Security.Protocol), s.Security.SASL.Mechanism, s.Security.TLS.Trust.Location,
		s.Security.TLS.Key.Location, s.Clients[kafka.ConsumerClient].ClientID, c.Text("remote.log.metadata.topic.replication.factor"),
	}
	want := []string{"kafka-1.internal:9094", "SASL_SSL", "SCRAM-SHA-512", "/etc/kafka/manager.p12", "/etc/kafka/broker.p12", "reader", "2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.HasSuffix(password, `username="rlmm" password="manager-secret";`) {
		t.Errorf("the login is %q", password)
	}
	if len(c.Unused()) != 1 {
		t.Errorf("unused: %+v", c.Unused())
	}
}

func TestBrokersOfOtherKinds(t *testing.T) {
	for _, c := range []struct {
		name, file string
		bootstrap  string
		protocol   kafka.SecurityProtocol
		fault      string
	}{
		{"prefixed keys only", "rlmm.config.bootstrap.servers=h:1\nnonsense=x", "h:1", "PLAINTEXT", ""},
		{"prefix wins over the listener", "rlmm.config.remote.log.metadata.common.client.bootstrap.servers=h:1\nlisteners=PLAINTEXT://x:2\nremote.log.metadata.manager.listener.name=PLAINTEXT", "h:1", "PLAINTEXT", ""},
		{"a prefix of its own", "remote.log.metadata.manager.impl.prefix=my.\nmy.bootstrap.servers=h:1\nrlmm.config.nonsense=x", "h:1", "PLAINTEXT", ""},
		{"no map, no host", "node.id=1\nlisteners=SSL://:9093\nremote.log.metadata.manager.listener.name=SSL", "localhost:9093", "SSL", ""},
		{"the broker's own connection", "node.id=1\nbootstrap.servers=h:1\nsecurity.protocol=SSL\nssl.client.auth=required", "h:1", "SSL", ""},
		{"no such listener", "node.id=1\nlisteners=SSL://:9093\nremote.log.metadata.manager.listener.name=X", "", "PLAINTEXT", ":3: remote.log.metadata.manager.listener.name: no listener X"},
		{"an unknown prefixed key", "rlmm.config.group.ib=x", "", "PLAINTEXT", ":1: rlmm.config.group.ib: unknown key; did you mean rlmm.config.group.id?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := Load(Options{File: write(t, c.file)})
			if (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("got %v, want %q", err, c.fault)
			}
			s, _ := cfg.Kafka()
			if got := strings.Join(s.Bootstrap, ","); got != c.bootstrap || s.Security.Protocol != c.protocol {
				t.Errorf("%s, %s", got, s.Security.Protocol)
			}
		})
	}
}

func TestSecretsOfFilesAreShownByTheirFileAndOthersNotAtAll(t *testing.T) {
	path := write(t, "sasl.jaas.config=hunter2\nssl.key.password.file=/secrets/key\nremote.log.metadata.admin.ssl.keystore.password=hunter2\n")
	shown := map[string]string{}
	for _, s := range load(t, Options{File: path, Environ: []string{"RLMM_SSL_KEYSTORE_KEY=hunter2"}}).Settings() {
		shown[s.Name] = s.Value
		if strings.Contains(s.Value, "hunter2") {
			t.Errorf("%s shows it", s.Name)
		}
	}
	want := map[string]string{
		"sasl.jaas.config": "[hidden]", "ssl.key.password.file": "/secrets/key", "ssl.keystore.key": "[hidden]",
		"remote.log.metadata.admin.ssl.keystore.password": "[hidden]",
	}
	for name, value := range want {
		if shown[name] != value {
			t.Errorf("%s is %q, want %q", name, shown[name], value)
		}
	}
}

func TestNearest(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"group.ib", "group.id"}, {"gruop.id", "group.id"}, {"x", ""}, {"group.id", "group.id"},
	} {
		if got := nearest(c.name, []string{"data.dir", "group.id", "group.ie"}); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if got := nearest("ab", []string{"ad", "ac"}); got != "ac" {
		t.Errorf("of several %q", got)
	}
}

func TestEnvironmentNames(t *testing.T) {
	seen := map[string]string{}
	for name := range known() {
		variable := Environment(name)
		if other, taken := seen[variable]; taken {
			t.Errorf("%s sets %s and %s", variable, name, other)
		}
		seen[variable] = name
	}
	if got := Environment("ssl.key.password"); got != "RLMM_SSL_KEY_PASSWORD" {
		t.Error(got)
	}
}
