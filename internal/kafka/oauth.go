package kafka

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/tieredlog/rlmm/internal/secret"
)

// tokenTimeout is how long an OAuth server may take.
const tokenTimeout = 10 * time.Second

// unsecuredLifetime is how long an unsecured token is valid: Kafka's default.
const unsecuredLifetime = time.Hour

// tokenProvider gives sarama a token for each log-in, and keeps it until it expires.
type tokenProvider struct {
	sasl   SASL
	tokens oauth2.TokenSource
}

func newTokenProvider(s SASL) *tokenProvider {
	return &tokenProvider{s, oauth2.ReuseTokenSource(nil, freshTokens{s})}
}

// Token implements [sarama.AccessTokenProvider].
func (p *tokenProvider) Token() (*sarama.AccessToken, error) {
	token, err := p.tokens.Token()
	if err != nil {
		return nil, fmt.Errorf("get a token for OAUTHBEARER: %w", err)
	}
	j, err := p.sasl.module()
	if err != nil {
		return nil, err
	}
	extensions := map[string]string{}
	for option, value := range j.options {
		if name, ok := strings.CutPrefix(option, "extension_"); ok {
			extensions[name] = value
		}
	}
	return &sarama.AccessToken{Token: token.AccessToken, Extensions: extensions}, nil
}

// freshTokens reads the settings anew for each token.
type freshTokens struct{ sasl SASL }

// Token implements [oauth2.TokenSource].
func (f freshTokens) Token() (*oauth2.Token, error) {
	get, err := f.sasl.tokenSource()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), tokenTimeout)
	defer cancel()
	return get(ctx)
}

// tokenSource returns how to get a token; the error is of settings that can't be right.
func (s SASL) tokenSource() (func(context.Context) (*oauth2.Token, error), error) {
	j, err := s.module()
	if err != nil {
		return nil, err
	}
	if s.TokenEndpoint == "" {
		subject, err := j.need("unsecuredLoginStringClaim_sub")
		err = naming("sasl.jaas.config, without sasl.oauthbearer.token.endpoint.url", err)
		return func(context.Context) (*oauth2.Token, error) { return unsecuredToken(subject[0], time.Now()) }, err
	}
	u, err := url.Parse(s.TokenEndpoint)
	switch {
	case err == nil && u.Scheme == "file" && u.Path != "":
		return func(context.Context) (*oauth2.Token, error) { return fileToken(u.Path) }, nil
	case err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "":
		return s.clientCredentials(j)
	}
	return nil, errors.New("sasl.oauthbearer.token.endpoint.url: is no URL of https, http or file")
}

// clientCredentials is the grant of RFC 6749, section 4.4.
func (s SASL) clientCredentials(j jaas) (func(context.Context) (*oauth2.Token, error), error) {
	values, err := j.need("clientId", "clientSecret")
	if err != nil {
		return nil, naming("sasl.jaas.config", err)
	}
	cfg := clientcredentials.Config{ClientID: values[0], ClientSecret: values[1], TokenURL: s.TokenEndpoint, Scopes: strings.Fields(j.options["scope"])}
	return func(ctx context.Context) (*oauth2.Token, error) {
		token, err := cfg.Token(ctx)
		// The answer's body stays out: a server may repeat there what it was sent.
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
			return nil, fmt.Errorf("%s answers %s %s", s.TokenEndpoint, refused.Response.Status, refused.ErrorCode)
		}
		return token, err
	}, nil
}

// fileToken reads a token that somebody else keeps fresh.
func fileToken(path string) (*oauth2.Token, error) {
	token, err := secret.File(path).Reveal()
	// It may be another one by the next log-in, so it is not to be kept.
	return &oauth2.Token{AccessToken: token, Expiry: time.Now()}, err
}

// unsecuredToken is a JWS that nobody signed (Kafka's
// OAuthBearerUnsecuredLoginCallbackHandler), for tests and trials.
func unsecuredToken(subject string, now time.Time) (*oauth2.Token, error) {
	expiry := now.Add(unsecuredLifetime)
	claims, err := json.Marshal(map[string]any{"sub": subject, "iat": now.Unix(), "exp": expiry.Unix()})
	if err != nil {
		return nil, err
	}
	encode := base64.RawURLEncoding.EncodeToString
	return &oauth2.Token{AccessToken: encode([]byte(`{"alg":"none"}`)) + "." + encode(claims) + ".", Expiry: expiry}, nil
}
