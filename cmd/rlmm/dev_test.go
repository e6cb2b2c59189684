package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/internal/embedded"
	"github.com/tieredlog/rlmm/internal/recording"
)

// devRun starts `rlmm dev` on free ports and returns it with its HTTP base and Kafka
// address once it is ready.
func devRun(t *testing.T, data string, more ...string) (dev *running, base, kafka string) {
	t.Helper()
	args := append([]string{"dev", "--data", data, "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0"}, more...)
	dev = background(t, args...)
	ready := dev.out.await(t, "ready ")
	return dev, "http://" + value(ready, "http"), value(ready, "kafka")
}

// get returns the status and the JSON of a URL.
func get(t *testing.T, url string) (int, map[string]any) {
	t.Helper()
	return request(t, http.MethodGet, url, "")
}

func request(t *testing.T, method, url, body string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
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
	var answer map[string]any
	if err := json.Unmarshal(b, &answer); err != nil {
		t.Fatalf("%s %s: %s: %v", method, url, b, err)
	}
	return resp.StatusCode, answer
}

// segments counts the segments of all partitions.
func segments(t *testing.T, base string) int {
	t.Helper()
	status, answer := get(t, base+"/v1/partitions")
	if status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}
	n := 0
	for _, row := range answer["partitions"].([]any) {
		n += int(row.(map[string]any)["segments"].(float64))
	}
	return n
}

// The README's first command: real answers, mutations, a clean end, and the same
// answers when it is started again.
func TestDevAnswersMutatesEndsAndGoesOn(t *testing.T) {
	data := t.TempDir()
	dev, base, _ := devRun(t, data)
	_, how := get(t, base+"/v1/status")
	if views, owned := runningTasks(how, "views"), runningTasks(how, "processor"); len(views) != 50 || len(owned) != 50 {
		t.Errorf("status: %v", how)
	}
	if got := segments(t, base); got != 138 {
		t.Errorf("%d segments in the recording, want 138", got)
	}
	const partition = "/v1/partitions/UpZHhnEzQuGqT8T9QFvE9w/0"
	status, answer := get(t, base+partition+"/segment?epoch=0&offset=500")
	if status != http.StatusOK || answer["startOffset"] != 464.0 || answer["topic"] != "t-keep" {
		t.Errorf("%d %v", status, answer)
	}
	status, answer = request(t, http.MethodPost, base+partition+"/segments", newSegmentJSON)
	if status != http.StatusCreated {
		t.Errorf("add: %d %v", status, answer)
	}
	status, answer = request(t, http.MethodPost, base+partition+"/segments", newSegmentJSON)
	if status != http.StatusConflict || answer["reason"] != "invalid_add" {
		t.Errorf("add again: %d %v", status, answer)
	}
	if code := dev.stop(t); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if got := strings.Count(dev.out.String(), "\n"); got != 1 {
		t.Errorf("%d lines on stdout, want the ready line alone:\n%s", got, dev.out)
	}

	_, base, _ = devRun(t, data)
	if got := segments(t, base); got != 139 {
		t.Errorf("%d segments after a restart, want 139", got)
	}
}

const newSegmentJSON = `{"segmentId":"IiIiIiIiQiKCIiIiIiIiAA","startOffset":900000,"endOffset":900099,"brokerId":1,
	"maxTimestampMs":5,"eventTimestampMs":6,"segmentLeaderEpochs":[{"leaderEpoch":9,"offset":900000}],
	"segmentSizeInBytes":100,"customMetadata":null,"state":"COPY_SEGMENT_STARTED","txnIndexEmpty":true}`

func TestDevEmptyIsLoadedByHand(t *testing.T) {
	_, base, kafka := devRun(t, t.TempDir(), "--empty")
	if got := segments(t, base); got != 0 {
		t.Fatalf("%d segments, want none", got)
	}
	file := filepath.Join(t.TempDir(), "one.jsonl")
	line := fmt.Sprintf(`{"partition":38,"value":%q}`, addHex)
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := execute(t, "", "load", file, "--bootstrap", kafka); got.code != 0 || !strings.Contains(got.err, "published 1 record") {
		t.Fatalf("%+v", got)
	}
	const partition = "/v1/partitions/ERERERERQRGBEREREREREQ/0"
	for caughtUp := false; !caughtUp; {
		_, answer := get(t, base+partition+"/caught-up")
		caughtUp = answer["caughtUp"] == true
	}
	if got := segments(t, base); got != 1 {
		t.Errorf("%d segments, want 1", got)
	}
}

func TestDevRefusesWhatItCantListenOn(t *testing.T) {
	for _, c := range [][]string{
		{"--kafka", "10.0.0.1:9092"}, {"--kafka", "nonsense"}, {"--http", "nonsense"},
	} {
		got := execute(t, "", append([]string{"dev", "--data", t.TempDir()}, c...)...)
		if got.code == 0 || got.err == "" {
			t.Errorf("%v: %+v", c, got)
		}
	}
}

