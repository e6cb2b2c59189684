//go:build integration

package bench_test

import (
	"fmt"
	"testing"

	"github.com/tieredlog/rlmm/integration/bench"
)

// growth has a fleet build a table of many rows, and compares its rate over the stretches
// of so many events. The last stretch is left out: in it partitions run dry.
func (h *harness) growth(b *testing.B) {
	w := h.newWorld(b)
	f := w.newFleet("rlmm-metadata", "rlmm")
	w.fill(f.topic, bench.Added(bench.Segments(seed, restartPartitions, h.scale.growthSegments)))
	rates := bench.Rates(w.process(f, int64(h.scale.growthSegments)), h.scale.growthStretch)
	for i, rate := range rates {
		w.say(fmt.Sprint("stretch ", i+1), map[string]float64{"events/s": rate})
	}
	w.record(h.results.Ours, map[string]float64{"processor.growth": bench.Growth(rates[:len(rates)-1])})
}

// scaling measures how our cost grows with the live segments and with the user
// partitions that share them.
func (h *harness) scaling(b *testing.B) {
	w := h.newWorld(b)
	for _, segments := range h.scale.scalingSegments {
		for _, partitions := range h.scale.scalingUserParts {
			w.scalingAt(segments, partitions)
		}
	}
}

func (w *world) scalingAt(segments, partitions int) {
	w.b.Helper()
	name := fmt.Sprintf("rlmm-%d-%d", segments, partitions)
	f := w.newFleet(name+"-metadata", name)
	w.fill(f.topic, bench.Finished(bench.Segments(seed, partitions, segments)))
	r := bench.Request{
		Kind: bench.Ready, Data: w.b.TempDir(), Seed: seed, UserPartitions: partitions, Segments: segments,
		WarmUpMs: w.scale.warmUp, MeasureMs: w.scale.measure,
	}
	w.turn(f, r)
	values := w.turn(f, r)
	values["lookup"] = w.turn(f, kind(r, bench.Lookups))["lookup"]
	event := kind(r, bench.Latency)
	event.Segments = w.scale.latencySegments
	values["event"] = w.turn(f, event)["add.p50"]
	w.recordScaling(fmt.Sprintf("%d segments in %d partitions", segments, partitions), values)
}

// recordScaling declares the measures of one size.
func (w *world) recordScaling(size string, values map[string]float64) {
	w.b.Helper()
	measures := []bench.Measure{
		{Key: "lookup", Name: "look-up", Unit: "1/s"},
		{Key: "event", Name: "add, median wait", Unit: "ms", Lower: true},
		{Key: "ready", Name: "restart, time to ready", Unit: "ms", Lower: true},
	}
	for _, m := range measures {
		value := values[m.Key]
		m.Key, m.Name = size+m.Key, m.Name+": "+size
		w.results.Declare(m)
		w.record(w.results.Ours, map[string]float64{m.Key: value})
	}
}
