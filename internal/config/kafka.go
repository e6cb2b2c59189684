package config

import (
	"errors"
	"strings"

	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/tlsconfig"
)

// Kafka returns how to reach the cluster. The error is an [*Error]: no brokers, a login that
// is missing, a certificate that can't be read.
func (c *Config) Kafka() (kafka.Settings, error) {
	s := kafka.Settings{
		Bootstrap:      c.List("bootstrap.servers"),
		ClientID:       c.Text("client.id"),
		SessionTimeout: c.Duration("session.timeout.ms"),
		FetchMaxWait:   c.Duration("fetch.max.wait.ms"),
		Security:       c.security(""),
	}
	for _, kind := range []kafka.ClientKind{kafka.ProducerClient, kafka.ConsumerClient, kafka.AdminClient} {
		if own, ok := c.client(kind); ok {
			if s.Clients == nil {
				s.Clients = map[kafka.ClientKind]kafka.ClientSettings{}
			}
			s.Clients[kind] = own
		}
	}
	return s, errorOf(c.connectionFaults(s))
}

// client returns what a kind of clients has of its own, if anything.
func (c *Config) client(kind kafka.ClientKind) (own kafka.ClientSettings, ok bool) {
	for _, k := range connectionKeys() {
		g, found := c.find(k.Name, string(kind))
		if !found || !isPrefixed(g.name, string(kind)) {
			continue
		}
		ok = true
		if k.Name == "client.id" {
			own.ClientID = g.value
		} else if own.Security == nil {
			security := c.security(string(kind))
			own.Security = &security
		}
	}
	return own, ok
}

func (c *Config) security(clients string) kafka.Security {
	text := func(name string) string {
		if g, ok := c.find(name, clients); ok {
			return g.value
		}
		return known()[name].Default
	}
	return kafka.Security{
		Protocol: kafka.SecurityProtocol(text("security.protocol")),
		TLS: tlsconfig.Client{
			Trust: tlsconfig.TrustStore{
				Location: text("ssl.truststore.location"), Password: c.secret("ssl.truststore.password", clients),
				Certificates: c.secret("ssl.truststore.certificates", clients),
			},
			Key: tlsconfig.KeyStore{
				Location: text("ssl.keystore.location"), Password: c.secret("ssl.keystore.password", clients),
				Chain: c.secret("ssl.keystore.certificate.chain", clients), Key: c.secret("ssl.keystore.key", clients),
				KeyPassword: c.secret("ssl.key.password", clients),
			},
			AnyHost:  text("ssl.endpoint.identification.algorithm") == "",
			Versions: splitList(text("ssl.enabled.protocols")),
		},
		SASL: kafka.SASL{
			Mechanism: text("sasl.mechanism"), JAAS: c.secret("sasl.jaas.config", clients),
			TokenEndpoint: text("sasl.oauthbearer.token.endpoint.url"),
		},
	}
}

// connectionFaults says where each thing that is wrong with the connection was given.
func (c *Config) connectionFaults(s kafka.Settings) []Fault {
	var faults []Fault
	if len(s.Bootstrap) == 0 {
		faults = append(faults, Fault{Key: "bootstrap.servers", Problem: "is needed: --bootstrap host:port, or " + Environment("bootstrap.servers") + ", or a line of the --config file"})
	}
	faults = append(faults, c.located("", s.Security.Validate())...)
	for kind, own := range s.Clients {
		if own.Security != nil {
			faults = append(faults, c.located(string(kind), own.Security.Validate())...)
		}
	}
	return faults
}

// located finds the origin of faults that begin with the key.
func (c *Config) located(clients string, err error) []Fault {
	var faults []Fault
	for _, e := range flat(err) {
		faults = append(faults, c.locate(clients, e.Error()))
	}
	return faults
}

func (c *Config) locate(clients, problem string) Fault {
	f := Fault{Problem: problem}
	name, _, _ := strings.Cut(problem, ":")
	name, _, _ = strings.Cut(name, " ")
	if g, ok := c.find(name, clients); ok {
		f.Origin = g.origin.Where
	}
	return f
}

// flat takes joined errors apart.
func flat(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flat(e)...)
	}
	return all
}

// Join makes one error of configuration errors: all their faults in one list.
func Join(errs ...error) error {
	var faults []Fault
	for _, err := range errs {
		if e, ok := errors.AsType[*Error](err); ok {
			faults = append(faults, e.Faults...)
		}
	}
	return errorOf(faults)
}