func TestDevRefusesAFolderInUse(t *testing.T) {
	data := t.TempDir()
	first, base, _ := devRun(t, data)
	got := execute(t, "", "dev", "--data", data, "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0")
	if got.code != exitFailure || got.out != "" || !strings.Contains(got.err, data) {
		t.Errorf("a second one: %+v", got)
	}
	status, answer := request(t, http.MethodPost, base+"/v1/partitions/UpZHhnEzQuGqT8T9QFvE9w/0/segments", newSegmentJSON)
	if status != http.StatusCreated {
		t.Errorf("the first one: %d %v", status, answer)
	}
	if code := first.stop(t); code != 0 {
		t.Fatalf("exit %d", code)
	}
	_, base, _ = devRun(t, data)
	if got := segments(t, base); got != 139 {
		t.Errorf("%d segments after the first one's end, want 139", got)
	}
}

// head writes the first lines of the bundled recording to a file.
func head(t *testing.T, lines int) string {
	t.Helper()
	var b strings.Builder
	for s := bufio.NewScanner(recording.Bundled()); lines > 0 && s.Scan(); lines-- {
		fmt.Fprintln(&b, s.Text())
	}
	file := filepath.Join(t.TempDir(), "head.jsonl")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A kill leaves a part of the recording on the topic, and the mark of a load that
// didn't end.
func TestDevGoesOnWithALoadThatWasCutShort(t *testing.T) {
	data := t.TempDir()
	dev, _, kafka := devRun(t, data, "--empty")
	if got := execute(t, "", "load", head(t, 300), "--bootstrap", kafka); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if code := dev.stop(t); code != 0 {
		t.Fatalf("exit %d", code)
	}
	mark := filepath.Join(data, "loading")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, base, _ := devRun(t, data)
	if got := segments(t, base); got != 138 {
		t.Errorf("%d segments, want the recording's 138", got)
	}
	if exists(mark) {
		t.Error("the mark is still there")
	}
}

// The fleet and the server as they run against a cluster, a broker of any kind.
func TestProcessorsServeHealthAndReset(t *testing.T) {
	broker, err := embedded.Start(embedded.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	cluster := []string{"--bootstrap", broker.Addr(), "--group", "crew", "--topic", "metadata"}
	with := func(verb string, more ...string) []string {
		return append(append([]string{verb}, cluster...), append(more, "--data", t.TempDir())...)
	}
	create := []string{"--create-topics", "--replication-factor", "1", "--partitions", "6"}
	first := background(t, with("processor", create...)...)
	second := background(t, with("processor", create...)...)
	server := background(t, with("serve", "--http", "127.0.0.1:0", "--assign", "0,2,4")...)
	base := "http://" + value(server.err.await(t, "msg=ready"), "http")

	if got := execute(t, "", "health", base+"/readyz"); got.code != 0 {
		t.Errorf("health: %+v", got)
	}
	if status, answer := get(t, base+"/v1/status"); status != http.StatusOK || len(runningTasks(answer, "views")) != 3 {
		t.Errorf("status: %d %v", status, answer)
	}
	if got := execute(t, "", "health", base+"/nowhere"); got.code != exitFailure || !strings.Contains(got.err, "404") {
		t.Errorf("health of a wrong path: %+v", got)
	}
	status, answer := request(t, http.MethodPost, base+"/v1/partitions/UpZHhnEzQuGqT8T9QFvE9w/0/segments", newSegmentJSON)
	if status != http.StatusForbidden {
		t.Errorf("a mutation without --allow-mutations: %d %v", status, answer)
	}
	if status, answer = request(t, http.MethodPut, base+"/v1/metadata-partitions/0/pause", ""); status != http.StatusForbidden {
		t.Errorf("a pause without --allow-control: %d %v", status, answer)
	}
	for _, r := range []*running{server, first, second} {
		if code := r.stop(t); code != 0 {
			t.Errorf("exit %d:\n%s", code, r.err)
		}
	}
	resetAfter(t, cluster)
}

// runningTasks are the tasks of a group that runs.
func runningTasks(answer map[string]any, group string) []any {
	g, _ := answer[group].(map[string]any)
	if g["state"] != "RUNNING" {
		return nil
	}
	tasks, _ := g["tasks"].([]any)
	return tasks
}

func resetAfter(t *testing.T, cluster []string) {
	t.Helper()
	dry := execute(t, "", append([]string{"reset"}, cluster...)...)
	if dry.code != 0 || !strings.Contains(dry.err, "--execute") {
		t.Errorf("dry run: %+v", dry)
	}
	if got := execute(t, "", append([]string{"reset", "--execute"}, cluster...)...); got.code != 0 {
		t.Errorf("reset: %+v", got)
	}
}
