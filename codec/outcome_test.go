package codec_test

import (
	"testing"

	"github.com/tieredlog/rlmm/codec"
)

func TestOutcomeText(t *testing.T) {
	for o := codec.OutcomeApplied; o <= codec.OutcomeRepair; o++ {
		if got, err := codec.ParseOutcome(o.String()); got != o || err != nil {
			t.Errorf("ParseOutcome(%q) = %v, %v", o, got, err)
		}
	}
	for _, text := range []string{"", "Applied", "UNKNOWN(0)"} {
		if got, err := codec.ParseOutcome(text); err == nil {
			t.Errorf("ParseOutcome(%q) = %v, want an error", text, got)
		}
	}
	if got := codec.Outcome(0).String(); got != "UNKNOWN(0)" {
		t.Errorf("zero outcome is %q", got)
	}
}

func TestOutcomeRejected(t *testing.T) {
	accepted := map[codec.Outcome]bool{codec.OutcomeApplied: true, codec.OutcomePurge: true, codec.OutcomeRepair: true}
	for o := codec.OutcomeApplied; o <= codec.OutcomeRepair; o++ {
		if o.Rejected() == accepted[o] {
			t.Errorf("%s: Rejected() = %v", o, o.Rejected())
		}
	}
}
