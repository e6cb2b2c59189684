package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/internal/pkitest"
	"github.com/tieredlog/rlmm/internal/secret"
	"github.com/tieredlog/rlmm/internal/tlsconfig"
)

// password is planted: no error may show it.
const password = "s3cret-\"pass\\word;="

func login(user, password string) secret.Value {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	return secret.Text(fmt.Sprintf(`org.apache.kafka.common.security.scram.ScramLoginModule required username="%s" password="%s";`,
		user, escape.Replace(password)))
}

func plainJAAS(password string) secret.Value {
	return secret.Text(`org.apache.kafka.common.security.plain.PlainLoginModule required username=alice password="` + password + `";`)
}

// secured starts a broker with the options.
func secured(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append(opts, kfake.NumBrokers(1))...)
	noError(t, err)
	t.Cleanup(c.Close)
	return c
}

// tryConnect connects as a command would, creates a topic and asks for its end.
func tryConnect(t *testing.T, c *kfake.Cluster, s Security) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cluster, err := Connect(ctx, Settings{Bootstrap: c.ListenAddrs(), Security: s})
	if err != nil {
		if strings.Contains(err.Error(), password) {
			t.Errorf("the password is shown: %v", err)
		}
		return err
	}
	defer cluster.Close()
	_, err = cluster.Ensure(ctx, TopicSpec{Name: "t", Partitions: 1, ReplicationFactor: 1}, true)
	return err
}

func wantRefused(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("it is let in")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q says nothing of %q", err, part)
		}
	}
}

func TestMechanismsAreLetIn(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	c := secured(
		t, kfake.TLS(ca.Server(tls.NoClientCert)), kfake.EnableSASL(),
		kfake.Superuser("SCRAM-SHA-256", "u256", password), kfake.Superuser("SCRAM-SHA-512", "u512", password), kfake.Superuser("PLAIN", "alice", "pw"),
	)
	trust := tlsconfig.Client{Trust: tlsconfig.TrustStore{Certificates: secret.Text(ca.PEM)}}
	for _, sasl := range []SASL{
		{Mechanism: "SCRAM-SHA-256", JAAS: login("u256", password)},
		{Mechanism: "SCRAM-SHA-512", JAAS: login("u512", password)},
		{Mechanism: "PLAIN", JAAS: plainJAAS("pw")},
	} {
		if err := tryConnect(t, c, Security{SASLSSL, trust, sasl}); err != nil {
			t.Errorf("%s: %v", sasl.Mechanism, err)
		}
	}
}

// kfake hangs up where Kafka answers: this answers as Kafka does.
func refuseLogins(c *kfake.Cluster, tries *atomic.Int32) {
	c.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		tries.Add(1)
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode = 58
		resp.ErrorMessage = new("Authentication failed during authentication due to invalid credentials with SASL mechanism")
		return resp, nil, true
	})
}

func TestAWrongPasswordIsRefusedOnceAndCantHeal(t *testing.T) {
	for mechanism, jaas := range map[string]secret.Value{"SCRAM-SHA-256": login("alice", password), "PLAIN": plainJAAS(`s3cret`)} {
		c := secured(t, kfake.EnableSASL(), kfake.Superuser(mechanism, "alice", "right"))
		var tries atomic.Int32
		refuseLogins(c, &tries)
		err := tryConnect(t, c, Security{Protocol: SASLPlaintext, SASL: SASL{Mechanism: mechanism, JAAS: jaas}})
		wantRefused(t, err, c.ListenAddrs()[0], "invalid credentials")
		if CanHeal(err) || !errors.Is(err, sarama.ErrSASLAuthenticationFailed) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", mechanism, err)
		}
		if n := tries.Load(); n > 4 {
			t.Errorf("%s: %d log-ins for one wrong password", mechanism, n)
		}
	}
}

