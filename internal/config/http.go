package config

import (
	"github.com/tieredlog/rlmm/internal/secret"
	"github.com/tieredlog/rlmm/internal/tlsconfig"
)

// HTTPServer is how HTTP is served, and to whom.
type HTTPServer struct {
	// TLS is used when it has a certificate.
	TLS tlsconfig.Server
	// Who may read, mutate and control. When nobody is named, everybody may.
	Read, Mutate, Control Access
}

// Access is who may do something.
type Access struct {
	// Tokens are bearer tokens; see [secret.Value.Tokens].
	Tokens secret.Value
	// Principals are common names of client certificates; none without a trust store.
	Principals []string
}

// HTTPServer returns how to serve HTTP. The error is an [*Error]: certificates and tokens
// that can't be read or understood, names of certificates that nothing verifies.
func (c *Config) HTTPServer() (HTTPServer, error) {
	s := HTTPServer{TLS: tlsconfig.Server{Key: c.keyStore(serverPrefix), Trust: c.trustStore(serverPrefix)}}
	faults := c.prefixed(serverPrefix, s.TLS.Validate())
	faults = append(faults, c.access(&s.Read, "read", s.TLS.AsksClients())...)
	faults = append(faults, c.access(&s.Mutate, "mutate", s.TLS.AsksClients())...)
	faults = append(faults, c.access(&s.Control, "control", s.TLS.AsksClients())...)
	return s, errorOf(sorted(faults))
}

// access reads who has a right. Names count only where certificates are verified.
func (c *Config) access(a *Access, right string, verified bool) (faults []Fault) {
	tokens, principals := serverPrefix+right+".tokens", serverPrefix+right+".principals"
	if a.Tokens = c.secret(tokens, ""); !a.Tokens.IsZero() {
		_, err := a.Tokens.Tokens()
		faults = c.fault(tokens, err)
	}
	if verified {
		a.Principals = c.List(principals)
	} else if o := c.Origin(principals); o.Level != FromDefault {
		faults = append(faults, Fault{o.Where, principals, "needs http.ssl.truststore.certificates, by which the names are verified"})
	}
	return faults
}

// HTTPClient is how a server is asked.
type HTTPClient struct {
	// Token is the bearer token.
	Token secret.Value
	TLS   tlsconfig.Client
}

// HTTPClient returns how to ask a server. The error is an [*Error].
func (c *Config) HTTPClient() (HTTPClient, error) {
	h := HTTPClient{c.secret(clientPrefix+"token", ""), tlsconfig.Client{Key: c.keyStore(clientPrefix), Trust: c.trustStore(clientPrefix)}}
	faults := c.prefixed(clientPrefix, h.TLS.Validate())
	_, err := h.Token.Reveal()
	return h, errorOf(append(faults, c.fault(clientPrefix+"token", err)...))
}

func (c *Config) keyStore(prefix string) tlsconfig.KeyStore {
	return tlsconfig.KeyStore{
		Location: c.Text(prefix + "ssl.keystore.location"), Password: c.secret(prefix+"ssl.keystore.password", ""),
		Chain: c.secret(prefix+"ssl.keystore.certificate.chain", ""), Key: c.secret(prefix+"ssl.keystore.key", ""),
		KeyPassword: c.secret(prefix+"ssl.key.password", ""),
	}
}

func (c *Config) trustStore(prefix string) tlsconfig.TrustStore {
	return tlsconfig.TrustStore{
		Location: c.Text(prefix + "ssl.truststore.location"), Password: c.secret(prefix+"ssl.truststore.password", ""),
		Certificates: c.secret(prefix+"ssl.truststore.certificates", ""),
	}
}

// prefixed finds the origin of faults that begin with a key but for its prefix.
func (c *Config) prefixed(prefix string, err error) []Fault {
	var faults []Fault
	for _, e := range flat(err) {
		faults = append(faults, c.locate("", prefix+e.Error()))
	}
	return faults
}

// fault is what is wrong with the value of a key, if anything.
func (c *Config) fault(name string, err error) []Fault {
	if err == nil {
		return nil
	}
	return []Fault{{c.Origin(name).Where, name, err.Error()}}
}
