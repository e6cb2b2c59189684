// Package pkitest makes certificate authorities and certificates, for tests.
package pkitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// Authority issues certificates.
type Authority struct {
	Certificate *x509.Certificate
	// PEM is the certificate.
	PEM string

	t   testing.TB
	key *ecdsa.PrivateKey
}

// Pair is a certificate and its key.
type Pair struct {
	TLS tls.Certificate
	// Chain and Key are PEM, the key PKCS#8.
	Chain, Key string
}

// NewAuthority returns a self-signed authority.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	must(t, err)
	a.Certificate, err = x509.ParseCertificate(der)
	must(t, err)
	a.PEM = encode("CERTIFICATE", der)
	return a
}

// Issue returns a certificate, of a server on 127.0.0.1 and a client at once, that is
// valid from two days ago and for another while; a negative one makes it expired.
func (a *Authority) Issue(name string, valid time.Duration) Pair {
	a.t.Helper()
	return a.IssueFor(name, net.IPv4(127, 0, 0, 1), valid)
}

// IssueFor is Issue for another address.
func (a *Authority) IssueFor(name string, host net.IP, valid time.Duration) Pair {
	a.t.Helper()
	key := newKey(a.t)
	template := &x509.Certificate{
		SerialNumber: serial(a.t), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{host},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore:   time.Now().Add(-47 * time.Hour), NotAfter: time.Now().Add(valid),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.Certificate, key.Public(), a.key)
	must(a.t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(a.t, err)
	p := Pair{Chain: encode("CERTIFICATE", der), Key: encode("PRIVATE KEY", keyDER)}
	p.TLS, err = tls.X509KeyPair([]byte(p.Chain), []byte(p.Key))
	must(a.t, err)
	return p
}

// Server returns the settings of a server with a certificate of the authority, which asks
// clients for one of theirs as auth says.
func (a *Authority) Server(auth tls.ClientAuthType) *tls.Config {
	a.t.Helper()
	clients := x509.NewCertPool()
	clients.AddCert(a.Certificate)
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{a.Issue("broker", time.Hour).TLS},
		ClientAuth: auth, ClientCAs: clients,
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}

func serial(t testing.TB) *big.Int {
	t.Helper()
	n, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	must(t, err)
	return n
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