// A client that tries without end is put off, longer and longer; a login that is mended is
// tried at once.
func TestARefusedLoginIsNoStorm(t *testing.T) {
	for _, mechanism := range []string{"SCRAM-SHA-256", "PLAIN"} {
		c := secured(t, kfake.EnableSASL(), kfake.Superuser(mechanism, "alice", "right"))
		path := filepath.Join(t.TempDir(), "jaas")
		write := func(password string) {
			text, err := login("alice", password).Reveal()
			noError(t, err)
			if mechanism == "PLAIN" {
				text = strings.Replace(text, "scram.ScramLoginModule", "plain.PlainLoginModule", 1)
			}
			noError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		write("wrong")
		var tries atomic.Int32
		refuseLogins(c, &tries)
		s := Settings{Bootstrap: c.ListenAddrs(), Security: Security{Protocol: SASLPlaintext, SASL: SASL{Mechanism: mechanism, JAAS: secret.File(path)}}}
		cfg := s.Consumer()
		cfg.Metadata.Retry.Max = 0
		began := time.Now()
		for range 100 {
			_, err := sarama.NewClient(s.Bootstrap, cfg)
			wantRefused(t, err)
			if !IsLoginRefused(err) {
				t.Fatal(err)
			}
		}
		if n, most := int(tries.Load()), freeLogins+1+int(time.Since(began)/leastLoginPause); n < freeLogins || n > most {
			t.Errorf("%s: %d log-ins of 100 tries, want %d to %d", mechanism, n, freeLogins, most)
		}
		before := tries.Load()
		write("another")
		_, err := sarama.NewClient(s.Bootstrap, cfg)
		if wantRefused(t, err); tries.Load() == before {
			t.Errorf("%s: a login that was changed is put off", mechanism)
		}
	}
}

func TestServerCertificatesAreVerified(t *testing.T) {
	ca, foreign := pkitest.NewAuthority(t, "ca"), pkitest.NewAuthority(t, "foreign")
	elsewhere := net.IPv4(192, 0, 2, 1)
	for _, c := range []struct {
		name   string
		server pkitest.Pair
		tls    tlsconfig.Client
		want   string // of the error; none is let in
	}{
		{"good", ca.Issue("b", time.Hour), tlsconfig.Client{}, ""},
		{"TLS 1.2", ca.Issue("b", time.Hour), tlsconfig.Client{Versions: []string{"TLSv1.2"}}, ""},
		{"TLS 1.3", ca.Issue("b", time.Hour), tlsconfig.Client{Versions: []string{"TLSv1.3"}}, ""},
		{"foreign", foreign.Issue("b", time.Hour), tlsconfig.Client{}, "unknown authority"},
		{"foreign, any host", foreign.Issue("b", time.Hour), tlsconfig.Client{AnyHost: true}, "unknown authority"},
		{"expired", ca.Issue("b", -time.Hour), tlsconfig.Client{}, "expired"},
		{"expired, any host", ca.Issue("b", -time.Hour), tlsconfig.Client{AnyHost: true}, "expired"},
		{"another host", ca.IssueFor("b", elsewhere, time.Hour), tlsconfig.Client{}, "192.0.2.1, not 127.0.0.1"},
		{"another host, any host", ca.IssueFor("b", elsewhere, time.Hour), tlsconfig.Client{AnyHost: true}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			broker := secured(t, kfake.TLS(&tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{c.server.TLS}}))
			c.tls.Trust.Certificates = secret.Text(ca.PEM)
			err := tryConnect(t, broker, Security{Protocol: SSL, TLS: c.tls})
			if c.want == "" {
				noError(t, err)
				return
			}
			wantRefused(t, err, broker.ListenAddrs()[0], c.want)
			if !CanHeal(err) {
				t.Error("a certificate is replaced without a restart, so it can heal")
			}
		})
	}
}

func TestMutualTLS(t *testing.T) {
	ca, foreign := pkitest.NewAuthority(t, "ca"), pkitest.NewAuthority(t, "foreign")
	good, expired, other := ca.Issue("alice", time.Hour), ca.Issue("alice", -time.Hour), foreign.Issue("mallory", time.Hour)
	c := secured(t, kfake.TLS(ca.Server(tls.RequireAndVerifyClientCert)))
	for _, tc := range []struct {
		name string
		key  tlsconfig.KeyStore
		want string
	}{
		{"good", tlsconfig.KeyStore{Chain: secret.Text(good.Chain), Key: secret.Text(good.Key)}, ""},
		{"none", tlsconfig.KeyStore{}, "certificate required"},
		{"expired", tlsconfig.KeyStore{Chain: secret.Text(expired.Chain), Key: secret.Text(expired.Key)}, "the certificate of CN=alice expired"},
		{"foreign", tlsconfig.KeyStore{Chain: secret.Text(other.Chain), Key: secret.Text(other.Key)}, "unknown certificate authority"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tryConnect(t, c, Security{Protocol: SSL, TLS: tlsconfig.Client{Trust: tlsconfig.TrustStore{Certificates: secret.Text(ca.PEM)}, Key: tc.key}})
			if tc.want == "" {
				noError(t, err)
			} else {
				wantRefused(t, err, tc.want)
			}
		})
	}
}

