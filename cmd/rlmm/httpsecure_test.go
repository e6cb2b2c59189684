package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/internal/pkitest"
)

// guarded is a run with TLS, tokens and client certificates, and what its clients need.
type guarded struct {
	t           *testing.T
	dir, base   string
	ca, clients *pkitest.Authority
	run         *running
	heard       strings.Builder // all that clients and tools printed
}

// The tokens, which are planted: nothing may show them.
const (
	readToken    = "planted-read-token-1"
	mutateToken  = "planted-mutate-token-1"
	controlToken = "planted-control-token-1"
)

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{t: t, dir: t.TempDir(), ca: pkitest.NewAuthority(t, "ca"), clients: pkitest.NewAuthority(t, "clients")}
	g.certify(g.ca.Issue("server", time.Hour))
	g.write("clients.crt", g.clients.PEM)
	g.write("read", readToken+"\nplanted-read-token-2\n")
	g.write("mutate", mutateToken)
	g.write("ca.crt", g.ca.PEM)
	pair := g.clients.Issue("broker-1", time.Hour)
	g.write("client.crt", pair.Chain)
	g.write("client.key", pair.Key)
	config := g.write("server.properties", strings.ReplaceAll(`
http.ssl.keystore.certificate.chain.file=DIR/tls.crt
http.ssl.keystore.key.file=DIR/tls.key
http.ssl.truststore.certificates.file=DIR/clients.crt
http.read.tokens.file=DIR/read
http.mutate.tokens.file=DIR/mutate
http.control.tokens=`+controlToken+`
http.read.principals=nobody
http.mutate.principals=broker-1
`, "DIR", g.dir))
	g.run = background(t, "dev", "--verbose", "--config", config, "--empty", "--data", t.TempDir(), "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0")
	g.base = "https://" + value(g.run.out.await(t, "ready "), "http")
	return g
}

func (g *guarded) write(name, content string) string {
	g.t.Helper()
	path := filepath.Join(g.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		g.t.Fatal(err)
	}
	return path
}

func (g *guarded) certify(p pkitest.Pair) {
	g.write("tls.crt", p.Chain)
	g.write("tls.key", p.Key)
}

// tool runs a verb with settings of a client.
func (g *guarded) tool(settings string, args ...string) result {
	g.t.Helper()
	settings = "http.client.ssl.truststore.certificates.file=DIR/ca.crt\n" + settings
	config := g.write("client.properties", strings.ReplaceAll(settings, "DIR", g.dir))
	got := execute(g.t, "", append(args, "--verbose", "--config", config)...)
	g.heard.WriteString(got.out + got.err)
	return got
}

