package rest_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// viewing is a server that views the metadata partitions 3 and 7, with control on.
func viewing(f *fake) rest.Config {
	return rest.Config{Manager: controlled{f}, Views: tasks(3, 7), AllowControl: true}
}

func tasks(numbers ...int32) func() api.Status {
	return func() api.Status {
		s := api.Status{State: api.StateRunning}
		for _, n := range numbers {
			s.Partitions = append(s.Partitions, api.PartitionStatus{Freshness: api.Freshness{MetadataPartition: n, Applied: 4}, State: api.StateRunning, End: 5})
		}
		return s
	}
}

// The answers are Connect's.
func TestControl(t *testing.T) {
	const seven = "/v1/metadata-partitions/7/"
	for _, tt := range []struct {
		method, what string
		status       int
	}{{"PUT", "pause", 202}, {"PUT", "resume", 202}, {"POST", "restart", 204}, {"POST", "rebuild", 202}} {
		f := full()
		w := send(newHandler(viewing(f)), tt.method, seven+tt.what, "")
		diff(t, tt.what+" status", w.Code, tt.status)
		diff(t, tt.what+" body", w.Body.String(), "")
		diff(t, tt.what+" type", w.Header().Get("Content-Type"), "")
		diff(t, tt.what+" calls", f.calls, []string{tt.what + " 7"})

		cfg := viewing(f)
		cfg.AllowControl, cfg.AllowMutations = false, true
		checkError(t, send(newHandler(cfg), tt.method, seven+tt.what, ""), 403, "control_off")
		checkError(t, send(newHandler(viewing(f)), tt.method, seven+tt.what, "{}"), 400, "invalid_argument")
		checkError(t, send(newHandler(viewing(f)), tt.method, seven+tt.what+"?force", ""), 400, "invalid_argument")
		checkError(t, send(newHandler(viewing(f)), tt.method, "/v1/metadata-partitions/x/"+tt.what, ""), 400, "invalid_argument")
		checkError(t, send(newHandler(viewing(f)), "GET", seven+tt.what, ""), 405, "method_not_allowed")
		r := httptest.NewRequest(tt.method, seven+tt.what, http.NoBody)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		w = httptest.NewRecorder()
		newHandler(viewing(f)).ServeHTTP(w, r)
		checkError(t, w, 403, "cross_origin")
		diff(t, tt.what+" calls after refusals", len(f.calls), 1)
	}
}

// A group gives a processor its partitions: there is nothing to control, and that is said.
func TestNoControlOfAProcessor(t *testing.T) {
	h := newHandler(rest.Config{Processor: tasks(7), AllowControl: true})
	w := send(h, "PUT", "/v1/metadata-partitions/7/pause", "")
	checkError(t, w, 404, "not_found")
	if !strings.Contains(w.Body.String(), "the group gives a processor its metadata partitions") {
		t.Error(w.Body)
	}
	checkError(t, send(newHandler(rest.Config{AllowControl: true}), "PUT", "/v1/metadata-partitions/7/pause", ""), 404, "not_found")
}

func TestClientControls(t *testing.T) {
	controls := map[string]func(*rest.Client, context.Context, int32) error{
		"pause": (*rest.Client).Pause, "resume": (*rest.Client).Resume,
		"restart": (*rest.Client).Restart, "rebuild": (*rest.Client).Rebuild,
	}
	for name, control := range controls {
		f := full()
		c := connect(t, newHandler(viewing(f)))
		for _, want := range []error{
			nil, &api.PausedError{MetadataPartition: 7}, &api.BusyError{MetadataPartition: 7}, api.ErrClosed,
			&api.NotReadyError{MetadataPartition: 7, Applied: -1, Target: -1},
		} {
			f.err = want
			if got := control(c, t.Context(), 7); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
		}
		diff(t, name+" calls", f.calls[0], name+" 7")
		off := viewing(f)
		off.AllowControl = false
		refusal, ok := errors.AsType[*rest.Error](control(connect(t, newHandler(off)), t.Context(), 7))
		if !ok || refusal.Reason != "control_off" {
			t.Errorf("%s: got %v, want control_off", name, refusal)
		}
	}
}

