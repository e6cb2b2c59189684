package kafka

import (
	"errors"
	"fmt"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/internal/tlsconfig"
)

// SecurityProtocol is how connections are secured, in Kafka's words (security.protocol).
type SecurityProtocol string

// The protocols of Kafka's SecurityProtocol.
const (
	Plaintext     SecurityProtocol = "PLAINTEXT"
	SSL           SecurityProtocol = "SSL"
	SASLPlaintext SecurityProtocol = "SASL_PLAINTEXT"
	SASLSSL       SecurityProtocol = "SASL_SSL"
)

// Security is how connections are secured and who connects. The zero value is
// PLAINTEXT. What lies in files is read for each connection, so that certificates and
// passwords rotate without a restart.
type Security struct {
	// Protocol is PLAINTEXT when empty.
	Protocol SecurityProtocol
	// TLS is used with SSL and SASL_SSL only.
	TLS tlsconfig.Client
	// SASL is used with SASL_PLAINTEXT and SASL_SSL only.
	SASL SASL
}

func (s Security) usesTLS() bool  { return s.Protocol == SSL || s.Protocol == SASLSSL }
func (s Security) usesSASL() bool { return s.Protocol == SASLPlaintext || s.Protocol == SASLSSL }

// Validate returns an error that names everything that can't be right, files that can't
// be read or understood among it. It shows no secret.
func (s Security) Validate() error {
	var errs []error
	switch s.Protocol {
	case "", Plaintext, SSL, SASLPlaintext, SASLSSL:
	default:
		errs = append(errs, fmt.Errorf("security.protocol: %q is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL", s.Protocol))
	}
	if s.usesTLS() {
		errs = append(errs, s.TLS.Validate())
	}
	if s.usesSASL() {
		errs = append(errs, s.SASL.validate())
	}
	return errors.Join(errs...)
}

func (s Security) apply(c *sarama.Config) {
	d := secureDialer{timeout: c.Net.DialTimeout}
	if s.usesTLS() {
		d.tls = &s.TLS
	}
	if s.usesSASL() {
		d.login = s.SASL.apply(c)
	}
	if d.tls != nil || d.login != nil {
		c.Net.Proxy.Enable, c.Net.Proxy.Dialer = true, d
	}
}
