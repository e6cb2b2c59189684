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
