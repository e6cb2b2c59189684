//go:build integration

package security_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/integration/command"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/internal/pkitest"
)

// patience is how long a test waits for what must come.
const patience = 3 * time.Minute

// password is planted: nothing may show it.
const password = "planted-s3cret"

// world is a secured broker and the files that its clients read.
type world struct {
	t      *testing.T
	dir    string
	ca     *pkitest.Authority
	broker *kafkatest.Broker
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), ca: pkitest.NewAuthority(t, "ca")}
	w.write("ca.crt", w.ca.PEM)
	return w
}

func (w *world) write(name, content string) (path string) {
	w.t.Helper()
	path = filepath.Join(w.dir, name)
	// A reader never sees half of it.
	if err := errors.Join(os.WriteFile(path+".new", []byte(content), 0o600), os.Rename(path+".new", path)); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// writePair writes a certificate and its key, as NAME.crt, NAME.key and NAME.pem for both.
func (w *world) writePair(name string, p pkitest.Pair) (both string) {
	w.t.Helper()
	w.write(name+".crt", p.Chain)
	w.write(name+".key", p.Key)
	return w.write(name+".pem", p.Key+p.Chain)
}

// common are the settings of every client.
const common = `
remote.log.metadata.topic.replication.factor=1
remote.log.metadata.topic.num.partitions=50
create.topics=true
http.address=127.0.0.1:0
http.allow.mutations=true
log.level=debug
ssl.truststore.certificates.file=DIR/ca.crt
bootstrap.servers=`

// configure writes the settings of a client to a file.
func (w *world) configure(name, settings string) (path string) {
	w.t.Helper()
	all := common + w.broker.Listener(kafkatest.SecureListener).Address + "\n" + settings
	return w.write(name, strings.ReplaceAll(all, "DIR", w.dir))
}

// member is a processor or a server that runs.
type member struct {
	*kafkatest.Child
	t *testing.T
}

func (w *world) start(config, verb string, more ...string) member {
	w.t.Helper()
	args := append([]string{verb, "--config", config, "--data", w.t.TempDir()}, more...)
	if verb == "processor" {
		args = append(args, "--http", "127.0.0.1:0")
	}
	return member{kafkatest.StartChild(w.t, exec.Command(command.Path(w.t), args...)), w.t}
}

// run carries out a verb that ends by itself.
func (w *world) run(args ...string) (said string, code int) {
	w.t.Helper()
	defer logTime(w.t, "rlmm "+args[0])()
	cmd := exec.CommandContext(w.t.Context(), command.Path(w.t), args...)
	out, err := cmd.CombinedOutput()
	if exit, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		w.t.Fatal(err)
	} else if failed && exit.ExitCode() < 0 {
		w.t.Fatalf("rlmm %s: %v\n%s", args[0], err, out)
	}
	w.wantNoSecret(string(out))
	return string(out), cmd.ProcessState.ExitCode()
}

func (w *world) wantNoSecret(said string) {
	w.t.Helper()
	if strings.Contains(said, "planted") || strings.Contains(said, "PRIVATE KEY") {
		w.t.Errorf("a secret is shown:\n%s", said)
	}
}

// logTime logs how long something took, when the returned function is called.
func logTime(t *testing.T, what string) func() {
	began := time.Now()
	return func() { t.Logf("%s: %v", what, time.Since(began).Round(time.Millisecond)) }
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	defer logTime(t, what)()
	deadline, tick := time.After(patience), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("still not so: %s", what)
		}
	}
}

// url is where the member serves HTTP.
func (m member) url() (url string) {
	m.t.Helper()
	await(m.t, "it serves HTTP", func() bool {
		for line := range strings.Lines(m.Said(m.t)) {
			if _, after, ok := strings.Cut(line, "msg=serving http="); ok && strings.HasSuffix(line, "\n") {
				url = "http://" + strings.Fields(after)[0]
			}
		}
		return url != ""
	})
	return url
}

func (m member) client() *rest.Client {
	m.t.Helper()
	c, err := rest.NewClient(m.url(), &http.Client{Timeout: patience})
	if err != nil {
		m.t.Fatal(err)
	}
	return c
}

func (m member) awaitReady() {
	m.t.Helper()
	c := m.client()
	await(m.t, "it is ready", func() bool { return c.Ready(m.t.Context()) == nil })
}

// awaitUnready waits until readiness is down for this reason, while the process answers.
func (m member) awaitUnready(why string) {
	m.t.Helper()
	c := m.client()
	await(m.t, "it isn't ready: "+why, func() bool {
		err := c.Ready(m.t.Context())
		return err != nil && strings.Contains(err.Error(), why)
	})
	response, err := http.Get(m.url() + "/healthz")
	if err != nil {
		m.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		m.t.Errorf("healthz: %s", response.Status)
	}
}

// mainJob adds a segment, finishes it and finds it again.
func (m member) mainJob() {
	m.t.Helper()
	defer logTime(m.t, "the main job")()
	c, ctx := m.client(), m.t.Context()
	s := api.RemoteLogSegmentMetadata{
		ID:          api.RemoteLogSegmentID{TopicIdPartition: api.TopicIdPartition{TopicID: api.RandomUUID(), Topic: "orders"}, ID: api.RandomUUID()},
		StartOffset: 0, EndOffset: 99, BrokerID: 1, MaxTimestampMs: 1, EventTimestampMs: 1, SegmentSizeInBytes: 1000,
		State: api.CopySegmentStarted, LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: 0, Offset: 0}),
	}
	if _, err := c.AddRemoteLogSegmentMetadata(ctx, s); err != nil {
		m.t.Fatal(err)
	}
	update := api.RemoteLogSegmentMetadataUpdate{ID: s.ID, EventTimestampMs: 2, State: api.CopySegmentFinished, BrokerID: 1}
	if _, err := c.UpdateRemoteLogSegmentMetadata(ctx, update); err != nil {
		m.t.Fatal(err)
	}
	if got, found, err := c.RemoteLogSegmentMetadata(ctx, s.ID.TopicIdPartition, 0, 50); err != nil || !found || got.ID.ID != s.ID.ID {
		m.t.Errorf("%v, %v, %v", got, found, err)
	}
}
