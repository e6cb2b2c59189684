package rest

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"sync/atomic"

	"github.com/tieredlog/rlmm/api"
)

// DefaultMaxBodyBytes is the greatest request body unless the [Config] says
// otherwise. It holds a segment as large as Kafka's greatest record by default
// (1 MiB), whose custom metadata grows by a third in base64.
const DefaultMaxBodyBytes = 2 << 20

// retryAfter is the Retry-After of every 503, in seconds: most last as long as a
// rebalance or a catch-up does.
const retryAfter = "1"

// Config is what [NewHandler] serves.
type Config struct {
	// Manager answers the queries and publishes the mutations. One that is an
	// [api.SegmentIterator] too is spared long lists; one that is an
	// [api.FreshnessReporter] has each read's answer say how fresh it is; one that is an
	// [api.Controller] can be paused, resumed, restarted and rebuilt. Without a manager
	// there are only the routes of the process itself. An empty
	// topic name in what it is given means that the request didn't name it; the
	// manager completes it from what it knows.
	Manager api.RemoteLogMetadataManager
	// Partitions lists the partitions that this server's assignment covers and that
	// have something stored, in the order in which they are shown. Nil is none.
	Partitions func(context.Context) ([]Partition, error)
	// Rows iterates over the rows of the partitions that this server's assignment covers,
	// those that the filter takes, and ends with the first error. Without one there is no
	// GET /v1/rows.
	Rows func(context.Context, RowFilter) iter.Seq2[Row, error]
	// Ready returns why the server isn't ready, nil when it is. An error that joins
	// several ([errors.Join]) is shown one by one. A nil func is always ready.
	Ready func(context.Context) error
	// Views and Processor tell how what this process runs does, for /v1/status and
	// /v1/metadata-partitions; nil is none. Without either there are no such paths.
	Views, Processor func() api.Status
	// WorkerID is where this process is reached, host:port, for those who look at several.
	WorkerID string
	// Loggers are shown and set under /admin/loggers. Without any there is no such path.
	Loggers Loggers
	// Metrics serves GET /metrics. Without one there is no such path.
	Metrics http.Handler
	// Info is the answer of GET /; nil is an empty one.
	Info func() Info
	// AllowMutations lets POST, PATCH and PUT through; else they are 403.
	AllowMutations bool
	// AllowControl lets the requests of an [api.Controller], and levels of loggers,
	// through; else they are 403.
	AllowControl bool
	// Logger gets what fails here: panics and unexpected errors as errors, failures of
	// Kafka or the store as warnings, all else that isn't 2xx at debug level. Nil logs
	// nothing.
	Logger *slog.Logger
	// MaxBodyBytes is the greatest request body in bytes; zero or less is
	// [DefaultMaxBodyBytes].
	MaxBodyBytes int64
}

type handler struct {
	Config
	mux         *http.ServeMux
	crossOrigin *http.CrossOriginProtection
	patterns    []string // of the mux
	started     atomic.Bool
}

// NewHandler returns the API's handler. It may be mounted under a prefix with
// [http.StripPrefix].
//
// What changes something and a browser sends from another site's page is 403 too, so that no web
// page can reach a server on the loopback address.
func NewHandler(cfg Config) http.Handler {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxBodyBytes <= 0 {
		cfg.MaxBodyBytes = DefaultMaxBodyBytes
	}
	h := &handler{Config: cfg, mux: http.NewServeMux(), crossOrigin: http.NewCrossOriginProtection()}
	h.routes()
	return h
}

func (h *handler) routes() {
	const partition = "/v1/partitions/{topicId}/{partition}"
	h.get("/{$}", h.info)
	h.routeProbes()
	if h.Metrics != nil {
		h.route("GET /metrics", h.Metrics.ServeHTTP)
	}
	h.route("GET /v1/openapi.yaml", serveDocument)
	h.routeStatus()
	h.routeLoggers()
	if h.Manager == nil {
		return
	}
	h.get("/v1/partitions", h.partitions)
	if h.Rows != nil {
		h.get("/v1/rows", h.rows)
	}
	h.read(partition+"/segment", h.segment)
	h.read(partition+"/segments", h.segments)
	h.read(partition+"/highest-offset", h.highestOffset)
	h.read(partition+"/size", h.size)
	h.read(partition+"/next-txn-segment", h.nextTxnSegment)
	h.read(partition+"/caught-up", h.caughtUp)
	h.mutation("POST "+partition+"/segments", http.StatusCreated, h.addSegment)
	h.mutation("PATCH "+partition+"/segments/{segmentId}", http.StatusOK, h.updateSegment)
	h.mutation("PUT "+partition+"/delete-state", http.StatusOK, h.putDeleteState)
}

