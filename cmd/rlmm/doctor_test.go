package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/internal/doctor"
)

func TestDoctorSaysNothingOfAHealthyFleet(t *testing.T) {
	_, _, kafka := devRun(t, t.TempDir())
	for _, form := range []string{"table", "json"} {
		got := execute(t, "", "doctor", "--bootstrap", kafka, "-o", form)
		if got.code != 0 || got.out != "" || got.err != "15 checks, all is well\n" {
			t.Errorf("%+v", got)
		}
	}
	// What is rejected afterwards, and a count that isn't the brokers', is told.
	if got := execute(t, recordLine(3, []byte{1, 42, 0}), "load", "-", "--bootstrap", kafka); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	source := []string{"--bootstrap", kafka}
	for told := false; !told && t.Context().Err() == nil; { // the fleet tells of it in its own time
		told = strings.Contains(execute(t, "", "doctor", "--bootstrap", kafka).out, "rejected")
	}
	golden(t, "doctor", script(t, source, "", "doctor --partitions 60", "doctor --partitions 60 -o json"))
	if got := execute(t, "", "doctor", "--bootstrap", "127.0.0.1:1"); got.code != exitFailure || got.out != "" {
		t.Errorf("without a cluster: %+v", got)
	}
}

// A cluster where nothing of rlmm is yet.
func TestDoctorOfABareCluster(t *testing.T) {
	c := newSecureCluster(t)
	got := execute(t, "", "doctor", "--config", c.config, "-o", "json")
	var checks []string
	for line := range strings.Lines(got.out) {
		var f doctor.Finding
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		checks = append(checks, f.Check)
	}
	if strings.Join(checks, " ") != "topic topic topic fleet" || got.code != exitFindings || !strings.HasSuffix(got.err, "rlmm: 15 checks, 4 findings\n") {
		t.Errorf("%+v", got)
	}
}
