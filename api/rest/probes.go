package rest

import (
	"context"
	"fmt"
	"net/http"

	"github.com/tieredlog/rlmm/api"
)

// checks is the answer of /readyz?verbose.
type checks struct {
	Status string  `json:"status"`
	Checks []check `json:"checks"`
}

// check is one of those that /readyz?verbose shows: the whole, a consumer, or one of its
// metadata partitions.
type check struct {
	Name  string    `json:"name"`
	OK    bool      `json:"ok"`
	State api.State `json:"state,omitempty"`
	Error string    `json:"error,omitempty"`
}

func (h *handler) routeProbes() {
	h.get("/healthz", h.healthz)
	h.route("GET /readyz", h.readyz)
	h.get("/startupz", h.startupz)
}

func (h *handler) healthz(*http.Request) (any, error) { return health{"ok"}, nil }

// readyz shows every check with ?verbose, those that found nothing too.
func (h *handler) readyz(w http.ResponseWriter, r *http.Request) {
	if !r.URL.Query().Has("verbose") {
		h.answer(h.whetherReady)(w, r)
		return
	}
	err := h.ready(r.Context())
	answer, code := checks{"ok", h.checks(err)}, http.StatusOK
	if err != nil {
		answer.Status, code = "not ready", http.StatusServiceUnavailable
		w.Header().Set("Retry-After", retryAfter)
	}
	write(w, code, answer)
}

// startupz answers as /readyz does until the server is ready when it is asked, and is 200 from
// then on.
func (h *handler) startupz(r *http.Request) (any, error) {
	if h.started.Load() {
		return h.healthz(r)
	}
	answer, err := h.whetherReady(r)
	h.started.Store(err == nil)
	return answer, err
}

func (h *handler) whetherReady(r *http.Request) (any, error) {
	if err := h.ready(r.Context()); err != nil {
		return nil, NotReady(err)
	}
	return health{"ok"}, nil
}

func (h *handler) ready(ctx context.Context) error {
	if h.Ready == nil {
		return nil
	}
	return h.Ready(ctx)
}

func (h *handler) checks(err error) []check {
	all := []check{{Name: "ready", OK: err == nil, Error: text(err)}}
	if h.Processor != nil {
		all = append(all, consumerChecks("processor", h.Processor())...)
	}
	if h.Views != nil {
		all = append(all, consumerChecks("views", h.Views())...)
	}
	return all
}

func consumerChecks(consumer string, s api.Status) []check {
	all := []check{{Name: consumer, OK: s.State == api.StateRunning, State: s.State, Error: text(s.Err)}}
	for _, p := range s.Partitions {
		name := fmt.Sprintf("%s, metadata partition %d", consumer, p.MetadataPartition)
		all = append(all, check{Name: name, OK: p.State == api.StateRunning, State: p.State, Error: text(p.Err)})
	}
	return all
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
