package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/tieredlog/rlmm/internal/secret"
)

// TLS is whom to trust, and who we are (Kafka's ssl.* settings). Stores may be PEM,
// PKCS12 or JKS: their content says which.
type TLS struct {
	// Trust holds the authorities that brokers' certificates must come from; the system's
	// when it is empty.
	Trust TrustStore
	// Key is the client's certificate; none when it is empty.
	Key KeyStore
	// AnyHost takes a certificate of any host (an empty
	// ssl.endpoint.identification.algorithm).
	AnyHost bool
	// Versions are the protocols to speak (ssl.enabled.protocols), TLSv1.2 and TLSv1.3;
	// both when empty.
	Versions []string
}

// tlsVersions are the versions by Java's names.
var tlsVersions = map[string]uint16{"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}

func (t TLS) validate() error {
	var errs []error
	for _, v := range t.Versions {
		if tlsVersions[v] == 0 {
			errs = append(errs, fmt.Errorf("ssl.enabled.protocols: %q is neither TLSv1.2 nor TLSv1.3", v))
		}
	}
	_, trust := t.Trust.pool()
	_, key := t.Key.certificate()
	return errors.Join(append(errs, trust, key)...)
}

// config reads the stores. Their content may have changed since the last connection.
func (t TLS) config(host string) (*tls.Config, error) {
	roots, err := t.Trust.pool()
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: roots}
	if len(t.Versions) > 0 {
		all := make([]uint16, len(t.Versions))
		for i, v := range t.Versions {
			all[i] = tlsVersions[v]
		}
		cfg.MinVersion, cfg.MaxVersion = slices.Min(all), slices.Max(all)
	}
	if t.AnyHost {
		// The chain is verified, its host is not.
		cfg.InsecureSkipVerify = true
		cfg.VerifyConnection = func(cs tls.ConnectionState) error { return verifyChain(cs, roots) }
	}
	certificate, err := t.Key.certificate()
	if err != nil || certificate == nil {
		return cfg, err
	}
	// Given to every broker: one that doesn't know our authority then says so, where it
	// would else ask for a certificate.
	cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	return cfg, nil
}

func verifyChain(cs tls.ConnectionState, roots *x509.CertPool) error {
	between := x509.NewCertPool()
	for _, c := range cs.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}

// TrustStore is the authorities to trust.
type TrustStore struct {
	// Location is a file (ssl.truststore.location), Password what opens it.
	Location string
	Password secret.Value
	// Certificates is PEM text, in place of a file.
	Certificates secret.Value
}

// KeyStore is a certificate and its key.
type KeyStore struct {
	// Location is a file (ssl.keystore.location), Password what opens it.
	Location string
	Password secret.Value
	// Chain and Key are PEM text, in place of a file.
	Chain, Key secret.Value
	// KeyPassword opens the key itself; the store's password when there is none.
	KeyPassword secret.Value
}

// tlsDialer connects and shakes hands. sarama's own TLS takes a config that is made
// once; this one is made for each connection.
type tlsDialer struct {
	tls     TLS
	timeout time.Duration
}

// Dial is of golang.org/x/net/proxy.Dialer.
func (d tlsDialer) Dial(network, addr string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, addr)
}

// DialContext is Dial that ends with the context. The error names the broker.
func (d tlsDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	cfg, err := d.tls.config(host)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	conn, err := (&tls.Dialer{Config: cfg}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("connect to %s by TLS: %w", addr, err)
	}
	return namedConn{conn, addr}, nil
}

// namedConn names the broker in the alerts that a broker sends after the handshake: a
// client's certificate that it refuses, in TLS 1.3.
type namedConn struct {
	net.Conn
	addr string
}

func (c namedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		err = fmt.Errorf("%s refuses: %w", c.addr, err)
	}
	return n, err
}
