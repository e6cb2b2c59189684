package auth

import (
	"crypto/tls"
	"fmt"
	"net/http"
)

// Client is how a client connects and logs in.
type Client struct {
	// Token returns the bearer token, for each request; nil, or "", is none.
	Token func() (string, error)
	// TLS is used for https; nil is the system's authorities and no certificate.
	TLS *tls.Config
}

// HTTP returns a client for [rest.NewClient]. It follows no redirect, so that the token goes
// to nobody else.
func (c Client) HTTP() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = c.TLS
	return &http.Client{
		Transport:     bearing{c.Token, transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bearing sends a token with each request.
type bearing struct {
	token func() (string, error)
	*http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token == nil {
		return b.Transport.RoundTrip(r)
	}
	token, err := b.token()
	if err != nil {
		return nil, fmt.Errorf("the token to log in with: %w", err)
	}
	if token != "" {
		r = r.Clone(r.Context()) // which a RoundTripper must not change
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return b.Transport.RoundTrip(r)
}
