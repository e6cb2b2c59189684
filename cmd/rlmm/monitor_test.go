package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/internal/rlmmtest"
)

// fetch returns the status, the header and the body of a URL.
func fetch(t *testing.T, url string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

// awaitThat asks until the condition holds.
func awaitThat(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick, timeout := time.NewTicker(20*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("waited too long: %s", what)
		}
	}
}

// scrape returns the samples of /metrics by name and labels.
func scrape(t *testing.T, base string) map[string]float64 {
	t.Helper()
	code, head, body := fetch(t, base+"/metrics")
	if code != http.StatusOK || !strings.HasPrefix(head.Get("Content-Type"), "text/plain") {
		t.Fatalf("%d %v", code, head)
	}
	samples := map[string]float64{}
	for line := range strings.Lines(body) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(line, "#") || !ok {
			continue
		}
		if i := strings.LastIndex(line, " "); strings.Contains(name, "{") && !strings.HasSuffix(name, "}") {
			name, value = line[:i], strings.TrimSpace(line[i:]) // a label with a space
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		samples[name] = v
	}
	return samples
}

func wantSamples(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if v, ok := got[name]; !ok || v != value {
			t.Errorf("%s is %v (there: %t), want %v", name, v, ok, value)
		}
	}
}

// metricNames are the names of rlmm's metrics in a text, without what a histogram adds.
func metricNames(text string) []string {
	var names []string
	for _, name := range regexp.MustCompile(`\brlmm_[a-z_]+`).FindAllString(text, -1) {
		for _, of := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, of)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A run shows just the metrics that are documented, and every one that alerts and dashboard
// ask for; after known events they have the right values.
func TestMetricsOfARun(t *testing.T) {
	_, base, _ := devRun(t, t.TempDir())
	awaitThat(t, "the topics' settings were looked at", func() bool {
		return scrape(t, base)[`rlmm_metadata_topic_config_ok{check="retention"}`] == 1
	})
	_, _, body := fetch(t, base+"/metrics")
	var shown strings.Builder
	for _, name := range metricNames(body) {
		fmt.Fprintln(&shown, name)
	}
	documented, _, _ := strings.Cut(readFile(t, "..", "..", "internal", "metrics", "testdata", "metrics.txt"), "with --metrics-partitions")
	var want strings.Builder
	for _, name := range metricNames(regexp.MustCompile(`(?m)^  .*$`).ReplaceAllString(documented, "")) {
		fmt.Fprintln(&want, name)
	}
	if shown.String() != want.String() {
		t.Errorf("shown:\n%s\ndocumented:\n%s", &shown, &want)
	}
	for _, file := range []string{"prometheus/alerts.yaml", "grafana/rlmm.json"} {
		asked := metricNames(readFile(t, "..", "..", "deploy", file))
		for _, name := range asked {
			if !strings.Contains(shown.String(), name+"\n") {
				t.Errorf("%s asks for %s, which a run doesn't show", file, name)
			}
		}
		if len(asked) < 8 {
			t.Errorf("%s asks for %v only", file, asked)
		}
	}

	const partition = "/v1/partitions/UpZHhnEzQuGqT8T9QFvE9w/0"
	request(t, http.MethodPost, base+partition+"/segments", newSegmentJSON)
	request(t, http.MethodPost, base+partition+"/segments", newSegmentJSON)
	fetch(t, base+partition+"/segment?epoch=0&offset=500")
	fetch(t, base+partition+"/segment?epoch=0&offset=500000000")
	fetch(t, base+partition+"/segments")
	wantSamples(t, scrape(t, base), map[string]float64{
		`rlmm_ready{role="view"}`: 1, `rlmm_ready{role="processor"}`: 1,
		`rlmm_metadata_partitions{role="view",state="RUNNING"}`:                                   50,
		`rlmm_metadata_partitions{role="processor",state="RUNNING"}`:                              50,
		`rlmm_events_applied_total{role="processor",state="COPY_SEGMENT_STARTED",type="segment"}`: 294,
		`rlmm_events_dropped_total{reason="undecodable",role="processor"}`:                        0,
		`rlmm_segments{role="view",state="COPY_SEGMENT_FINISHED"}`:                                138,
		`rlmm_segments{role="view",state="COPY_SEGMENT_STARTED"}`:                                 1,
		`rlmm_segment_bytes{role="view",state="COPY_SEGMENT_STARTED"}`:                            100,
		`rlmm_orphan_segments{kind="headless",role="view"}`:                                       0,
		`rlmm_mutations_total{op="add_remote_log_segment_metadata",outcome="applied"}`:            1,
		`rlmm_mutations_total{op="add_remote_log_segment_metadata",outcome="rejected"}`:           1,
		`rlmm_request_duration_seconds_count{op="remote_log_segment_metadata",outcome="ok"}`:      1,
		`rlmm_request_duration_seconds_count{op="remote_log_segment_metadata",outcome="miss"}`:    1,
		`rlmm_request_duration_seconds_count{op="list_remote_log_segments",outcome="ok"}`:         1,
		`rlmm_recovery_duration_seconds_count{role="view",source="topic"}`:                        50,
		`rlmm_recovery_duration_seconds_count{role="processor",source="topic"}`:                   50,
		`rlmm_rebalances_total{role="processor"}`:                                                 1,
		`rlmm_consumer_restarts_total{reason="failed",role="view"}`:                               0,
		`rlmm_state_resets_total{reason="corrupt",role="view"}`:                                   0,
		`rlmm_metadata_topic_config_ok{check="cleanup_policy"}`:                                   1,
	})
}

// serveRun starts `rlmm serve` on a free port, and returns it with its base.
func serveRun(t *testing.T, c *rlmmtest.Cluster, more ...string) (serve *running, base string) {
	t.Helper()
	args := []string{"serve", "--bootstrap", c.Settings.Bootstrap[0], "--data", t.TempDir(), "--http", "127.0.0.1:0", "-v"}
	serve = background(t, append(args, more...)...)
	return serve, "http://" + value(serve.err.await(t, "msg=serving"), "http")
}

// Liveness asks for nothing, startup for the first time that all is ready, readiness for
// now: 503 while the view recovers, 200 when it has, 503 when the topic isn't what it was.
func TestProbesOfAServer(t *testing.T) {
	c := rlmmtest.NewCluster(t, 2)
	c.CreateTopics()
	tip := c.PartitionOn(1, 0)
	c.PublishEvents(rlmmtest.Segment(tip, 1, 0, 9)) // which no fleet has answered
	_, base := serveRun(t, c, "--metrics-partitions")
	want := func(when, path string, code int) (body string) {
		t.Helper()
		got, head, body := fetch(t, base+path)
		if got != code || (head.Get("Retry-After") != "") != (code == http.StatusServiceUnavailable) {
			t.Errorf("%s: %s: %d, Retry-After %q: %s", when, path, got, head.Get("Retry-After"), body)
		}
		return body
	}
	is := func(path string, code int) func() bool {
		return func() bool { got, _, _ := fetch(t, base+path); return got == code }
	}
	awaitThat(t, "the empty partition is ready", func() bool {
		return scrape(t, base)[`rlmm_metadata_partition_ready{partition="0",role="view"}`] == 1
	})
	want("recovering", "/healthz", http.StatusOK)
	want("recovering", "/readyz", http.StatusServiceUnavailable)
	want("recovering", "/startupz", http.StatusServiceUnavailable)
	verbose := want("recovering", "/readyz?verbose", http.StatusServiceUnavailable)
	for _, part := range []string{
		`{"status":"not ready"`, `{"name":"views, metadata partition 0","ok":true,"state":"RUNNING"}`,
		`{"name":"views, metadata partition 1","ok":false,"state":"RECOVERING"`,
	} {
		if !strings.Contains(verbose, part) {
			t.Errorf("%s: no %s", verbose, part)
		}
	}
	wantSamples(t, scrape(t, base), map[string]float64{
		`rlmm_ready{role="view"}`: 0, `rlmm_init_state{role="view",state="RECOVERING"}`: 1,
		`rlmm_metadata_partition_ready{partition="1",role="view"}`: 0,
	})

	c.RunProcessor()
	awaitThat(t, "ready", is("/readyz", http.StatusOK))
	want("ready", "/startupz", http.StatusOK)
	want("ready", "/readyz?verbose", http.StatusOK)
	wantSamples(t, scrape(t, base), map[string]float64{
		`rlmm_ready{role="view"}`: 1, `rlmm_segments{role="view",state="COPY_SEGMENT_STARTED"}`: 1,
		`rlmm_metadata_partition_applied_offset{partition="1",role="view"}`: 0,
	})

	c.RecreateTopic(rlmmtest.MetadataTopic)
	awaitThat(t, "not ready any more", is("/readyz", http.StatusServiceUnavailable))
	want("topic created again", "/healthz", http.StatusOK)
	want("topic created again", "/startupz", http.StatusOK)
	wantSamples(t, scrape(t, base), map[string]float64{
		`rlmm_ready{role="view"}`: 0, `rlmm_metadata_partitions_failed{reason="topic_recreated",role="view"}`: 2,
	})
}

// A processor is ready while it is a member of the group and processes, and started once it
// was. It tells which cluster it is on, once it knows.
func TestProbesOfAProcessor(t *testing.T) {
	c := rlmmtest.NewCluster(t, 2)
	run := func(bootstrap string) (base string) {
		p := background(t, "processor", "--bootstrap", bootstrap, "--data", t.TempDir(), "--http", "127.0.0.1:0",
			"--create-topics", "--partitions", "2", "--replication-factor", "1", "--session-timeout", "6s")
		return "http://" + value(p.err.await(t, "msg=serving"), "http")
	}
	alone := run("127.0.0.1:1")
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable, "/startupz": http.StatusServiceUnavailable} {
		if code, _, body := fetch(t, alone+path); code != want {
			t.Errorf("without a cluster: %s: %d %s", path, code, body)
		}
	}
	if _, info := get(t, alone+"/"); info["kafka_cluster_id"] != nil {
		t.Errorf("without a cluster: %v", info)
	}
	wantSamples(t, scrape(t, alone), map[string]float64{`rlmm_ready{role="processor"}`: 0, `rlmm_rebalances_total{role="processor"}`: 0})

	base := run(c.Settings.Bootstrap[0])
	is := func(path string, code int) func() bool {
		return func() bool { got, _, _ := fetch(t, base+path); return got == code }
	}
	awaitThat(t, "started", is("/startupz", http.StatusOK))
	if _, info := get(t, base+"/"); info["kafka_cluster_id"] == nil || info["version"] == nil {
		t.Errorf("GET /: %v", info)
	}
	if code, _, body := fetch(t, base+"/readyz?verbose"); code != http.StatusOK || !strings.Contains(body, `{"name":"processor, metadata partition 1","ok":true,"state":"RUNNING"}`) {
		t.Errorf("running: %d %s", code, body)
	}
	wantSamples(t, scrape(t, base), map[string]float64{`rlmm_ready{role="processor"}`: 1, `rlmm_rebalances_total{role="processor"}`: 1})

	c.Close()
	awaitThat(t, "not ready without the broker", is("/readyz", http.StatusServiceUnavailable))
	if !is("/startupz", http.StatusOK)() || !is("/healthz", http.StatusOK)() {
		t.Error("without the broker: want it alive, and started")
	}
}

func TestProfilesAreOnLoopbackAlone(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "10.0.0.1:0", "example.org:0"} {
		got := execute(t, "", "dev", "--data", t.TempDir(), "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0", "--admin", addr)
		if got.code != exitUsage || !strings.Contains(got.err, "loopback") {
			t.Errorf("%s: %+v", addr, got)
		}
	}
	dev, base, _ := devRun(t, t.TempDir(), "--empty", "--admin", "127.0.0.1:0")
	admin := value(dev.err.String(), "url")
	for path, want := range map[string]int{"": http.StatusOK, "heap": http.StatusOK, "cmdline": http.StatusOK, "nothing": http.StatusNotFound} {
		if code, _, body := fetch(t, admin+path); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, _, _ := fetch(t, base+"/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("profiles on the API's port: %d", code)
	}
}
