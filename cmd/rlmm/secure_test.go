package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/internal/pkitest"
)

// password is planted: nothing that a command prints may show it.
const password = "planted-s3cret"

// secureCluster is a broker with mutual TLS and SCRAM, and a configuration that is let in.
type secureCluster struct {
	*kfake.Cluster
	t      *testing.T
	ca     *pkitest.Authority
	dir    string
	config string // its file
}

func newSecureCluster(t *testing.T) *secureCluster {
	t.Helper()
	ca := pkitest.NewAuthority(t, "ca")
	broker, err := kfake.NewCluster(
		kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second), kfake.TLS(ca.Server(tls.RequireAndVerifyClientCert)),
		kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-512", "rlmm", password),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	c := &secureCluster{broker, t, ca, t.TempDir(), ""}
	pair := ca.Issue("rlmm", time.Hour)
	c.write("ca.crt", ca.PEM)
	c.write("user.crt", pair.Chain)
	c.write("user.key", pair.Key)
	c.write("sasl.jaas.config", `org.apache.kafka.common.security.scram.ScramLoginModule required username="rlmm" password="`+password+`";`)
	c.config = c.write("rlmm.properties", strings.NewReplacer("DIR", c.dir, "ADDR", broker.ListenAddrs()[0]).Replace(`
bootstrap.servers=ADDR
security.protocol=SASL_SSL
ssl.truststore.certificates.file=DIR/ca.crt
ssl.keystore.certificate.chain.file=DIR/user.crt
ssl.keystore.key.file=DIR/user.key
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config.file=DIR/sasl.jaas.config
create.topics=true
remote.log.metadata.topic.replication.factor=1
remote.log.metadata.topic.num.partitions=50
http.address=127.0.0.1:0
http.allow.mutations=true
`))
	return c
}

func (c *secureCluster) write(name, content string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

func (c *secureCluster) args(verb string, more ...string) []string {
	return append([]string{verb, "--verbose", "--config", c.config}, more...)
}

// wantNoSecret looks for what was planted in all that was printed.
func (c *secureCluster) wantNoSecret(printed ...string) {
	c.t.Helper()
	key, err := os.ReadFile(filepath.Join(c.dir, "user.key"))
	if err != nil {
		c.t.Fatal(err)
	}
	all := strings.Join(printed, "\n")
	for _, secret := range []string{password, strings.Split(string(key), "\n")[1]} {
		if strings.Contains(all, secret) {
			c.t.Errorf("a secret is shown in:\n%s", all)
		}
	}
}

// The fleet, a server with a mutation, and the tools, all by one file.
func TestTheMainJobOverTLSAndSCRAM(t *testing.T) {
	c := newSecureCluster(t)
	p := background(t, c.args("processor", "--data", t.TempDir())...)
	server := background(t, c.args("serve", "--data", t.TempDir())...)
	base := "http://" + value(server.err.await(t, "msg=ready http="), "http")
	status, answer := request(t, http.MethodPost, base+"/v1/partitions/UpZHhnEzQuGqT8T9QFvE9w/0/segments", strings.Replace(newSegmentJSON, "{", `{"topic":"orders",`, 1))
	if status != http.StatusCreated {
		t.Errorf("add: %d %v", status, answer)
	}
	line := writeFile(t, "one.jsonl", `{"partition":38,"value":"`+addHex+`"}`)
	loaded := execute(t, "", c.args("load", line)...)
	if loaded.code != 0 {
		t.Errorf("%+v", loaded)
	}
	for _, r := range []*running{server, p} {
		if code := r.stop(t); code != 0 {
			t.Errorf("exit %d:\n%s", code, r.err)
		}
	}
	reset := execute(t, "", "reset", "--execute", "--command-config", c.config)
	if reset.code != 0 {
		t.Errorf("%+v", reset)
	}
	shown := execute(t, "", c.args("config")...)
	c.wantNoSecret(server.out.String(), server.err.String(), p.out.String(), p.err.String(), loaded.err, reset.err, shown.out, shown.err)
}

// A certificate can be mended without a restart: the command goes on trying, not too often,
// and says why.
func TestAForeignCertificateIsToldAndHealsWithoutARestart(t *testing.T) {
	c := newSecureCluster(t)
	p := background(t, c.args("processor", "--data", t.TempDir())...)
	p.err.await(t, "msg=processing")
	c.write("ca.crt", pkitest.NewAuthority(t, "foreign").PEM)
	server := background(t, c.args("serve", "--data", t.TempDir())...)
	told := server.err.await(t, "msg=\"not connected")
	if !strings.Contains(told, "unknown authority") || !strings.Contains(told, c.ListenAddrs()[0]) {
		t.Errorf("it says %s", told)
	}
	c.write("ca.crt", c.ca.PEM)
	server.err.await(t, "msg=ready http=")
	c.wantNoSecret(server.err.String())
}

// refuseLogins answers every login as Kafka does when the password is wrong, until mended is
// set; kfake itself hangs up.
func (c *secureCluster) refuseLogins() (tries *atomic.Int32, mended *atomic.Bool) {
	tries, mended = new(atomic.Int32), new(atomic.Bool)
	c.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if mended.Load() {
			return nil, nil, false
		}
		tries.Add(1)
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode, resp.ErrorMessage = 58, new("invalid credentials with SASL mechanism SCRAM-SHA-512")
		return resp, nil, true
	})
	return tries, mended
}