// What lies in files is read for each connection.
func TestCertificatesAndPasswordsRotate(t *testing.T) {
	ca, foreign := pkitest.NewAuthority(t, "ca"), pkitest.NewAuthority(t, "foreign")
	c := secured(t, kfake.TLS(ca.Server(tls.RequireAndVerifyClientCert)), kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-512", "alice", password))
	dir := t.TempDir()
	write := func(name, content string) secret.Value {
		path := filepath.Join(dir, name)
		noError(t, os.WriteFile(path, []byte(content), 0o600))
		return secret.File(path)
	}
	writePair := func(p pkitest.Pair) tlsconfig.KeyStore {
		return tlsconfig.KeyStore{Chain: write("user.crt", p.Chain), Key: write("user.key", p.Key)}
	}
	s := Settings{Bootstrap: c.ListenAddrs(), Security: Security{
		Protocol: SASLSSL,
		TLS:      tlsconfig.Client{Trust: tlsconfig.TrustStore{Certificates: write("ca.crt", foreign.PEM)}, Key: writePair(foreign.Issue("alice", time.Hour))},
		SASL:     SASL{Mechanism: "SCRAM-SHA-512", JAAS: write("jaas", `ScramLoginModule required username=alice password=old;`)},
	}}
	cfg := s.Consumer() // made once, as a client of a server is
	cfg.Metadata.Retry.Max = 0
	dial := func() error {
		client, err := sarama.NewClient(s.Bootstrap, cfg)
		if err == nil {
			err = client.Close()
		}
		return err
	}
	wantRefused(t, dial(), "unknown authority")
	write("ca.crt", ca.PEM)
	wantRefused(t, dial(), "unknown certificate authority")
	writePair(ca.Issue("alice", time.Hour))
	wantRefused(t, dial())
	jaas, err := login("alice", password).Reveal()
	noError(t, err)
	write("jaas", jaas)
	noError(t, dial())
}

// The password of PLAIN is read for each connection too, and a refusal is Kafka's own.
func TestThePasswordOfPlainRotates(t *testing.T) {
	c := secured(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "alice", "new"))
	path := filepath.Join(t.TempDir(), "jaas")
	write := func(password string) {
		text, err := plainJAAS(password).Reveal()
		noError(t, err)
		noError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("old")
	s := Settings{Bootstrap: c.ListenAddrs(), Security: Security{
		Protocol: SASLPlaintext, SASL: SASL{Mechanism: "PLAIN", JAAS: secret.File(path)},
	}}
	cfg := s.Consumer() // made once, as a client of a server is
	cfg.Metadata.Retry.Max = 0
	if client, err := sarama.NewClient(s.Bootstrap, cfg); err == nil {
		_ = client.Close()
		t.Fatal("the old password is let in")
	}
	write("new")
	client, err := sarama.NewClient(s.Bootstrap, cfg)
	noError(t, err)
	noError(t, client.Close())
	noError(t, os.Remove(path))
	if _, err = sarama.NewClient(s.Bootstrap, cfg); err == nil {
		t.Error("it goes on without a password")
	}
}

// A broker that answers a log-in with anything else is an error, and no panic.
func TestLoginToSomethingElse(t *testing.T) {
	for _, answer := range []string{"", "\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x04\x00\x00\x00\x00", "HTTP/1.1 400 Bad Request\r\n"} {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			_, _ = theirs.Read(make([]byte, 1024))
			_, _ = theirs.Write([]byte(answer))
		}()
		l := plainLogin{SASL{Mechanism: "PLAIN", JAAS: plainJAAS("pw")}, "c", time.Minute, new(loginGate)}
		if err := l.on(ours); err == nil {
			t.Errorf("%q is taken", answer)
		}
		noError(t, ours.Close())
	}
}

