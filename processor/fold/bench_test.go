package fold_test

import (
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/processor/fold"
)

// BenchmarkFold takes a segment through its copy: an add and an update.
func BenchmarkFold(b *testing.B) {
	added, finish := segment(api.CopySegmentStarted), update(api.CopySegmentFinished)
	b.ReportAllocs()
	for b.Loop() {
		row, outcome := fold.Fold(nil, added, at)
		if outcome.Rejected() {
			b.Fatal(outcome)
		}
		if _, outcome = fold.Fold(row, finish, at+1); outcome.Rejected() {
			b.Fatal(outcome)
		}
	}
}
