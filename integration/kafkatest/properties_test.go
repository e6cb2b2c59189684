package kafkatest

import (
	"strings"
	"testing"
)

func TestServerProperties(t *testing.T) {
	plain := newOptions([]Option{WithProperty("num.io.threads", "9"), WithProperty("log.roll.ms", "5")})
	tiered := newOptions([]Option{WithTieredStorage()})
	for _, test := range []struct {
		name    string
		options options
		line    string
		want    bool
	}{
		{"ports", plain, "listeners=PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2", true},
		{"own property", plain, "log.roll.ms=5", true},
		{"own property over a default", plain, "num.io.threads=9", true},
		{"replaced default", plain, "num.io.threads=4", false},
		{"not tiered", plain, "remote.log.storage.system.enable=true", false},
		{"tiered", tiered, "remote.log.storage.system.enable=true", true},
		{"remote storage", tiered, "rsm.config.dir=/data/remote", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "\n" + serverProperties("/data", 1, 2, test.options)
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