func TestAWrongPasswordEndsToolsAtOnceWithAClearError(t *testing.T) {
	c := newSecureCluster(t)
	for _, args := range [][]string{
		{"load", writeFile(t, "one.jsonl", `{"partition":38,"value":"`+addHex+`"}`)},
		{"reset", "--execute"},
	} {
		tries, _ := c.refuseLogins()
		got := execute(t, "", c.args(args[0], args[1:]...)...)
		if got.code != exitFailure || !strings.Contains(got.err, "invalid credentials") || !strings.Contains(got.err, c.ListenAddrs()[0]) {
			t.Errorf("%s: %+v", args[0], got)
		}
		if n := tries.Load(); n > 4 {
			t.Errorf("%s: %d logins with a wrong password", args[0], n)
		}
		c.wantNoSecret(got.out, got.err)
	}
}

// What runs for long stays up, isn't ready, says why, tries again with pauses, and goes on
// once the login is good.
func TestAWrongPasswordIsToldAndHealsWithoutARestart(t *testing.T) {
	c := newSecureCluster(t)
	tries, mended := c.refuseLogins()
	const address = "--http=127.0.0.1:0"
	p := background(t, c.args("processor", "--data", t.TempDir(), address)...)
	server := background(t, c.args("serve", "--data", t.TempDir(), address)...)
	began := time.Now()
	for _, r := range []*running{p, server} {
		base := "http://" + value(r.err.await(t, "msg=serving"), "http")
		r.err.await(t, `again" error="connect`) // not what other parts say of it
		status, answer := request(t, http.MethodGet, base+"/readyz", "")
		if why := fmt.Sprint(answer["errors"]); status != http.StatusServiceUnavailable || !strings.Contains(why, "invalid credentials") {
			t.Errorf("readyz: %d %v", status, answer)
		}
		if status, _ := request(t, http.MethodGet, base+"/healthz", ""); status != http.StatusOK {
			t.Errorf("healthz: %d", status)
		}
	}
	base := "http://" + value(server.err.await(t, "msg=serving"), "http")
	if status, answer := request(t, http.MethodGet, base+"/v1/partitions", ""); status != http.StatusServiceUnavailable || answer["reason"] != "not_ready" {
		t.Errorf("a read: %d %v", status, answer)
	}
	p.err.await(t, "msg=\"processor ended")
	// Both double their pauses; each try is four logins at most.
	if n, most := int(tries.Load()), 2*4*(5+int(time.Since(began)/(2*time.Second))); n > most {
		t.Errorf("%d logins in %v, more than %d", n, time.Since(began), most)
	}
	mended.Store(true)
	server.err.await(t, "msg=ready http=")
	for _, r := range []*running{p, server} {
		if code := r.stop(t); code != 0 {
			t.Errorf("exit %d:\n%s", code, r.err)
		}
		c.wantNoSecret(r.out.String(), r.err.String())
	}
}
