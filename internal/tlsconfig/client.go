package tlsconfig

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
)

// Client is whom a client trusts, and who it is (Kafka's ssl.* settings).
type Client struct {
	// Trust holds the authorities that servers' certificates must come from; the system's
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

// Validate returns an error that names everything that can't be right, stores that can't be
// read or understood among it.
func (t Client) Validate() error {
	var errs []error
	for _, v := range t.Versions {
		if tlsVersions[v] == 0 {
			errs = append(errs, fmt.Errorf("ssl.enabled.protocols: %q is neither TLSv1.2 nor TLSv1.3", v))
		}
	}
	_, trust := t.Trust.Pool()
	_, key := t.Key.Certificate()
	return errors.Join(append(errs, trust, key)...)
}

// Config reads the stores, for a connection to the host: their content may have changed
// since the last one.
func (t Client) Config(host string) (*tls.Config, error) {
	roots, err := t.Trust.Pool()
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
	certificate, err := t.Key.Certificate()
	if err != nil || certificate == nil {
		return cfg, err
	}
	// Given to every server: one that doesn't know our authority then says so, where it
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
