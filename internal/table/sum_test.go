package table

import (
	"testing"
	"time"

	"github.com/tieredlog/rlmm/codec"
)

// Whatever differs between two records makes their sums differ, but for the time of a
// table record.
func TestSums(t *testing.T) {
	base := Record{Kind: Answer, Key: "k", Value: []byte("v"), Source: 1, Outcome: codec.OutcomeApplied, Writer: 2, Input: 3}
	same := base
	same.Time = at
	wantSame(t, "sum at another time", base.Sum(), same.Sum())
	seen := map[uint32]string{base.Sum(): "base"}
	for name, change := range map[string]func(*Record){
		"kind":    func(r *Record) { r.Kind = Purge },
		"key":     func(r *Record) { r.Key = "l" },
		"value":   func(r *Record) { r.Value = []byte("w") },
		"none":    func(r *Record) { r.Value = nil },
		"source":  func(r *Record) { r.Source++ },
		"outcome": func(r *Record) { r.Outcome++ },
		"writer":  func(r *Record) { r.Writer++ },
		"input":   func(r *Record) { r.Input++ },
	} {
		r := base
		change(&r)
		if other, ok := seen[r.Sum()]; ok {
			t.Errorf("%s has the sum of %s", name, other)
		}
		seen[r.Sum()] = name
	}
}

func TestInputSums(t *testing.T) {
	base := InputSum(at, []byte("v"))
	wantSame(t, "the same", base, InputSum(at.In(time.UTC).Add(time.Microsecond), []byte("v")))
	for _, other := range []uint32{InputSum(at.Add(time.Millisecond), []byte("v")), InputSum(at, []byte("w")), InputSum(at, nil), InputSum(time.Time{}, nil)} {
		if other == base || other == 0 {
			t.Errorf("%d and %d", other, base)
		}
	}
	// The format's own example: CRC-32C, as RFC 3720 has it for 32 zero bytes.
	wantSame(t, "CRC-32C", uint32(0x8a9136aa), InputSum(time.UnixMilli(0), make([]byte, 24)))
}