// Each metadata partition shows who consumes it here.
func TestMetadataPartitions(t *testing.T) {
	cfg := viewing(full())
	cfg.Processor = tasks(9, 3)
	h := newHandler(cfg)
	task := func(id string) string {
		return `{"id":` + id + `,"state":"RUNNING","applied":4,"target":0,"end":5,"endSeenMs":0,"lag":0,"stalenessMs":0}`
	}
	three := `{"id":3,"views":` + task("3") + `,"processor":` + task("3") + `}` + "\n"
	diff(t, "list", send(h, "GET", "/v1/metadata-partitions", "").Body.String(), `{"metadataPartitions":[`+three+
		`,{"id":7,"views":`+task("7")+`}`+"\n"+`,{"id":9,"processor":`+task("9")+`}`+"\n]}\n")
	diff(t, "one", send(h, "GET", "/v1/metadata-partitions/3/status", "").Body.String(), three)
	checkError(t, send(h, "GET", "/v1/metadata-partitions/4/status", ""), 421, "not_assigned")
	checkError(t, send(h, "GET", "/v1/metadata-partitions/03/status", ""), 400, "invalid_argument")
	checkError(t, send(h, "GET", "/v1/metadata-partitions/3", ""), 404, "not_found")
	diff(t, "none", send(newHandler(rest.Config{Views: tasks()}), "GET", "/v1/metadata-partitions", "").Body.String(), `{"metadataPartitions":[]}`+"\n")

	c := connect(t, h)
	all, err := c.MetadataPartitions(t.Context())
	if err != nil || len(all) != 3 || all[0].Views == nil || all[0].Processor == nil || all[1].Processor != nil || all[2].Views != nil {
		t.Errorf("client: %+v, %v", all, err)
	}
	one, err := c.MetadataPartition(t.Context(), 9)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "client's", one, rest.MetadataPartition{ID: 9, Processor: &rest.Task{ID: 9, State: api.StateRunning, Applied: 4, End: 5}})
	if _, err = c.MetadataPartition(t.Context(), 4); !errors.Is(err, api.ErrNotAssigned) {
		t.Errorf("client: %v", err)
	}
}

func TestLoggers(t *testing.T) {
	root := new(slog.LevelVar)
	cfg := rest.Config{Loggers: rest.Loggers{"root": root}, AllowControl: true}
	h := newHandler(cfg)
	diff(t, "list", send(h, "GET", "/admin/loggers", "").Body.String(), `{"root":{"level":"INFO"}}`+"\n")
	w := send(h, "PUT", "/admin/loggers/root", `{"level":"debug"}`)
	diff(t, "answer", w.Body.String(), `["root"]`+"\n")
	diff(t, "level", root.Level(), slog.LevelDebug)
	for _, body := range []string{"", "{}", `{"level":"TRACE"}`, `{"level":"INFO+1"}`, `{"level":4}`, `{"level":null}`, `{"level":"INFO","for":"1h"}`} {
		checkError(t, send(h, "PUT", "/admin/loggers/root", body), 400, "invalid_argument")
	}
	checkError(t, send(h, "PUT", "/admin/loggers/kafka", `{"level":"INFO"}`), 404, "not_found")
	diff(t, "level after refusals", root.Level(), slog.LevelDebug)
	cfg.AllowControl = false
	checkError(t, send(newHandler(cfg), "PUT", "/admin/loggers/root", `{"level":"INFO"}`), 403, "control_off")
	checkError(t, send(newHandler(rest.Config{}), "GET", "/admin/loggers", ""), 404, "not_found")

	c := connect(t, h)
	if err := c.SetLogLevel(t.Context(), "root", slog.LevelError); err != nil {
		t.Error(err)
	}
	got, err := c.Loggers(t.Context())
	diff(t, "client's error", err, nil)
	diff(t, "client's", got, map[string]slog.Level{"root": slog.LevelError})
	if err := c.SetLogLevel(t.Context(), "kafka", slog.LevelInfo); err == nil {
		t.Error("a logger that isn't there was set")
	}
}