func (h *handler) route(pattern string, serve http.HandlerFunc) {
	h.patterns = append(h.patterns, pattern)
	h.mux.HandleFunc(pattern, serve)
}

// get serves a question whose answer is a JSON value or a [list].
func (h *handler) get(pattern string, answer func(*http.Request) (any, error)) {
	h.route("GET "+pattern, h.answer(answer))
}

// read serves a read of a partition, and says how fresh the answer is.
func (h *handler) read(pattern string, read func(*http.Request) (any, error)) {
	answer := h.answer(read)
	h.route("GET "+pattern, func(w http.ResponseWriter, r *http.Request) {
		h.tellFreshness(w, r)
		answer(w, r)
	})
}

func (h *handler) answer(answer func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := answer(r)
		if err == nil {
			err = send(w, r, v)
		}
		if err != nil {
			h.fail(w, r, api.NotPublished, err)
		}
	}
}

// send answers with a JSON value or a [list]; after an error nothing is sent yet.
func send(w http.ResponseWriter, r *http.Request, v any) error {
	if l, ok := v.(list); ok {
		return l.write(w, r)
	}
	write(w, http.StatusOK, v)
	return nil
}

// ServeHTTP answers one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := &answerWriter{ResponseWriter: w}
	defer h.recover(answer, r)
	if err := h.unrouted(answer, r); err != nil {
		h.fail(answer, r, api.NotPublished, err)
		return
	}
	h.mux.ServeHTTP(answer, r)
}

// unrouted is the error of a request that has no route, in place of the mux's plain
// text. A path that isn't clean has none: the mux would redirect it.
func (h *handler) unrouted(w http.ResponseWriter, r *http.Request) error {
	notFound := &Error{Code: http.StatusNotFound, Message: "no such path: " + r.URL.Path, Reason: reasonNotFound}
	if r.URL.Path != path.Clean(r.URL.Path) {
		return notFound
	}
	muxAnswer, pattern := h.mux.Handler(r)
	if pattern != "" {
		return nil
	}
	probe := &probeWriter{header: http.Header{}}
	muxAnswer.ServeHTTP(probe, r)
	if probe.code != http.StatusMethodNotAllowed {
		return notFound
	}
	w.Header()["Allow"] = probe.header["Allow"]
	return &Error{Code: probe.code, Message: "method not allowed here: " + r.Method, Reason: reasonMethodNotAllowed}
}

// fail answers with an error. pos is where a mutation's event was published, if it was.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, pos api.Position, err error) {
	e := newError(err)
	if pos.Offset >= 0 {
		e.setPosition(pos)
	}
	h.log(r, e)
	WriteError(w, e)
}

// log minds who is at fault: nobody when the client went away.
func (h *handler) log(r *http.Request, e *Error) {
	level := slog.LevelDebug
	switch {
	case r.Context().Err() != nil:
	case e.Code == http.StatusInternalServerError:
		level = slog.LevelError
	case e.Code == http.StatusBadGateway:
		level = slog.LevelWarn
	}
	h.Logger.LogAttrs(r.Context(), level, "request failed",
		slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.Int("status", e.Code), slog.String("reason", e.Reason), slog.String("error", e.Message))
}

// recover turns a panic into a 500, or cuts the connection when the answer has begun.
func (h *handler) recover(w *answerWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	h.Logger.LogAttrs(r.Context(), slog.LevelError, "request panicked",
		slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	write(w, http.StatusInternalServerError, &Error{
		Code: http.StatusInternalServerError, Message: "internal error", Reason: reasonInternal,
	})
}
