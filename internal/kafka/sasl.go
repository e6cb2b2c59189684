package kafka

import (
	"errors"
	"fmt"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"

	"github.com/tieredlog/rlmm/internal/secret"
)

// SASL is who connects (Kafka's sasl.* settings).
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.
	Mechanism string
	// JAAS is Kafka's sasl.jaas.config: the mechanism's login module and its options.
	JAAS secret.Value
	// TokenEndpoint is where OAUTHBEARER gets its tokens
	// (sasl.oauthbearer.token.endpoint.url): the URL of an OAuth 2 server, or the
	// file:///path of a token. Without one the token is unsecured, as with Kafka's
	// default callback handler.
	TokenEndpoint string
}

// loginModules are what the JAAS configuration of a mechanism names.
var loginModules = map[string]string{
	sarama.SASLTypePlaintext:   "PlainLoginModule",
	sarama.SASLTypeSCRAMSHA256: "ScramLoginModule",
	sarama.SASLTypeSCRAMSHA512: "ScramLoginModule",
	sarama.SASLTypeOAuth:       "OAuthBearerLoginModule",
}

func (s SASL) validate() error {
	module, ok := loginModules[s.Mechanism]
	switch {
	case s.Mechanism == "":
		return errors.New("sasl.mechanism: is needed with a SASL protocol: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER")
	case !ok:
		return fmt.Errorf("sasl.mechanism: %q is none of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER", s.Mechanism)
	case s.JAAS.IsZero():
		return fmt.Errorf("sasl.jaas.config: is needed with %s: %s required ...;", s.Mechanism, module)
	case s.Mechanism == sarama.SASLTypeOAuth:
		_, err := s.tokenSource()
		return err
	}
	_, _, err := s.login()
	return err
}

// module reads the JAAS configuration, which must be of the mechanism's module.
func (s SASL) module() (jaas, error) {
	j, err := secret.Parse(s.JAAS, parseJAAS)
	if module := loginModules[s.Mechanism]; err == nil && j.module != module {
		err = fmt.Errorf("the login module for %s is %s", s.Mechanism, module)
	}
	return j, naming("sasl.jaas.config", err)
}

// login returns user and password as they are now.
func (s SASL) login() (user, password string, err error) {
	j, err := s.module()
	if err != nil {
		return "", "", err
	}
	values, err := j.need("username", "password")
	return values[0], values[1], naming("sasl.jaas.config", err)
}

// apply sets sarama's log-in, or returns ours.
func (s SASL) apply(c *sarama.Config) *plainLogin {
	if s.Mechanism == sarama.SASLTypePlaintext {
		return &plainLogin{s, c.ClientID, c.Net.DialTimeout, new(loginGate)}
	}
	c.Net.SASL.Enable = true
	c.Net.SASL.Mechanism = sarama.SASLMechanism(s.Mechanism)
	switch s.Mechanism {
	case sarama.SASLTypeSCRAMSHA256:
		s.applySCRAM(c, scram.SHA256)
	case sarama.SASLTypeSCRAMSHA512:
		s.applySCRAM(c, scram.SHA512)
	case sarama.SASLTypeOAuth:
		c.Net.SASL.TokenProvider = newTokenProvider(s)
	}
	return nil
}

func (s SASL) applySCRAM(c *sarama.Config, hash scram.HashGeneratorFcn) {
	// sarama wants both; the client below reads its own.
	c.Net.SASL.User, c.Net.SASL.Password = "of-jaas-config", "of-jaas-config"
	gate := new(loginGate)
	c.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &scramClient{sasl: s, hash: hash, gate: gate} }
}

// scramClient is one log-in by SCRAM (RFC 5802).
type scramClient struct {
	sasl SASL
	hash scram.HashGeneratorFcn
	gate *loginGate
	*scram.ClientConversation
}

// Begin reads the login anew: it may have changed since the last connection.
func (c *scramClient) Begin(string, string, string) error {
	user, password, err := c.sasl.login()
	if err != nil {
		return err
	}
	if err := c.gate.begin(user, password); err != nil {
		return err
	}
	client, err := c.hash.NewClient(user, password, "")
	if err != nil {
		return err
	}
	c.ClientConversation = client.NewConversation()
	return nil
}

// Step tells the gate when the broker has proved that it knows the login: it does so last.
func (c *scramClient) Step(challenge string) (string, error) {
	answer, err := c.ClientConversation.Step(challenge)
	if err == nil && c.Valid() {
		c.gate.succeeded()
	}
	return answer, err
}

func naming(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
