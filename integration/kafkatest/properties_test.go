package kafkatest

import (
	"strings"
	"testing"
)

func TestServerProperties(t *testing.T) {
	plain := newOptions([]Option{WithProperty("num.io.threads", "9"), WithProperty("log.roll.ms", "5")})
	tiered := newOptions([]Option{WithTieredStorage()})
	alone := node{1, "cluster", 1, 2, []string{"1@127.0.0.1:2"}}
	third := node{3, "cluster", 1, 2, []string{"1@127.0.0.1:7", "2@127.0.0.1:8", "3@127.0.0.1:2"}}
	proxied := map[string]Listener{"PROXIED": {"127.0.0.1:3", "127.0.0.1:4"}}
	for _, test := range []struct {
		name      string
		node      node
		listeners map[string]Listener
		options   options
		line      string
		want      bool
	}{
		{"voters", third, nil, plain, "controller.quorum.voters=1@127.0.0.1:7,2@127.0.0.1:8,3@127.0.0.1:2", true},
		{"id", third, nil, plain, "node.id=3", true},
		{"replicas of three", third, nil, plain, "default.replication.factor=3", true},
		{"replicas in sync of three", third, nil, plain, "min.insync.replicas=2", true},
		{"replicas in sync of one", alone, nil, plain, "min.insync.replicas=1", true},
		{"a further listener", alone, proxied, plain, "listeners=PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2,PROXIED://127.0.0.1:3", true},
		{"its proxy", alone, proxied, plain, "advertised.listeners=PLAINTEXT://127.0.0.1:1,PROXIED://127.0.0.1:4", true},
		{"its protocol", alone, proxied, plain, "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT", true},
		{"ports", alone, nil, plain, "listeners=PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2", true},
		{"own property", alone, nil, plain, "log.roll.ms=5", true},
		{"own property over a default", alone, nil, plain, "num.io.threads=9", true},
		{"replaced default", alone, nil, plain, "num.io.threads=4", false},
		{"not tiered", alone, nil, plain, "remote.log.storage.system.enable=true", false},
		{"tiered", alone, nil, tiered, "remote.log.storage.system.enable=true", true},
		{"remote storage", alone, nil, tiered, "rsm.config.dir=/data/remote", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "\n" + serverProperties("/data", test.node, test.listeners, test.options)
			if got := strings.Contains(text, "\n"+test.line+"\n"); got != test.want {
				t.Errorf("%s: there %t, want %t, in%s", test.line, got, test.want, text)
			}
		})
	}
}

func TestVersionOptionWinsOverTheEnvironment(t *testing.T) {
	t.Setenv("KAFKA_VERSION", "4.0.0")
	if got := newOptions(nil).version; got != "4.0.0" {
		t.Errorf("version %q from the environment", got)
	}
	if got := newOptions([]Option{WithVersion("3.9.1")}).version; got != "3.9.1" {
		t.Errorf("version %q from the option", got)
	}
}
