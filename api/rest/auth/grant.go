package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"time"
)

// of tells what a client may do, and whether it is known at all.
func (p Policy) of(r *http.Request) (granted [rights]bool, known bool, err error) {
	token, hasToken := bearer(r)
	principal, hasCertificate := certified(r)
	for right, g := range p.grants() {
		has := hasCertificate && g.names(principal)
		if hasToken {
			match, err := g.takes(token)
			if err != nil {
				return granted, false, err
			}
			has = has || match
		}
		granted[right] = has
		known = known || has
	}
	granted[Read] = known
	return granted, known || hasCertificate, nil
}

// bearer is the token that a request carries.
func bearer(r *http.Request) (token string, ok bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return token, ok && strings.EqualFold(scheme, "Bearer")
}

// certified is the name of the client's certificate, which TLS has verified. One that has
// expired since is none: a connection may be old.
func certified(r *http.Request) (name string, ok bool) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return "", false
	}
	leaf := r.TLS.VerifiedChains[0][0]
	return leaf.Subject.CommonName, !time.Now().After(leaf.NotAfter)
}

func (g Grant) names(principal string) bool {
	return slices.Contains(g.Principals, "*") || principal != "" && slices.Contains(g.Principals, principal)
}

// takes compares with every token, by hashes: how long it takes tells nothing of them.
func (g Grant) takes(token string) (bool, error) {
	if g.Tokens == nil {
		return false, nil
	}
	tokens, err := g.Tokens()
	if err != nil {
		return false, err
	}
	given, found := sha256.Sum256([]byte(token)), 0
	for _, t := range tokens {
		have := sha256.Sum256([]byte(t))
		found |= subtle.ConstantTimeCompare(given[:], have[:])
	}
	return found == 1, nil
}
