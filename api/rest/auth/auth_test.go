package auth_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/api/rest/auth"
	"github.com/tieredlog/rlmm/internal/pkitest"
)

// The tokens, which nothing may show.
const (
	reader     = "planted-reader-token"
	mutator    = "planted-mutator-token"
	controller = "planted-controller-token"
)

func fixed(tokens ...string) func() ([]string, error) {
	return func() ([]string, error) { return tokens, nil }
}

func policy() auth.Policy {
	return auth.Policy{
		Read:    auth.Grant{Tokens: fixed("planted-other-reader", reader), Principals: []string{"viewer"}},
		Mutate:  auth.Grant{Tokens: fixed(mutator), Principals: []string{"broker-1"}},
		Control: auth.Grant{Tokens: fixed(controller), Principals: []string{"operator"}},
	}
}

// site is a guarded server, what reached it and what it logged.
type site struct {
	http.Handler
	reached int
	log     bytes.Buffer
}

func newSite(p auth.Policy) *site {
	s := &site{}
	log := slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.Handler = auth.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.reached++
		w.WriteHeader(http.StatusTeapot)
	}), p, log)
	return s
}

func (s *site) ask(method, path string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, http.NoBody)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func certified(name string, expiry time.Time) func(*http.Request) {
	leaf := &x509.Certificate{NotAfter: expiry}
	leaf.Subject.CommonName = name
	return func(r *http.Request) {
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: [][]*x509.Certificate{{leaf}}}
	}
}

// operation is one of the OpenAPI document.
type operation struct {
	method, path, tag string
	open              bool
}

func operations(t *testing.T) []operation {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(rest.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	var all []operation
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			all = append(all, operation{method, regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "7"), o.Tags[0], o.Security != nil && len(*o.Security) == 0})
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d operations", len(all))
	}
	return all
}

// want is the status of an operation for who has one right.
func (o operation) want(right string) int {
	changes := o.method != http.MethodGet
	switch {
	case o.open, !changes && right != "":
		return http.StatusTeapot
	case right == "":
		return http.StatusUnauthorized
	case o.tag == "Mutations" && right == "mutate", o.tag == "Control" && right == "control":
		return http.StatusTeapot
	}
	return http.StatusForbidden
}

// Every operation of the document, by everybody: nothing reaches the server without the
// right, and no right gives another.
func TestEachOperationTakesItsRight(t *testing.T) {
	later, all := time.Now().Add(time.Hour), operations(t)
	for name, who := range map[string]struct {
		right string
		login func(*http.Request)
	}{
		"nobody": {"", nil}, "unknown token": {"", bearer("planted-unknown-token")}, "part of a token": {"", bearer(reader[:16])},
		"longer": {"", bearer(reader + "x")}, "empty": {"", bearer("")}, "another scheme": {"", func(r *http.Request) { r.Header.Set("Authorization", "Basic "+reader) }},
		"without a scheme": {"", func(r *http.Request) { r.Header.Set("Authorization", reader) }},
		"in the query":     {"", func(r *http.Request) { r.URL.RawQuery = "access_token=" + reader }},
		"expired":          {"", certified("broker-1", time.Now().Add(-time.Second))},
		"not verified":     {"", func(r *http.Request) { certified("broker-1", later)(r); r.TLS.VerifiedChains = nil }},
		"reader":           {"read", bearer(reader)}, "mutator": {"mutate", bearer(mutator)}, "controller": {"control", bearer(controller)},
		"viewer": {"read", certified("viewer", later)}, "broker": {"mutate", certified("broker-1", later)}, "operator": {"control", certified("operator", later)},
		"lower case": {"read", func(r *http.Request) { r.Header.Set("Authorization", "bearer "+reader) }},
	} {
		s := newSite(policy())
		for _, o := range all {
			before := s.reached
			w := s.ask(o.method, o.path, who.login)
			if want := o.want(who.right); w.Code != want || (s.reached > before) != (want == http.StatusTeapot) {
				t.Errorf("%s: %s %s: %d, want %d", name, o.method, o.path, w.Code, want)
			}
			checkRefusal(t, w)
		}
		if strings.Contains(s.log.String(), "planted") {
			t.Errorf("a token is logged:\n%s", s.log.String())
		}
	}
}

