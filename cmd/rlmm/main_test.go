package main

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/api/rest"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// result is what a command line came to.
type result struct {
	code     int
	out, err string
}

// execute carries out a command line to its end.
func execute(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	code := run(ctx, args, streams{strings.NewReader(stdin), &out, &errs})
	return result{code, out.String(), errs.String()}
}

// output is written by a command while a test reads it.
type output struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{}
}

func newOutput() *output { return &output{changed: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits for a line with the text, and returns it.
func (o *output) await(t *testing.T, text string) string {
	t.Helper()
	timeout := time.After(patience)
	for {
		for line := range strings.Lines(o.String()) {
			if strings.Contains(line, text) && strings.HasSuffix(line, "\n") {
				return strings.TrimSpace(line)
			}
		}
		select {
		case <-o.changed:
		case <-timeout:
			t.Fatalf("no line with %q in:\n%s", text, o)
		}
	}
}

// running is a command that runs until it is interrupted.
type running struct {
	out, err  *output
	interrupt func()
	code      chan int
}

// background runs a command line until the test interrupts it or ends.
func background(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{out: newOutput(), err: newOutput(), interrupt: cancel, code: make(chan int, 1)}
	go func() { r.code <- run(ctx, args, streams{strings.NewReader(""), r.out, r.err}) }()
	t.Cleanup(func() {
		r.stop(t)
		if t.Failed() {
			t.Logf("rlmm %s:\n%s%s", strings.Join(args, " "), r.out, r.err)
		}
	})
	return r
}

// stop interrupts the command, as Ctrl-C does, and returns its exit code.
func (r *running) stop(t *testing.T) int {
	t.Helper()
	r.interrupt()
	select {
	case code := <-r.code:
		r.code <- code
		return code
	case <-time.After(patience):
		t.Fatalf("it doesn't end:\n%s", r.err)
		return -1
	}
}

// value returns what follows name= in a line.
func value(line, name string) string {
	for field := range strings.FieldsSeq(line) {
		if v, ok := strings.CutPrefix(field, name+"="); ok {
			return v
		}
	}
	return ""
}

func TestUsageErrorsExitWith2AndNameTheFault(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"dev --htp x", "--htp"},
		{"dev extra", "extra"},
		{"processor", "--bootstrap"},
		{"processor -b h:1 --partitions -1", "partitions"},
		{"processor -b h:1 --replication-factor 1 --min-isr 2", "min ISR"},
		{"serve", "--bootstrap"},
		{"serve -b h:1 --assign 1,x", "1,x"},
		{"serve -b h:1 --assign -3", "-3"},
		{"serve -b h:1 --highest-offset-bounds all", "all"},
		{"load", "load FILE"},
		{"load f", "--bootstrap"},
		{"decode --partitions 0", "--partitions"},
		{"reset", "--bootstrap"},
		{"health", "health URL"},
		{"locate -b h:1", "locate TOPIC-P"},
		{"locate a-0 b-0 -b h:1", "2 arguments in place of 1"},
		{"nothing", "rlmm --help"},
		{"segmnets", "did you mean segments"},
		{"partition", "did you mean partitions or partition-for?"},
	} {
		got := execute(t, "", strings.Fields(c.args)...)
		if got.code != exitUsage || !strings.Contains(got.err, c.want) || got.out != "" {
			t.Errorf("rlmm %s: exit %d, out %q, err %q; want exit 2 and %q on stderr", c.args, got.code, got.out, got.err, c.want)
		}
	}
}

// A server that isn't ready is told apart from one that isn't there.
func TestHealthTellsWhatIsWrong(t *testing.T) {
	server := httptest.NewServer(rest.NewHandler(rest.Config{Ready: func(context.Context) error { return errors.New("not yet") }}))
	defer server.Close()
	for path, want := range map[string]int{"/healthz": 0, "/readyz": exitNotReady, "/nothing": exitFailure} {
		if got := execute(t, "", "health", server.URL+path); got.code != want {
			t.Errorf("%s: %+v, want exit code %d", path, got, want)
		}
	}
	if got := execute(t, "", "health", "http://127.0.0.1:1/healthz"); got.code != exitFailure {
		t.Errorf("nobody there: %+v", got)
	}
}

func TestVersionIsOneLine(t *testing.T) {
	verb, flag := execute(t, "", "version"), execute(t, "", "--version")
	if verb.code != 0 || !strings.HasPrefix(verb.out, "rlmm ") || strings.Count(verb.out, "\n") != 1 {
		t.Errorf("version: %+v", verb)
	}
	if flag.out != verb.out {
		t.Errorf("--version prints %q, version %q", flag.out, verb.out)
	}
}

// Nobody should need a manual to find the verbs.
func TestHelpNamesEveryVerb(t *testing.T) {
	help := execute(t, "", "--help").out
	for _, verb := range []string{
		"dev", "processor", "serve", "load", "decode", "health", "doctor", "verify", "repair", "reset", "version",
		"topics", "partitions", "segments", "segment", "locate", "epochs", "orphans", "dump", "partition-for", "export", "import", "completion",
	} {
		if !strings.Contains(help, "\n  "+verb) {
			t.Errorf("no %s in:\n%s", verb, help)
		}
		if got := execute(t, "", verb, "--help"); got.code != 0 || !strings.Contains(got.out, "Usage:") {
			t.Errorf("rlmm %s --help: %+v", verb, got)
		}
	}
}

// To stop what hasn't found its cluster is no failure: services are stopped during outages.
func TestWhatIsStoppedBeforeItIsConnectedEndsWell(t *testing.T) {
	for _, verb := range []string{"serve", "processor"} {
		r := background(t, verb, "--bootstrap", "127.0.0.1:1", "--data", t.TempDir(), "--http=127.0.0.1:0")
		r.err.await(t, `again" error="connect`)
		if code := r.stop(t); code != 0 {
			t.Errorf("%s: exit code %d", verb, code)
		}
	}
}
