//go:build integration

package integration_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/integration/command"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/views"
)

// verb runs a verb on the fleet's topic and returns what it printed and its exit code.
func (f fleet) verb(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	args = append(args, "--bootstrap", strings.Join(f.bootstrap, ","), "--topic", f.topic, "--group", f.group)
	cmd := exec.CommandContext(t.Context(), command.Path(t), args...)
	var told strings.Builder
	cmd.Stderr = &told
	b, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	t.Logf("rlmm %s: exit %d\n%s%s", args[0], cmd.ProcessState.ExitCode(), b, told.String())
	return string(b), cmd.ProcessState.ExitCode()
}

// The verbs that check and repair, on a real broker: nothing is wrong at first, what is
// planted is found, and what a plan says is done.
func TestCheckAndRepair(t *testing.T) {
	f := newFleet(kafkatest.Bootstrap(t))
	kafkatest.CreateMetadataTopic(t, f.bootstrap, f.topic, 50)
	f.startProcessor(t)
	m := f.manager(t, views.BoundsSegment)
	tip := api.TopicIdPartition{TopicID: api.RandomUUID(), Topic: "gone-" + f.group}
	s := newSegment(tip)
	if _, err := m.AddRemoteLogSegmentMetadata(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	// The shared broker has tiered storage on or off; everything else is in order.
	out, code := f.verb(t, "doctor", "--no-headers")
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "tiered_storage") {
			t.Errorf("doctor, exit %d: %s", code, line)
		}
	}
	if _, code := f.verb(t, "verify", "--older-than", "1000000h"); code != 0 {
		t.Errorf("verify: exit %d", code)
	}

	if out, code := f.verb(t, "orphans", "--deleted-topics"); code != 3 || !strings.Contains(out, s.ID.ID.String()) {
		t.Errorf("orphans: exit %d, %s", code, out)
	}
	plan := filepath.Join(t.TempDir(), "plan.jsonl")
	out, _ = f.verb(t, "orphans", "--deleted-topics", "--plan")
	if err := os.WriteFile(plan, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := f.verb(t, "repair", plan, "--execute"); code != 0 || strings.Count(out, "applied") != 5 {
		t.Errorf("repair: exit %d, %s", code, out)
	}
	if _, code := f.verb(t, "orphans", "--deleted-topics"); code != 0 {
		t.Errorf("orphans, afterwards: exit %d", code)
	}
	_, err := m.PutRemotePartitionDeleteMetadata(t.Context(), api.RemotePartitionDeleteMetadata{TopicIdPartition: tip, State: api.DeletePartitionMarked})
	if !errors.Is(err, api.ErrInvalidPartitionDeleteTransition) {
		t.Errorf("the manager sees a partition that isn't ended: %v", err)
	}

	kafkatest.Load(t, f.bootstrap, f.topic, []kafkatest.Event{{Partition: codec.MetadataPartition(tip, 50), Value: []byte{1, 42, 0}}})
	deadline := time.Now().Add(patience) // the fleet tells of it in its own time
	for told := false; !told; {
		out, code := f.verb(t, "doctor")
		if told = code == 3 && strings.Contains(out, "Undecodable"); !told && time.Now().After(deadline) {
			t.Fatalf("doctor: exit %d, %s", code, out)
		}
	}
}

// served runs a server of the fleet until the test ends, and returns its URL once it is ready.
func (f fleet) served(t *testing.T) string {
	t.Helper()
	address := kafkatest.FreeAddress(t)
	start(t, command.Path(t), "serve", "--bootstrap", strings.Join(f.bootstrap, ","), "--topic", f.topic, "--group", f.group,
		"--data", t.TempDir(), "--http", address, "--allow-control")
	client, err := rest.NewClient("http://"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the server is ready", func() bool { return client.Ready(t.Context()) == nil })
	return "http://" + address
}

// printed is what a verb of the reading kind prints when it succeeds.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), command.Path(t), args...).Output()
	if err != nil {
		t.Fatalf("rlmm %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// The reading verbs say the same of a server as of the topic, and a state that is exported
// and imported is the same state: the main job of an operator, on a real broker.
func TestReadExportAndImport(t *testing.T) {
	f := newFleet(kafkatest.Bootstrap(t))
	kafkatest.CreateMetadataTopic(t, f.bootstrap, f.topic, 50)
	f.startProcessor(t)
	m := f.manager(t, views.BoundsSegment)
	tip := api.TopicIdPartition{TopicID: api.RandomUUID(), Topic: "orders"}
	var last api.RemoteLogSegmentMetadata
	for i := range int64(4) {
		last = newSegment(tip)
		last.StartOffset, last.EndOffset = 100*i, 100*i+99
		last.LeaderEpochs = api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: int32(i / 2), Offset: 100 * i})
		if _, err := m.AddRemoteLogSegmentMetadata(t.Context(), last); err != nil {
			t.Fatal(err)
		}
		u := api.RemoteLogSegmentMetadataUpdate{ID: last.ID, State: api.CopySegmentFinished, EventTimestampMs: 2}
		if _, err := m.UpdateRemoteLogSegmentMetadata(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	server, topic := []string{"--server", f.served(t)}, []string{"--bootstrap", strings.Join(f.bootstrap, ","), "--topic", f.topic}
	for _, verb := range [][]string{
		{"topics"},
		{"partitions", "orders"},
		{"segments", "orders-0"},
		{"epochs", "orders-0"},
		{"segment", last.ID.ID.String()},
		{"locate", "orders-0", "--offset", "350", "--epoch", "1"},
		{"verify"},
		{"export"},
	} {
		for _, form := range []string{"table", "json"} {
			if verb[0] == "export" && form == "table" {
				continue
			}
			args := verb
			if verb[0] != "export" {
				args = append(args, "-o", form)
			}
			of, from := printed(t, append(args, server...)...), printed(t, append(args, topic...)...)
			// Only the topic tells a segment's history, behind what both tell.
			if history := verb[0] == "segment"; history && !strings.HasPrefix(from, of) || !history && of != from {
				t.Errorf("%v: the server says\n%sthe topic\n%s", args, of, from)
			}
			if verb[0] != "verify" && !strings.Contains(of, tip.TopicID.String()) && !strings.Contains(of, last.ID.ID.String()) && !strings.Contains(of, "orders") {
				t.Errorf("%v tells nothing of the segments:\n%s", args, of)
			}
		}
	}
	if got := strings.Count(printed(t, append([]string{"dump"}, topic...)...), "\n"); got != 8 {
		t.Errorf("dump: %d events, want 8", got)
	}
	if got := printed(t, append([]string{"status", "--no-headers"}, server...)...); strings.Count(got, "RUNNING") != 50 {
		t.Errorf("status:\n%s", got)
	}

	file := filepath.Join(t.TempDir(), "state.jsonl")
	state := printed(t, append([]string{"export"}, topic...)...)
	if err := os.WriteFile(file, []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	other := newFleet(f.bootstrap)
	kafkatest.CreateMetadataTopic(t, other.bootstrap, other.topic, 50)
	other.startProcessor(t)
	if _, code := other.verb(t, "import", file, "--execute"); code != 0 {
		t.Fatalf("import: exit %d", code)
	}
	m = other.manager(t, views.BoundsSegment)
	if all, err := m.ListRemoteLogSegments(t.Context(), tip); err != nil || len(all) != 4 {
		t.Errorf("the other fleet has %d segments, %v", len(all), err)
	}
	again := printed(t, "export", "--bootstrap", strings.Join(other.bootstrap, ","), "--topic", other.topic)
	if again != state {
		t.Errorf("exported again:\n%swant\n%s", again, state)
	}
}
