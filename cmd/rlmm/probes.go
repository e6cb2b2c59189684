package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// startupProbe is /startupz: it answers as /readyz does until that is 200 for the first time,
// and with 200 from then on.
type startupProbe struct {
	ready   func(context.Context) error
	inner   http.Handler
	started atomic.Bool
}

// ServeHTTP implements [http.Handler].
func (s *startupProbe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.ready(r.Context()) == nil {
		s.started.Store(true)
	}
	path := "/readyz"
	if s.started.Load() {
		path = "/healthz"
	}
	as := r.Clone(r.Context())
	as.URL = &url.URL{Path: path}
	s.inner.ServeHTTP(w, as)
}

// readinessProbe is /readyz; with ?verbose it shows every check, those that found nothing too.
type readinessProbe struct {
	cfg   rest.Config
	inner http.Handler
}

// probeCheck is one of those that /readyz?verbose shows: the whole, and each metadata partition.
type probeCheck struct {
	Name  string    `json:"name"`
	OK    bool      `json:"ok"`
	State api.State `json:"state,omitempty"`
	Error string    `json:"error,omitempty"`
}

// ServeHTTP implements [http.Handler].
func (h readinessProbe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !r.URL.Query().Has("verbose") {
		h.inner.ServeHTTP(w, r)
		return
	}
	err := h.cfg.Ready(r.Context())
	status, code := "ok", http.StatusOK
	if err != nil {
		status, code = "not ready", http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(struct { // nobody is left to be told
		Status string       `json:"status"`
		Checks []probeCheck `json:"checks"`
	}{status, h.checks(err)})
}

func (h readinessProbe) checks(err error) []probeCheck {
	checks := []probeCheck{{Name: "ready", OK: err == nil, Error: text(err)}}
	for _, of := range []struct {
		name   string
		status func() api.Status
	}{{"processor", h.cfg.Processor}, {"views", h.cfg.Views}} {
		if of.status != nil {
			checks = append(checks, statusChecks(of.name, of.status())...)
		}
	}
	return checks
}

func statusChecks(consumer string, s api.Status) []probeCheck {
	checks := []probeCheck{{Name: consumer, OK: s.State == api.StateRunning, State: s.State, Error: text(s.Err)}}
	for _, p := range s.Partitions {
		name := fmt.Sprintf("%s, metadata partition %d", consumer, p.MetadataPartition)
		checks = append(checks, probeCheck{Name: name, OK: p.State == api.StateRunning, State: p.State, Error: text(p.Err)})
	}
	return checks
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
