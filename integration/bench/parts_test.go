//go:build integration

package bench_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tieredlog/rlmm/integration/bench"
	"github.com/tieredlog/rlmm/integration/kafkatest"
)

// restartPartitions is how many user partitions share the segments of a restart.
const restartPartitions = 100

// warmSeed is beyond the seeds of what is measured.
const warmSeed = 1_000

// mutations measures adds and updates. Each side has a topic of its own: neither reads
// what the other has written.
func (h *harness) mutations(b *testing.B) {
	w := h.newWorld(b)
	f := w.newFleet("rlmm-metadata", "rlmm")
	w.createTopic(f.topic)
	w.createTopic(kafkatest.MetadataTopic)
	h.warmUp(w, f)
	for pair := range *pairs {
		requests := h.mutationRequests(int64(pair))
		member := w.startProfiled(f, w.profile("processor"))
		w.record(h.results.Ours, w.ours(f, requests...))
		member.Stop(b)
		w.record(h.results.Peer, w.peer(requests...))
	}
}

// warmUp has each side write what isn't measured, since the first turn would otherwise pay
// for the broker's cold code.
func (h *harness) warmUp(w *world, f fleet) {
	warm := bench.Request{Kind: bench.Throughput, Seed: warmSeed, UserPartitions: 100, Segments: h.scale.inFlight[100], InFlight: 100}
	w.turn(f, warm)
	w.peer(warm)
}

// mutationRequests is one side's turn, on partitions of the pair's own. What each waits for
// comes first, as in a manager that does little: Kafka's looks every 50 ms whether an event
// was consumed, unless it was at once. About half of its waits end at once, so which of the
// two its median is is chance.
func (h *harness) mutationRequests(pair int64) []bench.Request {
	requests := []bench.Request{{Kind: bench.Latency, Seed: pair, UserPartitions: 10, Segments: h.scale.latencySegments}}
	for _, inFlight := range slices.Sorted(slices.Values([]int{1, 100, 1000})) {
		requests = append(requests, bench.Request{
			Kind: bench.Throughput, Seed: pair, UserPartitions: 100, Segments: h.scale.inFlight[inFlight], InFlight: inFlight,
		})
	}
	return requests
}

// queries measures questions, on one topic for both.
func (h *harness) queries(b *testing.B) {
	w := h.newWorld(b)
	f := w.newFleet(kafkatest.MetadataTopic, "rlmm")
	w.fill(f.topic, bench.Finished(bench.QuerySegments(seed, h.scale.querySegments)))
	request := bench.Request{
		Kind: bench.Queries, Seed: seed, UserPartitions: 2, Segments: h.scale.querySegments,
		WarmUpMs: h.scale.warmUp, MeasureMs: h.scale.measure,
	}
	for range *pairs {
		member := w.start(f)
		w.record(h.results.Ours, w.ours(f, request))
		member.Stop(b)
		w.record(h.results.Peer, w.peer(request))
	}
}

// restart measures the fleet on an empty table, and then managers that start on that
// table.
func (h *harness) restart(b *testing.B) {
	w := h.newWorld(b)
	w.fill(kafkatest.MetadataTopic, bench.Finished(bench.Segments(seed, restartPartitions, h.scale.restartSegments)))
	f := w.processAnew()
	warm := bench.Request{Kind: bench.Ready, Data: b.TempDir(), Seed: seed, UserPartitions: restartPartitions, Segments: h.scale.restartSegments}
	w.turn(f, warm)
	for range *pairs {
		w.restartPair(f, warm)
	}
	w.compact(f)
	for range *pairs {
		w.record(h.results.Ours, rename(w.turn(f, emptied(warm)), "first.compacted"))
		w.record(h.results.Peer, rename(w.peer(warm), "first.compacted"))
	}
}

// processAnew has fleets process the topic, each from an empty table, and returns the
// last one.
func (w *world) processAnew() (f fleet) {
	w.b.Helper()
	events := int64(2 * w.scale.restartSegments)
	for round := range *pairs {
		f = w.newFleet(kafkatest.MetadataTopic, fmt.Sprint("rlmm-", round))
		samples := w.process(f, events)
		last := samples[len(samples)-1]
		rate := map[string]float64{"processor": float64(events) / last.After.Seconds()}
		w.say("fleet", rate)
		w.record(w.results.Ours, rate)
	}
	return f
}

// restartPair has each side start in all the ways, in a process of its own each time:
// a broker that starts is cold. Kafka's manager has but one way to start. The fleet runs all
// the while, and has nothing to do: before ours starts with nothing new, it has seen what
// the fleet wrote when that started.
func (w *world) restartPair(f fleet, warm bench.Request) {
	w.b.Helper()
	member := w.start(f)
	w.record(w.results.Ours, rename(w.ours(f, warm), "restart.fleet"))
	w.record(w.results.Ours, rename(w.ours(f, warm), "restart"))
	w.record(w.results.Ours, rename(w.ours(f, emptied(warm)), "first.written"))
	w.record(w.results.Ours, w.ours(f, kind(warm, bench.Assign)))
	w.record(w.results.Ours, w.ours(f, kind(warm, bench.Memory)))
	member.Stop(w.b)
	w.record(w.results.Peer, rename(w.peer(warm), "restart", "restart.fleet", "first.written"))
	w.record(w.results.Peer, w.peer(kind(warm, bench.Assign)))
	w.record(w.results.Peer, w.peer(kind(warm, bench.Memory)))
}

// turn is our turn with the fleet running.
func (w *world) turn(f fleet, r bench.Request) map[string]float64 {
	w.b.Helper()
	member := w.start(f)
	defer member.Stop(w.b)
	return w.ours(f, r)
}

// emptied is the request on an empty folder.
func emptied(r bench.Request) bench.Request {
	r.Data = ""
	return r
}

func kind(r bench.Request, kind string) bench.Request {
	r.Kind = kind
	return r
}

// rename gives the time to ready the names of what it stands for.
func rename(values map[string]float64, keys ...string) map[string]float64 {
	renamed := map[string]float64{}
	for _, key := range keys {
		renamed[key] = values["ready"]
	}
	return renamed
}