// checkRefusal checks that a refusal is an error of the API that tells how to log in.
func checkRefusal(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code == http.StatusTeapot {
		return
	}
	var e rest.Error
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Code != w.Code || e.Reason == "" {
		t.Errorf("%s: %v", w.Body, err)
	}
	if !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), `Bearer realm="rlmm"`) {
		t.Errorf("it asks for %q", w.Header())
	}
	if strings.Contains(w.Body.String(), "planted") {
		t.Errorf("a token is shown: %s", w.Body)
	}
}

// A certificate that is trusted and has no name here is known, and may nothing.
func TestACertificateWithoutARight(t *testing.T) {
	login := certified("mallory", time.Now().Add(time.Hour))
	if w := newSite(policy()).ask("GET", "/v1/partitions", login); w.Code != http.StatusForbidden {
		t.Errorf("%d", w.Code)
	}
	p := policy()
	p.Read.Principals = []string{"*"}
	if w := newSite(p).ask("GET", "/v1/partitions", login); w.Code != http.StatusTeapot {
		t.Errorf("%d", w.Code)
	}
	if w := newSite(p).ask("GET", "/v1/partitions", nil); w.Code != http.StatusUnauthorized {
		t.Errorf("nobody: %d", w.Code)
	}
}

// What isn't known takes the most, and a probe's path is open to reads alone.
func TestUnknownPathsAndMethods(t *testing.T) {
	s := newSite(policy())
	for _, c := range []struct {
		method, path, token string
		want                int
	}{
		{"GET", "/nowhere", "", 401},
		{"GET", "/nowhere", reader, 418},
		{"GET", "/metrics", "", 401},
		{"GET", "/healthz/", "", 401},
		{"GET", "/v1/../healthz", "", 401},
		{"GET", "/startupz", "", 418},
		{"HEAD", "/readyz", "", 418},
		{"POST", "/healthz", "", 401},
		{"DELETE", "/v1/new", reader, 403},
		{"TRACE", "/", reader, 403},
		{"OPTIONS", "/v1/partitions", "", 401},
	} {
		if w := s.ask(c.method, c.path, bearer(c.token)); w.Code != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, w.Code, c.want)
		}
	}
}

func TestTokensThatCantBeReadAreNoAnswer(t *testing.T) {
	p := policy()
	p.Mutate.Tokens = func() ([]string, error) { return nil, errors.New("no such file") }
	s := newSite(p)
	w := s.ask("GET", "/v1/partitions", bearer(reader))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "no such file") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(s.log.String(), "no such file") {
		t.Errorf("nothing is logged: %s", s.log.String())
	}
	if w := s.ask("GET", "/healthz", nil); w.Code != http.StatusTeapot {
		t.Errorf("a probe: %d", w.Code)
	}
}

func TestWithoutAPolicyEverybodyMay(t *testing.T) {
	if w := newSite(auth.Policy{}).ask("POST", "/v1/x", nil); w.Code != http.StatusTeapot {
		t.Errorf("%d", w.Code)
	}
}

// A token goes to the server that was named and to no other: redirects are not followed.
func TestClientLogsIn(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	var seen []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
	}))
	server.TLS = ca.Server(tls.NoClientCert)
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(ca.Certificate)
	token, failure := "one", error(nil)
	c := auth.Client{Token: func() (string, error) { return token, failure }, TLS: &tls.Config{RootCAs: roots}}.HTTP()
	defer c.CloseIdleConnections()
	get := func() error {
		response, err := c.Get(server.URL)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	for _, token = range []string{"one", "two", ""} {
		if err := get(); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(seen, "|"); got != "Bearer one|Bearer two|" {
		t.Errorf("the server saw %q", got)
	}
	if failure = errors.New("no such file"); !errors.Is(get(), failure) {
		t.Error("it goes on without a token")
	}
	response, err := (auth.Client{}).HTTP().Get(server.URL)
	if err == nil {
		_ = response.Body.Close()
		t.Error("a certificate of nobody known is taken")
	}
}
