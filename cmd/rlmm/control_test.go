package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/processor"
)

// An operator pauses, resumes, restarts and rebuilds a metadata partition of a run, and
// sets its log level.
func TestControlOfARun(t *testing.T) {
	dev, base, _ := devRun(t, t.TempDir())
	c, err := rest.NewClient(base, nil)
	if err != nil {
		t.Fatal(err)
	}
	tip := api.TopicIdPartition{Partition: 0}
	if tip.TopicID, err = api.ParseUUID("UpZHhnEzQuGqT8T9QFvE9w"); err != nil {
		t.Fatal(err)
	}
	const number = 45
	state := func() api.State {
		t.Helper()
		p, err := c.MetadataPartition(t.Context(), number)
		if err != nil || p.Views == nil || p.Processor == nil || !strings.HasPrefix(base, "http://"+p.Views.WorkerID) {
			t.Fatalf("%+v, %v", p, err)
		}
		return p.Views.State
	}
	check := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	size := func() error {
		_, err := c.RemoteLogSize(t.Context(), tip, 0)
		return err
	}
	check("pause", c.Pause(t.Context(), number), nil)
	if got := state(); got != api.StatePaused {
		t.Errorf("paused: %s", got)
	}
	check("a read", size(), nil)
	check("ready", c.Ready(t.Context()), nil)
	check("restart of what is paused", c.Restart(t.Context(), number), api.ErrPaused)
	status, answer := request(t, http.MethodPost, base+"/v1/partitions/UpZHhnEzQuGqT8T9QFvE9w/0/segments", newSegmentJSON)
	if status != http.StatusConflict || answer["reason"] != "paused" {
		t.Errorf("a mutation of what is paused: %d %v", status, answer)
	}
	check("resume", c.Resume(t.Context(), number), nil)
	check("restart", c.Restart(t.Context(), number), nil)
	check("a read", size(), nil)
	check("rebuild", c.Rebuild(t.Context(), number), nil)
	for err := size(); err != nil; err = size() {
		check("a read of what is rebuilt", err, api.ErrNotReady)
	}
	if status, answer = request(t, http.MethodPost, base+"/v1/partitions/UpZHhnEzQuGqT8T9QFvE9w/0/segments", newSegmentJSON); status != http.StatusCreated {
		t.Errorf("a mutation of what is rebuilt: %d %v", status, answer)
	}
	check("of another number", c.Pause(t.Context(), 50), api.ErrNotAssigned)

	check("level", c.SetLogLevel(t.Context(), "root", slog.LevelDebug), nil)
	check("pause again", c.Pause(t.Context(), 50), api.ErrNotAssigned)
	dev.err.await(t, "level=DEBUG")
}

// Who doesn't ask for control doesn't get it, and a processor has none but of its log.
func TestControlIsOff(t *testing.T) {
	log, level := slog.New(slog.DiscardHandler), new(slog.LevelVar)
	p, err := processor.New(processor.Config{Kafka: kafka.Settings{Bootstrap: []string{"127.0.0.1:1"}}, DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	cfg := processorAPI(p, log, level)
	for _, tt := range []struct {
		allow  bool
		target string
		status int
	}{
		{false, "/admin/loggers/root", http.StatusForbidden},
		{true, "/admin/loggers/root", http.StatusOK},
		{true, "/v1/metadata-partitions/0/pause", http.StatusNotFound},
	} {
		cfg.AllowControl = tt.allow
		w := httptest.NewRecorder()
		rest.NewHandler(cfg).ServeHTTP(w, httptest.NewRequest(http.MethodPut, tt.target, strings.NewReader(`{"level":"WARN"}`)))
		if w.Code != tt.status {
			t.Errorf("%s: %d %s", tt.target, w.Code, w.Body)
		}
	}
	if level.Level() != slog.LevelWarn {
		t.Errorf("level %s", level)
	}
}

func TestWorkerID(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[net.Addr]string{
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8083}: "127.0.0.1:8083",
		&net.TCPAddr{IP: net.IPv6unspecified, Port: 8083}:    net.JoinHostPort(host, "8083"),
		&net.UnixAddr{Name: "/run/rlmm"}:                     "/run/rlmm",
	} {
		if got := workerID(addr); got != want {
			t.Errorf("%v: %q, want %q", addr, got, want)
		}
	}
}
