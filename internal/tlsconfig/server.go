package tlsconfig

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"sync/atomic"
)

// Server is who a server is, and which clients it trusts.
type Server struct {
	// Key is the server's certificate, which must be there.
	Key KeyStore
	// Trust holds the authorities of clients' certificates. When it is empty no client is
	// asked for one. A client may come without any, which is for others to mind; one whose
	// certificate is of another authority, or has expired, is refused.
	Trust TrustStore
}

// IsZero tells whether there is no certificate, and so no TLS.
func (s Server) IsZero() bool { return s.Key.isZero() }

func (s KeyStore) isZero() bool { return s.Location == "" && s.Chain.IsZero() && s.Key.IsZero() }

func (s TrustStore) isZero() bool { return s.Location == "" && s.Certificates.IsZero() }

// AsksClients tells whether clients are asked for a certificate.
func (s Server) AsksClients() bool { return !s.Trust.isZero() }

// Validate returns an error that names everything that can't be right.
func (s Server) Validate() error {
	if s.IsZero() {
		if s.AsksClients() {
			return errNoKey
		}
		return nil
	}
	_, key := s.Key.Certificate()
	_, trust := s.Trust.Pool()
	return errors.Join(key, trust)
}

var errNoKey = errors.New("ssl.keystore.certificate.chain: is needed beside a trust store")

// Config returns settings that read the stores for each connection. While they can't be
// read, as when a certificate is replaced and its key isn't yet, connections go by what was
// read last, with a warning.
func (s Server) Config(log *slog.Logger) (*tls.Config, error) {
	now, err := s.read()
	if err != nil {
		return nil, err
	}
	var last atomic.Pointer[tls.Config]
	last.Store(now)
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			now, err := s.read()
			if err != nil {
				log.Warn("certificates can't be read, going on with the last ones", "error", err)
				return last.Load(), nil
			}
			last.Store(now)
			return now, nil
		},
	}, nil
}

func (s Server) read() (*tls.Config, error) {
	certificate, err := s.Key.Certificate()
	if err == nil && certificate == nil {
		err = errNoKey
	}
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*certificate}, NextProtos: []string{"http/1.1"},
		// A resumed session would go by the authorities of its beginning.
		SessionTicketsDisabled: true,
	}
	if s.AsksClients() {
		cfg.ClientAuth = tls.VerifyClientCertIfGiven
		cfg.ClientCAs, err = s.Trust.Pool()
	}
	return cfg, err
}
