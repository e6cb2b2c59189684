package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// statusServer is a server whose views and processor do as told.
func statusServer(t *testing.T, ready error) []string {
	t.Helper()
	views := api.Status{State: api.StateFailed, Partitions: []api.PartitionStatus{
		{
			Freshness: api.Freshness{MetadataPartition: 3, Applied: 41}, State: api.StateRunning,
			Target: 40, End: 42, EndSeen: time.UnixMilli(1580000000100),
		},
		{
			Freshness: api.Freshness{MetadataPartition: 4, Applied: 7, Staleness: 90 * time.Second}, State: api.StatePaused,
			Target: 7, End: 10, EndSeen: time.UnixMilli(1580000000100), Lag: 2,
		},
		{
			Freshness: api.Freshness{MetadataPartition: 12, Applied: -1, Staleness: 1500 * time.Millisecond}, State: api.StateFailed,
			Target: -1, End: -1, Err: errors.New("the topic was created again\nwith a stack"),
		},
	}}
	processor := api.Status{State: api.StateRecovering, Err: errors.New("not a member"), Partitions: []api.PartitionStatus{
		{Freshness: api.Freshness{MetadataPartition: 3, Applied: 41}, State: api.StateRunning, Target: -1, End: 42, EndSeen: time.UnixMilli(1580000000200)},
	}}
	server := httptest.NewServer(rest.NewHandler(rest.Config{
		Views: func() api.Status { return views }, Processor: func() api.Status { return processor },
		Ready: func(context.Context) error { return ready }, WorkerID: "host-1:8083",
	}))
	t.Cleanup(server.Close)
	return []string{"--server", server.URL}
}

func TestStatusTranscript(t *testing.T) {
	var all strings.Builder
	source := statusServer(t, nil)
	for _, line := range []string{"status", "lag -o wide", "status -o json", "status --no-headers", "status -o yaml", "status 3"} {
		all.WriteString(transcript(t, source, line))
	}
	notReady := errors.Join(&api.NotReadyError{MetadataPartition: 12, Assigned: true, Applied: -1, Target: -1}, &api.NotReadyError{MetadataPartition: 13})
	all.WriteString(transcript(t, statusServer(t, notReady), "status --no-headers"))
	all.WriteString(transcript(t, statusServer(t, errors.New("not a member of the group yet")), "status --no-headers"))
	golden(t, "status", all.String())
}

func TestStatusRefuses(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for line, want := range map[string]int{
		"status": exitUsage, "status --server localhost": exitUsage, "status --server http://a --bootstrap b:1": exitUsage,
		"status --server " + gone.URL: exitFailure,
	} {
		if got := execute(t, "", strings.Fields(line)...); got.code != want || got.out != "" {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

// statusRows are the rows of a run by metadata partition, of one consumer.
func statusRows(t *testing.T, consumer string, args ...string) (rows []statusRow, code int) {
	t.Helper()
	got := execute(t, "", append([]string{"status", "-o", "json"}, args...)...)
	for line := range strings.Lines(got.out) {
		var row statusRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if row.Consumer == consumer {
			rows = append(rows, row)
		}
	}
	return rows, got.code
}

// places are what all must agree on.
func places(rows []statusRow) string {
	var all strings.Builder
	for _, r := range rows {
		fmt.Fprintln(&all, r.MetadataPartition, r.State, r.Applied, r.End, r.Lag)
	}
	return all.String()
}

// A server, its processor and Kafka itself tell the same; a fleet that isn't there shows.
func TestStatusOfARun(t *testing.T) {
	data := t.TempDir()
	dev, base, kafka := devRun(t, data)
	fleet, code := statusRows(t, "fleet", "--bootstrap", kafka)
	if len(fleet) != 50 || code != 0 {
		t.Fatalf("%d rows, exit %d", len(fleet), code)
	}
	var applied int64
	for _, r := range fleet {
		applied += r.Applied + 1
	}
	if applied != 896 {
		t.Errorf("%d records are applied, not 896", applied)
	}
	// The ends that server and processor have seen come every few seconds.
	for _, consumer := range []string{"views", "processor"} {
		deadline := time.After(patience)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for want := places(fleet); ; {
			rows, code := statusRows(t, consumer, "--server", base)
			diff := cmp.Diff(want, places(rows))
			if diff == "" && code == 0 {
				break
			}
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("%s: exit %d\n%s", consumer, code, diff)
			}
		}
	}
	if code := dev.stop(t); code != 0 {
		t.Fatalf("exit %d", code)
	}
}
