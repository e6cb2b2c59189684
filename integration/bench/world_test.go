//go:build integration

package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/integration/bench"
	"github.com/tieredlog/rlmm/integration/command"
	"github.com/tieredlog/rlmm/integration/kafkatest"
)

const (
	// patience bounds each thing that is waited for.
	patience = 10 * time.Minute
	// pollEvery is how often the harness looks whether something has come about.
	pollEvery = 10 * time.Millisecond
	seed      = 7
)

// buildDriver builds our driver.
func buildDriver(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "driver")
	if out, err := exec.Command("go", "build", "-o", path, "./driver").CombinedOutput(); err != nil {
		b.Fatalf("build the driver: %v\n%s", err, out)
	}
	return path
}

// world is a fresh broker for one part of the benchmark.
type world struct {
	*harness
	b         *testing.B
	bootstrap string
}

// newWorld starts a broker that is fit to be measured.
func (h *harness) newWorld(b *testing.B) *world {
	b.Helper()
	broker := kafkatest.Start(b, kafkatest.WithJVMOption("-Xmx1g"), kafkatest.WithJVMOption("-XX:TieredStopAtLevel=4"),
		kafkatest.WithProperty("log.cleaner.backoff.ms", "500"))
	return &world{h, b, broker.Bootstrap()[0]}
}

// say tells what was measured while there is more to come.
func (w *world) say(who string, values map[string]float64) {
	var said []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		said = append(said, fmt.Sprintf("%s=%.4g", key, values[key]))
	}
	fmt.Fprintf(os.Stderr, "%s: %s: %s\n", w.b.Name(), who, strings.Join(said, " "))
}

// fleet is a group of processors, with one member, and where its state lies.
type fleet struct{ topic, group, data string }

func (w *world) newFleet(topic, group string) fleet {
	return fleet{topic, group, w.b.TempDir()}
}

// start runs the member and returns when it is one that processes.
func (w *world) start(f fleet) *kafkatest.Child {
	w.b.Helper()
	return w.startProfiled(f, "")
}

// startProfiled is start with the path of profiles to be made of the member; empty is
// none.
func (w *world) startProfiled(f fleet, profile string) *kafkatest.Child {
	w.b.Helper()
	address := kafkatest.FreeAddress(w.b)
	child := kafkatest.StartChild(w.b, w.processor(f, address, profile))
	ctx, cancel := context.WithTimeout(w.b.Context(), patience)
	defer cancel()
	for !isReady(ctx, address) {
		select {
		case <-child.Done():
			w.b.Fatal("the processor ended")
		case <-ctx.Done():
			w.b.Fatalf("the processor isn't ready: %v", context.Cause(ctx))
		case <-time.After(pollEvery):
		}
	}
	return child
}

// processor is the command that users run, unless there are profiles to be made.
func (w *world) processor(f fleet, address, profile string) *exec.Cmd {
	w.b.Helper()
	args := []string{"processor", "--bootstrap", w.bootstrap, "--topic", f.topic, "--group", f.group, "--data", f.data, "--http", address}
	if profile != "" {
		return exec.Command(w.driver, append(args, "--profile", profile)...)
	}
	return exec.Command(command.Path(w.b), append(args, "--create-topics", "--replication-factor", "1")...)
}

// profile is where profiles of something go; empty when none are wanted.
func (w *world) profile(of string) string {
	if *profiles == "" {
		return ""
	}
	return filepath.Join(*profiles, strings.ReplaceAll(w.b.Name(), "/", "-")+"-"+of)
}

func isReady(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// ours has our driver answer the requests, on the fleet's table, in one process. Where
// a request has no folder it gets an empty one.
func (w *world) ours(f fleet, requests ...bench.Request) map[string]float64 {
	w.b.Helper()
	requests = slices.Clone(requests)
	for i := range requests {
		r := &requests[i]
		r.Topic, r.Group, r.Profile = f.topic, f.group, w.profile(r.Kind)
		if r.Data == "" {
			r.Data = w.b.TempDir()
		}
	}
	values := w.ask(exec.Command(w.driver), requests)
	w.say("ours", values)
	return values
}

// peer has Kafka's manager answer the requests, in one process with a JVM's defaults.
func (w *world) peer(requests ...bench.Request) map[string]float64 {
	w.b.Helper()
	cmd := kafkatest.PeerCommand(w.b, []string{"-Xmx4g"}, "measure", w.bootstrap, "--ready-wait-ms", fmt.Sprint(patience.Milliseconds()))
	values := w.ask(cmd, requests)
	w.say("Kafka's", values)
	return values
}

// ask starts a driver, has it answer the requests, and ends it.
func (w *world) ask(cmd *exec.Cmd, requests []bench.Request) map[string]float64 {
	w.b.Helper()
	in, out := pipes(w.b, cmd)
	child := kafkatest.StartChild(w.b, cmd)
	ctx, cancel := context.WithTimeout(w.b.Context(), patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	values, encoder, decoder := map[string]float64{}, json.NewEncoder(in), json.NewDecoder(out)
	for _, r := range requests {
		r.Bootstrap = w.bootstrap
		if err := encoder.Encode(r); err != nil {
			w.b.Fatalf("ask for %s: %v", r.Kind, err)
		}
		var answer bench.Answer
		if err := decoder.Decode(&answer); err != nil || answer.Error != "" {
			w.b.Fatalf("answer to %s: %v %s", r.Kind, err, answer.Error)
		}
		maps.Copy(values, answer.Values)
	}
	if err := in.Close(); err != nil {
		w.b.Fatal(err)
	}
	child.Wait(w.b)
	return values
}

func pipes(b *testing.B, cmd *exec.Cmd) (io.WriteCloser, io.Reader) {
	b.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	return in, out
}

// record keeps the values of one round.
func (w *world) record(add func(string, float64) error, values map[string]float64) {
	w.b.Helper()
	for key, value := range values {
		if err := add(key, value); err != nil {
			w.b.Fatal(err)
		}
	}
}