// request asks with a token, over a connection of its own.
func (g *guarded) request(method, path, body, token string) (status int) {
	g.t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(g.ca.Certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(g.t.Context(), method, g.base+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	g.heard.Write(content)
	return response.StatusCode
}

func (g *guarded) want(method, path, body, token string, want int) {
	g.t.Helper()
	if got := g.request(method, path, body, token); got != want {
		g.t.Errorf("%s %s with %q: %d, want %d", method, path, token, got, want)
	}
}

// wantNoSecret looks for what was planted in all that was logged, printed and answered.
func (g *guarded) wantNoSecret() {
	g.t.Helper()
	all := g.run.out.String() + g.run.err.String() + g.heard.String()
	secrets := []string{"planted-"}
	for _, name := range []string{"tls.key", "client.key"} {
		key, err := os.ReadFile(filepath.Join(g.dir, name))
		if err != nil {
			g.t.Fatal(err)
		}
		secrets = append(secrets, strings.Split(string(key), "\n")[1])
	}
	for _, secret := range secrets {
		if i := strings.Index(all, secret); i >= 0 {
			g.t.Errorf("a secret is shown: %s", all[max(0, i-300):min(len(all), i+100)])
		}
	}
}

const (
	someSegments = "/v1/partitions/UpZHhnEzQuGqT8T9QFvE9w/0/segments"
	somePause    = "/v1/metadata-partitions/45/pause"
	someResume   = "/v1/metadata-partitions/45/resume"
)

// A run whose clients log in: reads, mutations and control apart, tools with their
// settings, and no secret anywhere.
func TestHTTPWithLogins(t *testing.T) {
	g := newGuarded(t)
	segment := strings.Replace(newSegmentJSON, "{", `{"topic":"orders",`, 1)
	g.want("GET", "/healthz", "", "", 200)
	g.want("GET", "/readyz", "", "", 200)
	for _, path := range []string{"/", "/v1/partitions", "/v1/rows", "/v1/status", "/v1/openapi.yaml", "/admin/loggers"} {
		g.want("GET", path, "", "", 401)
		g.want("GET", path, "", readToken, 200)
		g.want("GET", path, "", "planted-read-token-2", 200)
		g.want("GET", path, "", controlToken, 200)
	}
	g.want("POST", someSegments, segment, "", 401)
	g.want("POST", someSegments, segment, readToken, 403)
	g.want("POST", someSegments, segment, controlToken, 403)
	g.want("POST", someSegments, segment, mutateToken, 201)
	g.want("PUT", somePause, "", mutateToken, 403)
	g.want("PUT", somePause, "", controlToken, 202)
	g.want("PUT", someResume, "", controlToken, 202)
	g.want("PUT", "/admin/loggers/root", `{"level":"DEBUG"}`, mutateToken, 403)
	g.want("PUT", "/admin/loggers/root", `{"level":"DEBUG"}`, controlToken, 200)

	if got := g.tool("", "partitions", "--server", g.base); got.code != exitFailure || !strings.Contains(got.err, "401 (unauthorized)") {
		t.Errorf("a tool without a login: %+v", got)
	}
	for name, settings := range map[string]string{
		"token":       "http.client.token=" + readToken,
		"certificate": "http.client.ssl.keystore.certificate.chain.file=DIR/client.crt\nhttp.client.ssl.keystore.key.file=DIR/client.key",
	} {
		if got := g.tool(settings, "partitions", "--server", g.base); got.code != 0 || !strings.Contains(got.out, "orders") {
			t.Errorf("a tool with a %s: %+v", name, got)
		}
		if got := g.tool(settings, "status", "--server", g.base); got.code != 0 {
			t.Errorf("status with a %s: %+v", name, got)
		}
	}
	if got := g.tool("", "health", g.base+"/readyz"); got.code != 0 {
		t.Errorf("health: %+v", got)
	}
	for _, form := range []string{"table", "json"} {
		got := execute(t, "", "config", "--config", filepath.Join(g.dir, "server.properties"), "-o", form, "--bootstrap", "h:1")
		if g.heard.WriteString(got.out + got.err); got.code != 0 || !strings.Contains(got.out, "[hidden]") {
			t.Errorf("config: %+v", got)
		}
	}
	g.wantNoSecret()
}

// Tokens, certificates and authorities are replaced while the run goes on.
func TestHTTPLoginsRotate(t *testing.T) {
	g := newGuarded(t)
	g.want("GET", "/", "", readToken, 200)
	g.write("read", "planted-read-token-3")
	g.want("GET", "/", "", readToken, 401)
	g.want("GET", "/", "", "planted-read-token-3", 200)
	g.write("read", "")
	g.want("GET", "/", "", "planted-read-token-3", 503)
	g.write("read", "planted-read-token-3")

	certificate := "http.client.ssl.keystore.certificate.chain.file=DIR/client.crt\nhttp.client.ssl.keystore.key.file=DIR/client.key"
	foreign := pkitest.NewAuthority(t, "foreign").Issue("broker-1", time.Hour)
	g.write("client.crt", foreign.Chain)
	g.write("client.key", foreign.Key)
	if got := g.tool(certificate, "partitions", "--server", g.base); got.code != exitFailure || !strings.Contains(got.err, "unknown certificate authority") {
		t.Errorf("a foreign certificate: %+v", got)
	}
	old := g.clients.Issue("broker-1", -time.Hour)
	g.write("client.crt", old.Chain)
	g.write("client.key", old.Key)
	if got := g.tool(certificate, "partitions", "--server", g.base); got.code != exitUsage || !strings.Contains(got.err, "expired") {
		t.Errorf("an expired certificate: %+v", got)
	}
	g.ca = pkitest.NewAuthority(t, "next")
	g.certify(g.ca.Issue("server", time.Hour))
	if got := g.tool("", "health", g.base+"/healthz"); got.code != exitFailure || !strings.Contains(got.err, "unknown authority") {
		t.Errorf("a client that knows the old authority: %+v", got)
	}
	g.want("GET", "/", "", "planted-read-token-3", 200)
	g.wantNoSecret()
}

// What looks for secrets finds one that is answered.
func TestAPlantedSecretIsFound(t *testing.T) {
	probe := &testing.T{}
	g := &guarded{t: probe, dir: t.TempDir(), run: &running{out: newOutput(), err: newOutput()}}
	for _, name := range []string{"tls.key", "client.key"} {
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte("-----\nsecret of "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if g.wantNoSecret(); probe.Failed() {
		t.Error("it finds what isn't there")
	}
	g.heard.WriteString("the token is " + readToken)
	if g.wantNoSecret(); !probe.Failed() {
		t.Error("it doesn't find what is there")
	}
}

// Whoever may be reached from elsewhere is told that everybody may change things.
func TestAnOpenAddressIsWarnedOf(t *testing.T) {
	c := newSecureCluster(t)
	server := background(t, c.args("serve", "--data", t.TempDir(), "--http", "0.0.0.0:0")...)
	server.err.await(t, "whoever reaches this address may change things")
	loopback := background(t, c.args("serve", "--data", t.TempDir())...)
	loopback.err.await(t, "msg=serving")
	if strings.Contains(loopback.err.String(), "whoever reaches") {
		t.Errorf("it warns of loopback: %s", loopback.err)
	}
}

func TestHTTPFaultsAreToldAllAtOnce(t *testing.T) {
	config := writeFile(t, "rlmm.properties", `
http.ssl.keystore.location=/no/key
http.read.tokens=short
http.mutate.tokens.file=/no/tokens
http.control.tokens=planted token with-a-"quote"
http.mutate.principals=broker-1
http.client.token.file=/no/token
`)
	got := execute(t, "", "config", "--config", config, "--bootstrap", "h:1")
	for _, want := range []string{
		config + ":2: http.ssl.keystore.location /no/key", ":3: http.read.tokens: token 1 is shorter than 16", ":4: ", "/no/tokens",
		":5: http.control.tokens: token 1 is shorter", ":6: http.mutate.principals: needs http.ssl.truststore", ":7: ", "/no/token",
	} {
		if got.code != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("exit %d, nothing of %q in:\n%s", got.code, want, got.err)
		}
	}
	if strings.Contains(got.out+got.err, "planted") || strings.Contains(got.err, "quote") {
		t.Errorf("a token is shown: %+v", got)
	}
}
