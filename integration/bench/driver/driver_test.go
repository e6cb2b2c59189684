package main

import (
	"bytes"
	"encoding/json"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/integration/bench"
	"github.com/tieredlog/rlmm/internal/recording"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
)

func TestMain(m *testing.M) { rlmmtest.VerifyNoLeaks(m) }

// The workload of the tests: two partitions of so many segments.
const (
	testSeed     = 3
	testSegments = 200
)

// world is an embedded broker with a fleet, the workload of the queries and, with the
// next seed, that of look-ups.
func world(t *testing.T) *rlmmtest.Cluster {
	t.Helper()
	c := rlmmtest.NewCluster(t, bench.MetadataPartitions)
	c.CreateTopics()
	c.StartProcessor()
	c.Publish(finished(t, bench.QuerySegments(testSeed, testSegments))...)
	c.Publish(finished(t, bench.Segments(testSeed+1, 2, testSegments))...)
	return c
}

func finished(t *testing.T, segments iter.Seq[api.RemoteLogSegmentMetadata]) []recording.Event {
	t.Helper()
	var records []recording.Event
	for e, err := range bench.Finished(segments) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, e)
	}
	return records
}

func requestFor(t *testing.T, c *rlmmtest.Cluster, kind string) bench.Request {
	t.Helper()
	return bench.Request{
		Kind: kind, Bootstrap: c.Settings.Bootstrap[0], Topic: rlmmtest.MetadataTopic, Group: "rlmm", Data: t.TempDir(),
		Seed: testSeed, UserPartitions: 2, Segments: testSegments, InFlight: 1, WarmUpMs: 1, MeasureMs: 1,
	}
}

// converse has the driver answer the requests.
func converse(t *testing.T, requests ...bench.Request) []bench.Answer {
	t.Helper()
	var in, out bytes.Buffer
	for _, r := range requests {
		if err := json.NewEncoder(&in).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := serve(t.Context(), &in, &out); err != nil {
		t.Fatal(err)
	}
	var answers []bench.Answer
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var a bench.Answer
		if err := decoder.Decode(&a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	return answers
}

// Every kind gives just the values that the report knows, and none of them is nothing.
func TestEveryKindIsMeasured(t *testing.T) {
	c := world(t)
	memory := requestFor(t, c, bench.Memory)
	memory.Segments = 2 * testSegments // of both partitions
	lookups := requestFor(t, c, bench.Lookups)
	lookups.Seed = testSeed + 1
	mutations, throughput := requestFor(t, c, bench.Latency), requestFor(t, c, bench.Throughput)
	mutations.Segments, throughput.Segments = 5, 5
	want := map[string][]string{
		bench.Memory:     {"memory"},
		bench.Lookups:    {"lookup"},
		bench.Ready:      {"ready"},
		bench.Assign:     {"assign"},
		bench.Latency:    {"add.p50", "add.p99", "update.p50", "update.p99"},
		bench.Throughput: {"mutations.1"},
		bench.Queries: {
			"get.1", "get.2", "get.epochs", "get.miss", "get.scaling", "highest", "list.iterated", "list.slice",
			"listEpoch.iterated", "listEpoch.slice", "nextTxn", "size",
		},
	}
	requests := []bench.Request{
		memory, lookups, requestFor(t, c, bench.Ready), requestFor(t, c, bench.Assign), requestFor(t, c, bench.Queries), mutations, throughput,
	}
	for i, answer := range converse(t, requests...) {
		if answer.Error != "" {
			t.Fatalf("%s: %s", requests[i].Kind, answer.Error)
		}
		got := slices.Sorted(maps.Keys(answer.Values))
		if diff := cmp.Diff(want[requests[i].Kind], got); diff != "" {
			t.Errorf("%s gives (-want +got):\n%s", requests[i].Kind, diff)
		}
		for key, value := range answer.Values {
			if value <= 0 {
				t.Errorf("%s: %s is %v", requests[i].Kind, key, value)
			}
		}
	}
}

// A number must not come from wrong answers: here segments are missing.
func TestWrongAnswersAreNotMeasured(t *testing.T) {
	c := world(t)
	for _, kind := range []string{bench.Queries, bench.Memory, bench.Lookups} {
		r := requestFor(t, c, kind)
		r.Segments = 2*testSegments + 1
		if a := converse(t, r)[0]; a.Error == "" {
			t.Errorf("%s: no error, but %v", kind, a.Values)
		}
	}
}

func TestAnUnknownKindIsAnError(t *testing.T) {
	if a := converse(t, bench.Request{Kind: "nothing"})[0]; !strings.Contains(a.Error, "nothing") {
		t.Errorf("error %q, want one that names the kind", a.Error)
	}
}

func TestProfilesAreWritten(t *testing.T) {
	r := requestFor(t, world(t), bench.Ready)
	r.Profile = filepath.Join(t.TempDir(), "ready")
	if a := converse(t, r)[0]; a.Error != "" {
		t.Fatal(a.Error)
	}
	for _, ending := range []string{".cpu", ".heap"} {
		if info, err := os.Stat(r.Profile + ending); err != nil || info.Size() == 0 {
			t.Errorf("profile %s: %v, %v", ending, info, err)
		}
	}
}
