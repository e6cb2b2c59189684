package rest_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// The startup probe follows readiness up to its first success, and no further.
func TestStartupIsReadinessUntilItWas(t *testing.T) {
	notYet := errors.New("not yet")
	err := notYet
	h := newHandler(rest.Config{Ready: func(context.Context) error { return err }})
	checkError(t, send(h, "GET", "/startupz", ""), 503, "not_ready")
	err = nil
	diff(t, "ready", send(h, "GET", "/startupz", "").Body.String(), `{"status":"ok"}`+"\n")
	err = notYet
	checkError(t, send(h, "GET", "/readyz", ""), 503, "not_ready")
	diff(t, "not ready any more", send(h, "GET", "/startupz", "").Code, http.StatusOK)
}

func TestVerboseReadinessShowsEveryCheck(t *testing.T) {
	cfg := everything(full())
	cfg.Ready = func(context.Context) error { return errors.New("not yet") }
	cfg.Processor = func() api.Status { return api.Status{State: api.StateRunning} }
	w := send(newHandler(cfg), "GET", "/readyz?verbose", "")
	diff(t, "status", w.Code, http.StatusServiceUnavailable)
	diff(t, "Retry-After", w.Header().Get("Retry-After"), "1")
	diff(t, "Cache-Control", w.Header().Get("Cache-Control"), "no-store")
	diff(t, "body", w.Body.String(), `{"status":"not ready","checks":[{"name":"ready","ok":false,"error":"not yet"},`+
		`{"name":"processor","ok":true,"state":"RUNNING"},{"name":"views","ok":false,"state":"PAUSED"},`+
		`{"name":"views, metadata partition 7","ok":false,"state":"PAUSED"}]}`+"\n")
}

// What is true of the other paths is true of these: HEAD is answered where GET is, nothing else is.
func TestProbesAndMetricsAreForGetAndHeadAlone(t *testing.T) {
	h := newHandler(everything(full()))
	for _, path := range []string{"/healthz", "/readyz", "/readyz?verbose", "/startupz", "/metrics"} {
		diff(t, "HEAD "+path, send(h, "HEAD", path, "").Code, http.StatusOK)
		checkError(t, send(h, "POST", path, ""), http.StatusMethodNotAllowed, "method_not_allowed")
	}
}
