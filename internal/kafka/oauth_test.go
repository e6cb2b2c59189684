package kafka

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/internal/secret"
)

func oauth(options, endpoint string) SASL {
	return SASL{Mechanism: "OAUTHBEARER", JAAS: secret.Text("OAuthBearerLoginModule required " + options + ";"), TokenEndpoint: endpoint}
}

// takesTokens starts a broker that logs in by OAUTHBEARER, which kfake can't by itself, and
// tells what clients send.
func takesTokens(t *testing.T) (c *kfake.Cluster, sent *atomic.Value) {
	t.Helper()
	c, sent = secured(t), new(atomic.Value)
	c.ControlKey(int16(kmsg.SASLHandshake), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return req.ResponseKind(), nil, true
	})
	c.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		sent.Store(string(req.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes))
		return req.ResponseKind(), nil, true
	})
	return c, sent
}

// tokenServer grants tokens to the client "id" with the password.
func tokenServer(t *testing.T) (url string, granted *atomic.Int32) {
	t.Helper()
	granted = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		id, secret, _ := r.BasicAuth()
		if id != "id" || secret != "right" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "kafka" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":"invalid_client","error_description":"%s"}`, secret)
			return
		}
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"bearer","expires_in":3600}`, granted.Add(1))
	}))
	t.Cleanup(s.Close)
	return s.URL, granted
}

func TestOAuthBearerSendsATokenOfEachSource(t *testing.T) {
	c, sent := takesTokens(t)
	server, granted := tokenServer(t)
	file := filepath.Join(t.TempDir(), "token")
	noError(t, os.WriteFile(file, []byte("from-file\n"), 0o600))
	for _, tc := range []struct {
		sasl SASL
		want []string
	}{
		{oauth(`clientId=id clientSecret=right scope=kafka extension_logicalCluster=lc`, server), []string{"auth=Bearer token-1", "logicalCluster=lc"}},
		{oauth(``, "file://"+file), []string{"auth=Bearer from-file"}},
		{oauth(`unsecuredLoginStringClaim_sub=alice`, ""), []string{"auth=Bearer eyJhbGciOiJub25lIn0."}},
	} {
		noError(t, Settings{Bootstrap: c.ListenAddrs(), Security: Security{Protocol: SASLPlaintext, SASL: tc.sasl}}.Validate())
		noError(t, tryConnect(t, c, Security{Protocol: SASLPlaintext, SASL: tc.sasl}))
		for _, part := range tc.want {
			if got := sent.Load().(string); !strings.Contains(got, part) {
				t.Errorf("%q is without %q", got, part)
			}
		}
	}
	if n := granted.Load(); n != 1 {
		t.Errorf("%d tokens for one client: a token is kept until it expires", n)
	}
}

func TestATokenFileIsReadForEachLogIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	p := newTokenProvider(oauth(``, "file://"+file))
	_, err := p.Token()
	wantRefused(t, err, file)
	for _, want := range []string{"one", "two"} {
		noError(t, os.WriteFile(file, []byte(want), 0o600))
		token, err := p.Token()
		noError(t, err)
		wantSame(t, "token", want, token.Token)
	}
}

func TestARefusedTokenSaysWhoRefusesAndShowsNoSecret(t *testing.T) {
	server, _ := tokenServer(t)
	_, err := newTokenProvider(oauth(`clientId=id clientSecret=hunter2 scope=kafka`, server)).Token()
	wantRefused(t, err, server, "401", "invalid_client")
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the secret is shown: %v", err)
	}
}

func TestOAuthFaultsAreNamed(t *testing.T) {
	for _, c := range []struct {
		sasl SASL
		want string
	}{
		{oauth(``, ""), "unsecuredLoginStringClaim_sub is missing"},
		{oauth(`clientId=id`, "https://h/token"), "clientSecret is missing"},
		{oauth(``, "ftp://h/token"), "sasl.oauthbearer.token.endpoint.url"},
		{oauth(``, "://"), "sasl.oauthbearer.token.endpoint.url"},
	} {
		wantRefused(t, Security{Protocol: SASLPlaintext, SASL: c.sasl}.Validate(), c.want)
	}
}
