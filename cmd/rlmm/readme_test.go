package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// codeBlock is a block of code of the README, with the language that it names.
type codeBlock struct{ language, text string }

func (b codeBlock) lines() []string { return strings.Split(strings.TrimRight(b.text, "\n"), "\n") }

func readmeBlocks(t *testing.T) []codeBlock {
	t.Helper()
	var blocks []codeBlock
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(readFile(t, "..", "..", "README.md"), -1) {
		blocks = append(blocks, codeBlock{m[1], m[2]})
	}
	return blocks
}

// reader is a new user, who carries out block after block with only the README.
type reader struct {
	*testing.T
	base string // of the run that the first block starts
}

// readmeSteps are what is done with a block, by what is in it. Addresses and folders are
// replaced, for others may use those that are printed; all else is done as printed.
var readmeSteps = []struct {
	in string
	do func(*reader, codeBlock)
}{
	{"go run ./cmd/rlmm dev", (*reader).startDev},
	{"curl ", (*reader).curl},
	{"go test ./...", func(*reader, codeBlock) {}},              // this run is it
	{"──▶", func(*reader, codeBlock) {}},                        // a picture
	{"m, err := views.NewManager", func(*reader, codeBlock) {}}, // internal/repocheck: it is a tested example
	{"rlmm processor --bootstrap", (*reader).runFleet},
	{"bootstrap.servers=", (*reader).configure},
	{"GET   /v1/partitions ", (*reader).askEach},
}

// Each block of code in the README works as it is printed.
func TestReadmeWorksAsPrinted(t *testing.T) {
	r := &reader{T: t}
	done := map[string]bool{}
	for _, b := range readmeBlocks(t) {
		known := false
		for _, step := range readmeSteps {
			if strings.Contains(b.text, step.in) {
				known, done[step.in] = true, true
				step.do(r, b)
				break
			}
		}
		if !known {
			t.Errorf("nobody tries this block of the README:\n%s", b.text)
		}
	}
	if len(done) != len(readmeSteps) {
		t.Errorf("the README has no block for some of the steps, only for %v", done)
	}
}

// startDev starts what the README says comes first.
func (r *reader) startDev(b codeBlock) {
	r.Helper()
	args := strings.Fields(strings.TrimPrefix(b.lines()[0], "go run ./cmd/rlmm "))
	dev := background(r.T, append(args, "--data", r.TempDir(), "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0")...)
	r.base = value(dev.out.await(r.T, "ready "), "http")
}

// curl lets a shell carry out the block; each command must get an answer that is no error.
func (r *reader) curl(b codeBlock) {
	r.Helper()
	script := strings.ReplaceAll(b.text, "127.0.0.1:8083", r.base)
	cmd := exec.CommandContext(r.Context(), "sh", "-e")
	cmd.Stdin = strings.NewReader(script)
	var answers bytes.Buffer
	cmd.Stdout = &answers
	if err := cmd.Run(); err != nil {
		r.Fatalf("%v:\n%s", err, script)
	}
	count := 0
	for d := json.NewDecoder(&answers); d.More(); count++ {
		var answer map[string]any
		if err := d.Decode(&answer); err != nil {
			r.Fatalf("%v:\n%s", err, script)
		}
		if answer["error_code"] != nil {
			r.Errorf("%v:\n%s", answer, script)
		}
	}
	if want := strings.Count(script, "curl "); count != want {
		r.Errorf("%d answers, want %d:\n%s", count, want, script)
	}
}

// runFleet runs the commands on a cluster of three brokers.
func (r *reader) runFleet(b codeBlock) {
	r.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.GroupMinSessionTimeout(time.Second))
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(cluster.Close)
	place := strings.NewReplacer("kafka:9092", cluster.ListenAddrs()[0], "/var/lib/", r.TempDir()+"/")
	var last *running
	for _, line := range b.lines() {
		command, _, _ := strings.Cut(place.Replace(line), "#")
		args := strings.Fields(command)[1:]
		if args[0] == "serve" {
			args = append(args, "--http", "127.0.0.1:0")
		}
		last = background(r.T, args...)
	}
	last.err.await(r.T, "msg=ready")
}

// configure gives the file to a command.
func (r *reader) configure(b codeBlock) {
	r.Helper()
	dir := r.TempDir()
	text := strings.ReplaceAll(b.text, "/etc/rlmm", dir)
	for name, content := range map[string]string{
		"rlmm.properties":  text,
		"ca.crt":           newSecureCluster(r.T).ca.PEM,
		"sasl.jaas.config": `org.apache.kafka.common.security.scram.ScramLoginModule required username="rlmm" password="p";`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			r.Fatal(err)
		}
	}
	got := execute(r.T, "", "config", "--config", filepath.Join(dir, "rlmm.properties"))
	if got.code != 0 || !strings.Contains(got.out, "kafka:9093") {
		r.Errorf("%+v", got)
	}
}

// placeholders are what a reader puts in for them.
var placeholders = strings.NewReplacer(
	"{topicId}", "UpZHhnEzQuGqT8T9QFvE9w", "{partition}", "0", "{segmentId}", "IiIiIiIiQiKCIiIiIiIiAA", "{n}", "7",
	"=E", "=0", "=O", "=500", "=T", "=t-keep", "=P", "=0", "=N", "=1", "=S", "=COPY_SEGMENT_FINISHED",
)

// askEach asks each path of the list; what lies in brackets may be left out.
func (r *reader) askEach(b codeBlock) {
	r.Helper()
	for _, line := range b.lines() {
		method := ""
		for word := range strings.FieldsSeq(line) {
			if !strings.HasPrefix(word, "/") {
				if word == strings.ToUpper(word) {
					method = word
				}
				continue
			}
			path := placeholders.Replace(regexp.MustCompile(`\[.*?\]`).ReplaceAllString(word, ""))
			whole, others, _ := strings.Cut(path, "|")
			r.ask(method, whole)
			if others != "" {
				r.ask(method, whole[:strings.LastIndex(whole, "/")+1]+others)
			}
		}
	}
}

// ask sends a body that can't be right: what matters is that the path is there.
func (r *reader) ask(method, path string) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, "http://"+r.base+path, strings.NewReader("{}"))
	if err != nil {
		r.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct{ Reason string }
	_ = json.NewDecoder(resp.Body).Decode(&answer) // not all of them answer with JSON
	if answer.Reason == "not_found" || resp.StatusCode == http.StatusMethodNotAllowed || resp.StatusCode >= http.StatusInternalServerError {
		r.Errorf("%s %s: %s %s", method, path, resp.Status, answer.Reason)
	}
}

// Every verb and flag that the README names in its text is there.
func TestReadmeNamesCommandsThatExist(t *testing.T) {
	root := newRoot()
	for _, m := range regexp.MustCompile("`rlmm ([a-z-]+)([^`]*)`").FindAllStringSubmatch(readFile(t, "..", "..", "README.md"), -1) {
		cmd, _, err := root.Find([]string{m[1]})
		if err != nil || cmd == root {
			if m[1] != "VERB" {
				t.Errorf("%s: no such command", m[0])
			}
			continue
		}
		for _, flag := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(m[2], -1) {
			if cmd.Flags().Lookup(flag[1]) == nil && root.PersistentFlags().Lookup(flag[1]) == nil && flag[1] != "help" {
				t.Errorf("%s: no flag --%s", m[0], flag[1])
			}
		}
	}
}
