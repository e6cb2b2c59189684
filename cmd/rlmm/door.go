package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/tieredlog/rlmm/api/rest"
)

// door is the handler of a server that has yet to find its cluster. Until it is opened it
// answers what it can about the process; all else is 503, and so is /readyz, with why.
type door struct {
	waiting http.Handler
	opened  atomic.Pointer[http.Handler]
	why     atomic.Pointer[error]
}

// withoutManager are the paths that a process answers without a manager.
var withoutManager = []string{"/", "/healthz", "/readyz", "/startupz", "/metrics", "/v1/openapi.yaml", "/admin/loggers", "/admin/loggers/root"}

// newDoor returns a door that is closed. cfg is without a manager; its Ready is the door's.
func newDoor(cfg rest.Config, m monitor) *door {
	d := new(door)
	cfg.Ready = func(context.Context) error { return d.reason() }
	d.waiting = m.handler(cfg)
	return d
}

// tell says why it isn't opened yet.
func (d *door) tell(why error) { d.why.Store(&why) }

// open lets all further requests through to h.
func (d *door) open(h http.Handler) { d.opened.Store(&h) }

func (d *door) reason() error {
	if why := d.why.Load(); why != nil {
		return *why
	}
	return errNotConnected
}

// ServeHTTP answers one request.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch h := d.opened.Load(); {
	case h != nil:
		(*h).ServeHTTP(w, r)
	case slices.Contains(withoutManager, r.URL.Path):
		d.waiting.ServeHTTP(w, r)
	default:
		rest.WriteError(w, rest.NotReady(d.reason()))
	}
}

var errNotConnected = errors.New("not connected to the cluster yet")
