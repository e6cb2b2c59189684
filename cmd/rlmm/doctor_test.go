package main

import (
	"testing"
)

func TestDoctorSaysNothingOfAHealthyFleet(t *testing.T) {
	_, _, kafka := devRun(t, t.TempDir())
	for _, form := range []string{"table", "json"} {
		got := execute(t, "", "doctor", "--bootstrap", kafka, "-o", form)
		if got.code != 0 || got.out != "" || got.err != "15 checks, all is well\n" {
			t.Errorf("%+v", got)
		}
	}
}
