package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tieredlog/rlmm/internal/config"
)

func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// effective runs `rlmm config -o json` and returns value and origin of each key.
func effective(t *testing.T, args ...string) (map[string]configLine, result) {
	t.Helper()
	got := execute(t, "", append([]string{"config", "-o", "json"}, args...)...)
	found := map[string]configLine{}
	for line := range strings.Lines(got.out) {
		var l configLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		found[l.Key] = l
	}
	return found, got
}

func TestConfigShowsValuesAndOrigins(t *testing.T) {
	file := writeFile(t, "rlmm.properties", "bootstrap.servers=h:1\ngroup.id=crew\nsasl.jaas.config=hunter2\ncreate.topics=false\nlinger.ms=5\n")
	t.Setenv("RLMM_CONFIG", file)
	t.Setenv("RLMM_HTTP_ADDRESS", "127.0.0.1:1")
	found, got := effective(t, "--topic", "metadata", "--create-topics", "--session-timeout", "6s")
	if got.code != 0 || strings.Contains(got.out+got.err, "hunter2") {
		t.Errorf("%+v", got)
	}
	for _, want := range []configLine{
		{"bootstrap.servers", "h:1", config.FromFile, file + ":1", config.Connection, false, false},
		{"group.id", "crew", config.FromFile, file + ":2", config.Fleet, false, false},
		{"sasl.jaas.config", "[hidden]", config.FromFile, file + ":3", config.Connection, true, false},
		{"metadata.topic", "metadata", config.FromFlag, "--topic", config.Topics, false, false},
		{"create.topics", "true", config.FromFlag, "--create-topics", config.Topics, false, false},
		{"session.timeout.ms", "6s", config.FromFlag, "--session-timeout", config.Fleet, false, false},
		{"http.address", "127.0.0.1:1", config.FromEnvironment, "RLMM_HTTP_ADDRESS", config.HTTP, false, false},
		{"log.level", "info", config.FromDefault, "default", config.Log, false, false},
		{"linger.ms", "5", config.FromFile, file + ":5", "", false, true},
	} {
		if found[want.Key] != want {
			t.Errorf("got %+v, want %+v", found[want.Key], want)
		}
	}
	table := execute(t, "", "config", "--config", file).out
	for _, key := range config.Catalogue() {
		if _, ok := found[key.Name]; !ok || !strings.Contains(table, "\n"+key.Name+" ") {
			t.Errorf("%s isn't shown", key.Name)
		}
	}
}

func TestConfigTellsAllFaultsAndExitsWith2(t *testing.T) {
	file := writeFile(t, "rlmm.properties", "gruop.id=crew\nsecurity.protocol=SSL\nssl.keystore.location=/no/key.p12\n")
	_, got := effective(t, "--config", file)
	for _, part := range []string{file + ":1: gruop.id: unknown key; did you mean group.id?", file + ":3: ssl.keystore.location /no/key.p12: no such file", "bootstrap.servers: is needed"} {
		if !strings.Contains(got.err, part) {
			t.Errorf("%s is without %q", got.err, part)
		}
	}
	if got.code != exitUsage || got.out == "" {
		t.Errorf("%+v", got)
	}
	for _, verb := range []string{"processor", "serve", "load x", "reset"} {
		other := execute(t, "", append(strings.Fields(verb), "--config", file)...)
		if other.code != exitUsage || other.err != got.err {
			t.Errorf("%s: %+v, want the same faults", verb, other)
		}
	}
	if got := execute(t, "", "config", "-o", "yaml"); got.code != exitUsage || !strings.Contains(got.err, "yaml") {
		t.Errorf("%+v", got)
	}
}

// What the environment or a file says is what a command does, where a flag doesn't.
func TestFileAndEnvironmentSetTheFlagsOfEveryCommand(t *testing.T) {
	values := map[config.Kind]string{config.Text: "x", config.Hosts: "a:1,b:2", config.Bool: "true", config.Int: "7", config.Millis: "7000", config.Address: "x:1", config.Loopback: "127.0.0.1:1", config.Partitions: "1,2"}
	inFlags := map[config.Kind]string{config.Hosts: "[a:1,b:2]", config.Millis: "7s"}
	var lines strings.Builder
	want := map[string]string{}
	for _, key := range config.Catalogue() {
		if key.Flag == "" {
			continue
		}
		value := values[key.Kind]
		if key.Values != nil {
			value = key.Values[len(key.Values)-1]
		}
		lines.WriteString(key.Name + "=" + value + "\n")
		if want[key.Flag] = value; inFlags[key.Kind] != "" {
			want[key.Flag] = inFlags[key.Kind]
		}
	}
	t.Setenv("RLMM_CONFIG", writeFile(t, "all.properties", lines.String()))
	set := map[string]bool{}
	for _, cmd := range newRoot().Commands() {
		if cmd.Name() == "config" {
			continue // shows, and does nothing
		}
		cmd.SetContext(t.Context())
		if err := configure(cmd); err != nil {
			t.Fatalf("%s: %v", cmd.Name(), err)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if w, ok := want[f.Name]; ok && f.Value.String() != w {
				t.Errorf("%s --%s is %s, want %s", cmd.Name(), f.Name, f.Value, w)
			}
			set[f.Name] = true
		})
	}
	for flag := range want {
		if !set[flag] {
			t.Errorf("the catalogue has a flag --%s that no command has", flag)
		}
	}
}

// A flag of a long-running command is a setting: it must be in the catalogue, or said here
// why not.
func TestEveryFlagOfTheFleetIsInTheCatalogue(t *testing.T) {
	for _, cmd := range []*cobra.Command{newProcessor(), newServe()} {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if _, ok := config.KeyOf(f.Name); !ok {
				t.Errorf("%s --%s can't be given by file or environment", cmd.Name(), f.Name)
			}
		})
	}
}

func TestAMisspeltVariableIsAFaultAndKubernetesVariablesAreNot(t *testing.T) {
	t.Setenv("RLMM_SERVICE_HOST", "10.0.0.1")
	t.Setenv("RLMM_PORT_8083_TCP", "tcp://10.0.0.1:8083")
	if got := execute(t, "", "reset", "-b", "h:1"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	t.Setenv("RLMM_GROUP_IDS", "x")
	if got := execute(t, "", "reset", "-b", "h:1"); got.code != exitUsage || !strings.Contains(got.err, "RLMM_GROUP_ID?") {
		t.Errorf("%+v", got)
	}
	if got := execute(t, "", "version"); got.code != 0 {
		t.Errorf("a command that takes no settings: %+v", got)
	}
}

func TestLogFormatAndLevel(t *testing.T) {
	t.Setenv("RLMM_LOG_FORMAT", "json")
	file := writeFile(t, "rlmm.properties", "linger.ms=5\nbootstrap.servers=h:1\n")
	if got := execute(t, "", "reset", "--config", file); !strings.Contains(got.err, `"key":"linger.ms"`) {
		t.Errorf("%+v", got)
	}
	t.Setenv("RLMM_LOG_LEVEL", "warn")
	if got := execute(t, "", "reset", "--config", file); strings.Contains(got.err, "linger") {
		t.Errorf("%+v", got)
	}
}
