// Package auth decides who may ask a server of package rest, and for what: by bearer tokens
// (RFC 6750), by clients' certificates, or both. Reads, mutations and control are granted
// apart. What it is wrapped around needs no list of its routes: a request's method and path
// say what it takes, and what is not known takes the most.
package auth

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/tieredlog/rlmm/api/rest"
)

// Right is what a client may do.
type Right uint8

// The rights. Who may do one of the others may read, too.
const (
	// Read is every GET and HEAD.
	Read Right = iota
	// Mutate is whatever else publishes an event; all but Control.
	Mutate
	// Control is to pause, resume, restart and rebuild metadata partitions, and to set
	// levels of loggers.
	Control
	rights
)

// String is read, mutate or control.
func (r Right) String() string { return [...]string{"read", "mutate", "control"}[r] }

// Grant is who has a right.
type Grant struct {
	// Tokens returns the bearer tokens that have it. It is called for each request with a
	// token, so that tokens can be replaced; while it fails, such requests get 503. Nil is
	// no tokens.
	Tokens func() ([]string, error)
	// Principals are the names (the subject's common name) of client certificates that have
	// it; "*" is every certificate that the listener's TLS has verified.
	Principals []string
}

func (g Grant) isZero() bool { return g.Tokens == nil && len(g.Principals) == 0 }

// Policy says who has which right. The zero value lets everybody do everything.
type Policy struct {
	Read, Mutate, Control Grant
}

// IsZero tells whether everybody may do everything.
func (p Policy) IsZero() bool { return p.Read.isZero() && p.Mutate.isZero() && p.Control.isZero() }

func (p Policy) grants() [rights]Grant { return [...]Grant{p.Read, p.Mutate, p.Control} }

// open are the paths of probes, which have nothing to log in with: they tell no more than
// whether the process lives, has started and is ready.
var open = []string{"/healthz", "/readyz", "/startupz"}

// needs is the right that a request takes.
func needs(r *http.Request) Right {
	switch {
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		return Read
	case strings.HasPrefix(r.URL.Path, "/admin/"), strings.HasPrefix(r.URL.Path, "/v1/metadata-partitions/"):
		return Control
	}
	return Mutate
}

// Guard lets requests through to next that the policy grants. Others are answered here, as
// every error of the API: 401 without a token or certificate that is known, 403 when it
// lacks the right, 503 while the tokens can't be had. Refusals are logged without what the
// client sent to log in.
func Guard(next http.Handler, p Policy, log *slog.Logger) http.Handler {
	if p.IsZero() {
		return next
	}
	return &guard{next, p, log}
}

type guard struct {
	next   http.Handler
	policy Policy
	log    *slog.Logger
}

// ServeHTTP passes a request on, or refuses it.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isProbe(r) {
		g.next.ServeHTTP(w, r)
		return
	}
	granted, known, err := g.policy.of(r)
	need := needs(r)
	switch {
	case err != nil:
		g.log.LogAttrs(r.Context(), slog.LevelError, "tokens can't be read", slog.Any("error", err))
		g.refuse(w, r, rest.ErrCredentials)
	case !known:
		w.Header().Set("WWW-Authenticate", challenge(r))
		g.refuse(w, r, rest.ErrUnauthorized)
	case !granted[need]:
		w.Header().Set("WWW-Authenticate", `Bearer realm="rlmm", error="insufficient_scope", scope="`+need.String()+`"`)
		g.refuse(w, r, rest.ErrForbidden)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// isProbe also minds the method: nothing but GET and HEAD is open.
func isProbe(r *http.Request) bool { return needs(r) == Read && slices.Contains(open, r.URL.Path) }

func challenge(r *http.Request) string {
	if r.Header.Get("Authorization") == "" {
		return `Bearer realm="rlmm"`
	}
	return `Bearer realm="rlmm", error="invalid_token"`
}

func (g *guard) refuse(w http.ResponseWriter, r *http.Request, e *rest.Error) {
	g.log.LogAttrs(r.Context(), slog.LevelInfo, "request refused", slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.String("remote", r.RemoteAddr), slog.Int("status", e.Code), slog.String("reason", e.Reason))
	rest.WriteError(w, e)
}
