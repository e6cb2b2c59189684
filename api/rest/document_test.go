package rest_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// controlled is a fake that can be controlled.
type controlled struct{ *fake }

func (c controlled) Pause(ctx context.Context, n int32) error {
	c.called(ctx, "pause", n)
	return c.err
}

func (c controlled) Resume(ctx context.Context, n int32) error {
	c.called(ctx, "resume", n)
	return c.err
}

func (c controlled) Restart(ctx context.Context, n int32) error {
	c.called(ctx, "restart", n)
	return c.err
}

func (c controlled) Rebuild(ctx context.Context, n int32) error {
	c.called(ctx, "rebuild", n)
	return c.err
}

// everything is a server that runs all there is.
func everything(f *fake) rest.Config {
	seven := func() api.Status {
		return api.Status{State: api.StatePaused, Partitions: []api.PartitionStatus{
			{Freshness: api.Freshness{MetadataPartition: 7, Applied: 41}, State: api.StatePaused, Target: -1, End: -1},
		}}
	}
	return rest.Config{
		Manager: controlled{f}, Views: seven, Processor: seven, WorkerID: "host-1:8083",
		Partitions: func(context.Context) ([]rest.Partition, error) { return []rest.Partition{{Topic: "orders"}}, f.err },
		Rows: func(context.Context, rest.RowFilter) iter.Seq2[rest.Row, error] {
			return func(yield func(rest.Row, error) bool) {
				if f.err != nil {
					yield(rest.Row{}, f.err)
					return
				}
				for _, row := range tableRows() {
					if !yield(row, nil) {
						return
					}
				}
			}
		},
		Ready: func(context.Context) error { return f.err },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			_, _ = io.WriteString(w, "rlmm_ready 1\n") // the client is gone when this fails
		}),
		Loggers: rest.Loggers{"root": new(slog.LevelVar)}, AllowMutations: true, AllowControl: true, MaxBodyBytes: 4096,
	}
}

// requests are a request of each operation that is carried out, by its id.
func requests() map[string]*http.Request {
	get := func(target string) *http.Request { return httptest.NewRequest("GET", target, http.NoBody) }
	of := func(method, target, body string) *http.Request {
		return httptest.NewRequest(method, target, strings.NewReader(body))
	}
	const seven = "/v1/metadata-partitions/7"
	return map[string]*http.Request{
		"getInfo": get("/"), "getHealth": get("/healthz"), "getReadiness": get("/readyz"), "getStartup": get("/startupz"), "getMetrics": get("/metrics"),
		"getDocument": get("/v1/openapi.yaml"),
		"getStatus":   get("/v1/status"), "listMetadataPartitions": get("/v1/metadata-partitions"), "getMetadataPartition": get(seven + "/status"),
		"pause": of("PUT", seven+"/pause", ""), "resume": of("PUT", seven+"/resume", ""),
		"restart": of("POST", seven+"/restart", ""), "rebuild": of("POST", seven+"/rebuild", ""),
		"listLoggers": get("/admin/loggers"), "setLogLevel": of("PUT", "/admin/loggers/root", `{"level":"DEBUG"}`),
		"listPartitions": get("/v1/partitions"), "listRows": get("/v1/rows"),
		"getSegment": get(base + "/segment?epoch=4&offset=200"), "listSegments": get(base + "/segments"),
		"getHighestOffset": get(base + "/highest-offset?epoch=4"), "getSize": get(base + "/size?epoch=4"),
		"getNextTxnSegment": get(base + "/next-txn-segment?epoch=4&offset=0"), "getCaughtUp": get(base + "/caught-up"),
		"addSegment": of("POST", base+"/segments", addBody), "updateSegment": of("PATCH", base+"/segments/"+segmentID.String(), updateBody),
		"putDeleteState": of("PUT", base+"/delete-state", deleteBody),
	}
}

