package tlsconfig

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/internal/pkitest"
	"github.com/tieredlog/rlmm/internal/secret"
)

// folder holds what a server reads.
type folder struct {
	t   *testing.T
	dir string
}

func (f folder) write(name, content string) secret.Value {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	noError(f.t, os.WriteFile(path, []byte(content), 0o600))
	return secret.File(path)
}

func (f folder) server(own pkitest.Pair, clients *pkitest.Authority) Server {
	return Server{
		Key:   KeyStore{Chain: f.write("tls.crt", own.Chain), Key: f.write("tls.key", own.Key)},
		Trust: TrustStore{Certificates: f.write("clients.crt", clients.PEM)},
	}
}

// listen answers each connection with the name of the client's certificate, "" for none.
func listen(t *testing.T, s Server) (address string, log *bytes.Buffer) {
	t.Helper()
	log = new(bytes.Buffer)
	cfg, err := s.Config(slog.New(slog.NewTextHandler(log, nil)))
	noError(t, err)
	l, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	noError(t, err)
	ended := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			greet(conn.(*tls.Conn))
		}
	}()
	return l.Addr().String(), log
}

func greet(conn *tls.Conn) {
	defer conn.Close()
	if conn.Handshake() != nil {
		return
	}
	name := ""
	if chains := conn.ConnectionState().VerifiedChains; len(chains) > 0 {
		name = chains[0][0].Subject.CommonName
	}
	_, _ = io.WriteString(conn, "hello "+name)
}

// dial returns what the server says to a client of this certificate, if any, and whose
// certificate the server has.
func dial(t *testing.T, address string, trust *pkitest.Authority, own *pkitest.Pair, change ...func(*tls.Config)) (said, server string, err error) {
	t.Helper()
	c := Client{Trust: TrustStore{Certificates: secret.Text(trust.PEM)}}
	if own != nil {
		c.Key = KeyStore{Chain: secret.Text(own.Chain), Key: secret.Text(own.Key)}
	}
	cfg, err := c.Config("127.0.0.1")
	if err != nil {
		return "", "", err
	}
	for _, f := range change {
		f(cfg)
	}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", address, cfg)
	if err != nil {
		return "", "", err
	}
	defer conn.Close()
	content, err := io.ReadAll(conn) // in TLS 1.3 a refusal comes after the handshake
	return string(content), conn.ConnectionState().PeerCertificates[0].Subject.CommonName, err
}

func TestClientsOfAServer(t *testing.T) {
	ca, clients, foreign := pkitest.NewAuthority(t, "ca"), pkitest.NewAuthority(t, "clients"), pkitest.NewAuthority(t, "foreign")
	address, _ := listen(t, folder{t, t.TempDir()}.server(ca.Issue("server", time.Hour), clients))
	good, other, old := clients.Issue("broker-1", time.Hour), foreign.Issue("broker-1", time.Hour), clients.Issue("broker-1", -time.Hour)
	said, _, err := dial(t, address, ca, &good)
	noError(t, err)
	wantSame(t, "said to a client", "hello broker-1", said)
	said, _, err = dial(t, address, ca, nil)
	noError(t, err)
	wantSame(t, "said to one without a certificate", "hello ", said)
	_, _, err = dial(t, address, ca, &other)
	wantRefused(t, err, "unknown certificate authority")
	_, _, err = dial(t, address, ca, nil, func(c *tls.Config) {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &old.TLS, nil }
	})
	wantRefused(t, err, "expired certificate")
	_, _, err = dial(t, address, ca, nil, func(c *tls.Config) { c.MaxVersion, c.MinVersion = tls.VersionTLS11, tls.VersionTLS10 })
	wantRefused(t, err, "protocol version")
	_, _, err = dial(t, address, foreign, nil)
	wantRefused(t, err, "unknown authority")
}

// A certificate, its key and the authorities are replaced one file after the other while
// clients come.
func TestAServersCertificatesRotate(t *testing.T) {
	ca, first, second := pkitest.NewAuthority(t, "ca"), pkitest.NewAuthority(t, "first"), pkitest.NewAuthority(t, "second")
	f := folder{t, t.TempDir()}
	address, log := listen(t, f.server(ca.Issue("old", time.Hour), first))
	client := second.Issue("broker-2", time.Hour)
	_, _, err := dial(t, address, ca, &client)
	wantRefused(t, err, "unknown certificate authority")
	next := ca.Issue("new", time.Hour)
	f.write("tls.crt", next.Chain)
	_, server, err := dial(t, address, ca, nil)
	noError(t, err)
	wantSame(t, "while the key is the old one's", "old", server)
	if !strings.Contains(log.String(), "going on with the last ones") || strings.Contains(log.String(), strings.Split(next.Key, "\n")[1]) {
		t.Errorf("it logs %s", log)
	}
	f.write("tls.key", next.Key)
	f.write("clients.crt", second.PEM)
	said, server, err := dial(t, address, ca, &client)
	noError(t, err)
	wantSame(t, "afterwards", []string{"new", "hello broker-2"}, []string{server, said})
	noError(t, os.Remove(filepath.Join(f.dir, "clients.crt")))
	if _, _, err = dial(t, address, ca, &client); err != nil {
		t.Errorf("a file that is away for a moment: %v", err)
	}
}

func TestServerFaults(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	good, old := ca.Issue("a", time.Hour), ca.Issue("a", -time.Hour)
	trust := TrustStore{Certificates: secret.Text(ca.PEM)}
	key := func(p pkitest.Pair) KeyStore { return KeyStore{Chain: secret.Text(p.Chain), Key: secret.Text(p.Key)} }
	for _, c := range []struct {
		s    Server
		want string // none is no error
	}{
		{Server{}, ""},
		{Server{Key: key(good)}, ""},
		{Server{Key: key(good), Trust: trust}, ""},
		{Server{Trust: trust}, "ssl.keystore.certificate.chain: is needed"},
		{Server{Key: KeyStore{Key: secret.Text(good.Key)}}, "ssl.keystore.certificate.chain: is needed"},
		{Server{Key: key(old)}, "expired"},
		{Server{Key: key(good), Trust: TrustStore{Location: "/no/trust"}}, "ssl.truststore.location /no/trust"},
	} {
		err := c.s.Validate()
		if c.want == "" {
			noError(t, err)
			continue
		}
		wantRefused(t, err, c.want)
		if _, cfgErr := c.s.Config(slog.New(slog.DiscardHandler)); cfgErr == nil {
			t.Errorf("settings are made in spite of %v", err)
		}
	}
}
