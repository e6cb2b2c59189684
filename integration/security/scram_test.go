//go:build integration

package security_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/internal/pkitest"
)

const scramSettings = `
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config.file=DIR/jaas
`

func (w *world) writeLogin(password string) {
	w.t.Helper()
	w.write("jaas", `org.apache.kafka.common.security.scram.ScramLoginModule required username="rlmm" password="`+password+`";`)
}

// refused is what the broker logs of a login that it refuses.
const refused = "Failed authentication"

// The main job and the tools over TLS and SCRAM; then wrong passwords, of what starts and of
// what runs: refused without a storm of tries, told, and mended without a restart.
func TestTLSAndSCRAM(t *testing.T) {
	w := newWorld(t)
	w.broker = kafkatest.Start(t, kafkatest.WithSCRAM(w.writePair("broker", w.ca.Issue("broker", time.Hour))))
	w.broker.SetPassword(t, "rlmm", password)
	w.writeLogin(password)
	config := w.configure("rlmm.properties", scramSettings)
	processor := w.start(config, "processor")
	processor.awaitReady()
	server := w.start(config, "serve")
	server.awaitReady()
	server.mainJob()
	for _, verb := range [][]string{{"verify", "--older-than", "1h"}, {"topics"}, {"export"}, {"status"}} {
		if said, code := w.run(append(verb, "--config", config)...); code != 0 {
			t.Errorf("%s: exit %d\n%s", verb, code, said)
		}
	}
	w.wantDoctor(config, "tiered_storage")
	if n := w.broker.Logged(t, refused); n != 0 {
		t.Fatalf("%d logins were refused already", n)
	}

	w.broker.SetPassword(t, "rlmm", "planted-another")
	w.broker.Restart(t) // which ends the connections that are open
	server.awaitUnready("")
	processor.awaitUnready("")
	newcomer := w.start(config, "serve")
	newcomer.awaitUnready("invalid credentials")
	w.wantNoStorm(3)
	if said, code := w.run("export", "--config", config); code != 1 || !strings.Contains(said, "invalid credentials") {
		t.Errorf("a tool with a wrong password: exit %d\n%s", code, said)
	}
	w.writeLogin("planted-another")
	for _, m := range []member{processor, server, newcomer} {
		m.awaitReady()
	}
	newcomer.mainJob()
	server.mainJob()

	w.write("ca.crt", pkitest.NewAuthority(t, "foreign").PEM)
	stranger := w.start(config, "serve")
	stranger.awaitUnready("unknown authority")
	w.write("ca.crt", w.ca.PEM)
	stranger.awaitReady()
	for _, m := range []member{processor, server, newcomer, stranger} {
		m.Stop(t)
		w.wantNoSecret(m.Said(t))
	}
}

// window is how long logins are counted.
const window = 30 * time.Second

// wantNoStorm counts the logins, and handshakes, that the broker refuses to some members in
// a while. One try of a member is four.
func (w *world) wantNoStorm(members int) {
	w.t.Helper()
	before := w.broker.Logged(w.t, refused)
	<-time.After(window)
	n := w.broker.Logged(w.t, refused) - before
	w.t.Logf("%d logins refused in %v, of %d members", n, window, members)
	if most := members * int(window/time.Second) * 2; n == 0 || n > most {
		w.t.Errorf("%d logins were refused in %v, want 1 to %d", n, window, most)
	}
}

// wantDoctor wants no findings but of the given checks.
func (w *world) wantDoctor(config string, known ...string) {
	w.t.Helper()
	said, code := w.run("doctor", "--no-headers", "--config", config)
	if code != 0 && code != 3 {
		w.t.Errorf("doctor: exit %d\n%s", code, said)
	}
	for line := range strings.Lines(said) {
		expected := strings.Contains(line, "level=") || strings.TrimSpace(line) == "" || strings.HasPrefix(line, "rlmm:")
		for _, k := range known {
			expected = expected || strings.HasPrefix(line, k)
		}
		if !expected {
			w.t.Errorf("doctor finds %s", line)
		}
	}
}