// errorsOf are what a manager may return for the operations of a tag.
func errorsOf(tag, id string) []error {
	notReady, notAssigned := &api.NotReadyError{MetadataPartition: 7, Assigned: true}, &api.NotReadyError{MetadataPartition: 7}
	broken := &api.IOError{Op: "read", Err: errors.New("broken")}
	switch {
	case id == "getReadiness" || id == "getStartup" || id == "listPartitions" || id == "listRows":
		return []error{notReady, broken}
	case tag == "Queries":
		return []error{notReady, notAssigned, broken}
	case tag == "Mutations":
		refused := map[string][]error{
			"addSegment":     {&api.InvalidAddError{ID: sample().ID, Known: new(sample())}},
			"updateSegment":  {&api.SegmentNotFoundError{ID: sample().ID}, &api.InvalidSegmentTransitionError{ID: sample().ID}},
			"putDeleteState": {&api.InvalidPartitionDeleteTransitionError{TopicIdPartition: named}},
		}
		return append(refused[id], notReady, notAssigned, broken, api.ErrClosed, &api.PausedError{MetadataPartition: 7},
			&api.TimeoutError{Err: api.ErrNoProgress}, &api.OutcomeUnknownError{}, &api.UnacknowledgedError{Op: "publish", Err: api.ErrClosed})
	case id == "rebuild":
		return []error{&api.BusyError{MetadataPartition: 7}, notAssigned, api.ErrClosed, broken}
	case tag == "Control" && !strings.HasSuffix(id, "LogLevel") && !strings.HasSuffix(id, "Loggers"):
		return []error{&api.BusyError{MetadataPartition: 7}, &api.PausedError{MetadataPartition: 7}, notAssigned, api.ErrClosed}
	}
	return nil
}

// Every status of every operation in the document is what a real call gives, and no call
// gives another. That the bodies are as in the document newHandler minds.
func TestDocumentHasEveryStatus(t *testing.T) {
	for pattern, o := range operations(document()) {
		got := map[int]bool{}
		call := func(cfg rest.Config, change ...func(*http.Request)) {
			t.Helper()
			r := requests()[o.OperationID]
			if r == nil {
				t.Fatalf("no request for %s", o.OperationID)
			}
			for _, f := range change {
				f(r)
			}
			if called, ok := operationOf(r); !ok || called.pattern() != pattern {
				t.Fatalf("%s %s isn't %s", r.Method, r.URL, pattern)
			}
			w := httptest.NewRecorder()
			newHandler(cfg).ServeHTTP(w, r)
			got[w.Code] = true
		}
		call(everything(full()))
		call(everything(&fake{}))
		for _, err := range errorsOf(o.Tags[0], o.OperationID) {
			f := full()
			f.err, f.pos = err, api.NotPublished
			call(everything(f))
		}
		off := everything(full())
		off.AllowMutations, off.AllowControl = false, false
		call(off)
		loner := everything(full())
		loner.Manager = full() // not a Controller
		call(loner)
		call(everything(full()), func(r *http.Request) { r.URL.RawQuery += "&surplus=1" })
		call(everything(full()), func(r *http.Request) { r.Header.Set("Accept", "text/html") })
		call(everything(full()), func(r *http.Request) { r.Header.Set("Accept", "application/x-ndjson") })
		if o.method != http.MethodGet {
			call(everything(full()), func(r *http.Request) {
				r.Body = http.NoBody
				*r = *httptest.NewRequest(r.Method, r.URL.String(), strings.NewReader(strings.Repeat(" ", 5000)))
			})
		}
		if r := requests()[o.OperationID]; strings.Contains(pattern, "{name}") || o.OperationID == "getMetadataPartition" {
			other := strings.NewReplacer("/7/", "/8/", "root", "unknown").Replace(r.URL.Path)
			call(everything(full()), func(r *http.Request) { r.URL.Path = other })
		}
		var want []int
		for status := range o.Responses.Map() {
			if code, err := strconv.Atoi(status); err == nil {
				want = append(want, code)
			}
		}
		slices.Sort(want)
		var have []int
		for code := range got {
			have = append(have, code)
		}
		slices.Sort(have)
		diff(t, pattern, have, want)
	}
}

func TestDocumentIsServed(t *testing.T) {
	w := send(newHandler(rest.Config{}), "GET", "/v1/openapi.yaml", "")
	diff(t, "status", w.Code, 200)
	diff(t, "type", w.Header().Get("Content-Type"), "application/yaml")
	diff(t, "body", w.Body.String(), string(rest.OpenAPI()))
}