func TestEachKindOfClientHasItsOwnLogin(t *testing.T) {
	c := secured(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "reader", "r"), kfake.Superuser("SCRAM-SHA-512", "admin", "a"))
	reader := Security{Protocol: SASLPlaintext, SASL: SASL{Mechanism: "SCRAM-SHA-256", JAAS: login("reader", "r")}}
	admin := Security{Protocol: SASLPlaintext, SASL: SASL{Mechanism: "SCRAM-SHA-512", JAAS: login("admin", "a")}}
	s := Settings{Bootstrap: c.ListenAddrs(), Security: reader, Clients: map[ClientKind]ClientSettings{AdminClient: {"boss", &admin}}}
	wantSame(t, "admin", []string{"boss", "SCRAM-SHA-512"}, []string{s.Admin().ClientID, string(s.Admin().Net.SASL.Mechanism)})
	wantSame(t, "producer", []string{"rlmm", "SCRAM-SHA-256"}, []string{s.Producer().ClientID, string(s.Producer().Net.SASL.Mechanism)})
	cluster, err := Connect(t.Context(), s)
	noError(t, err)
	_, err = cluster.Ensure(t.Context(), TopicSpec{Name: "t", Partitions: 1, ReplicationFactor: 1}, true)
	noError(t, err)
	noError(t, cluster.Close())
	admin.SASL.JAAS = login("admin", "wrong")
	_, err = Connect(t.Context(), s)
	wantRefused(t, err, "as admin")
}

func TestSecurityFaultsAreNamedAllAtOnce(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	pair := ca.Issue("a", time.Hour)
	jaas := func(text string) Security {
		return Security{Protocol: SASLPlaintext, SASL: SASL{Mechanism: "PLAIN", JAAS: secret.Text(text)}}
	}
	for _, c := range []struct {
		s    Security
		want []string // none is no error
	}{
		{Security{}, nil},
		{Security{Protocol: "TLS"}, []string{`security.protocol: "TLS"`}},
		{Security{Protocol: SASLSSL}, []string{"sasl.mechanism: is needed"}},
		{Security{Protocol: SASLPlaintext, SASL: SASL{Mechanism: "GSSAPI"}}, []string{`"GSSAPI" is none of PLAIN`}},
		{Security{Protocol: SASLPlaintext, SASL: SASL{Mechanism: "PLAIN"}}, []string{"sasl.jaas.config: is needed with PLAIN"}},
		{jaas(`PlainLoginModule required username=alice;`), []string{"option password is missing"}},
		{jaas(`PlainLoginModule required;`), []string{"option username", "option password"}},
		{jaas(`ScramLoginModule required username=u password=p;`), []string{"the login module for PLAIN is PlainLoginModule"}},
		{jaas(`hunter2`), []string{"must be: <LoginModule>"}},
		{
			Security{Protocol: SASLSSL, TLS: tlsconfig.Client{
				Trust: tlsconfig.TrustStore{Location: "/no/trust"}, Key: tlsconfig.KeyStore{Location: "/no/key"}, Versions: []string{"SSLv3"},
			}},
			[]string{"ssl.truststore.location /no/trust: no such file", "ssl.keystore.location /no/key: no such file", `"SSLv3"`, "sasl.mechanism"},
		},
		{Security{Protocol: SSL, TLS: tlsconfig.Client{Key: tlsconfig.KeyStore{Key: secret.Text(pair.Key)}}}, []string{"ssl.keystore.certificate.chain: is needed"}},
		{Security{Protocol: SSL, TLS: tlsconfig.Client{Key: tlsconfig.KeyStore{Chain: secret.Text(pair.Chain)}}}, []string{"ssl.keystore.certificate.chain: "}},
		{Security{Protocol: SSL, TLS: tlsconfig.Client{Key: tlsconfig.KeyStore{Chain: secret.Text(pair.Chain), Key: secret.Text(ca.Issue("b", time.Hour).Key)}}}, []string{"does not match"}},
		{Security{Protocol: SSL, TLS: tlsconfig.Client{Trust: tlsconfig.TrustStore{Certificates: secret.Text("none")}}}, []string{"ssl.truststore.certificates: no certificate"}},
	} {
		err := Settings{Bootstrap: []string{"h:1"}, Security: c.s, Clients: map[ClientKind]ClientSettings{AdminClient: {Security: &c.s}}}.Validate()
		if len(c.want) == 0 {
			noError(t, err)
			continue
		}
		wantRefused(t, err, append(c.want, "admin client")...)
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a secret is shown: %v", err)
		}
	}
}
