//go:build integration

package bench_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tieredlog/rlmm/integration/bench"
)

var (
	quick    = flag.Bool("quick", false, "less work, and no growth: under two minutes")
	pairs    = flag.Int("pairs", 5, "how often each side takes its turn")
	jsonFile = flag.String("json", "", "file for the results, an object a line; empty is none")
	profiles = flag.String("profiles", "", "folder for CPU and heap profiles of our side; empty is none")
)

// BenchmarkPeer measures ours next to Kafka's own manager. Each part has a fresh broker.
func BenchmarkPeer(b *testing.B) {
	scale := full
	if *quick {
		scale = short
	}
	h := &harness{scale: scale, results: &bench.Results{}, driver: buildDriver(b)}
	b.Run("mutations", h.mutations)
	b.Run("queries", h.queries)
	b.Run("restart", h.restart)
	if !*quick {
		b.Run("growth", h.growth)
		b.Run("scaling", h.scaling)
	}
	h.report(b)
}

// scale is how much work there is.
type scale struct {
	latencySegments  int
	inFlight         map[int]int // segments by how many are in flight
	querySegments    int
	warmUp, measure  int64 // milliseconds for each question
	restartSegments  int
	growthSegments   int
	growthStretch    int64 // events
	scalingSegments  []int
	scalingUserParts []int
}

var full = scale{
	latencySegments: 1_000, inFlight: map[int]int{1: 500, 100: 20_000, 1000: 40_000},
	querySegments: 10_000, warmUp: 1500, measure: 2500,
	restartSegments: 250_000, growthSegments: 5_000_000, growthStretch: 500_000,
	scalingSegments: []int{10_000, 100_000, 1_000_000}, scalingUserParts: []int{1, 100, 10_000},
}

var short = scale{
	latencySegments: 30, inFlight: map[int]int{1: 25, 100: 1_500, 1000: 5_000},
	querySegments: 10_000, warmUp: 400, measure: 250,
	restartSegments: 40_000,
}

// harness runs the parts and collects their results.
type harness struct {
	scale   scale
	results *bench.Results
	driver  string // the program's path
}

// report writes the results, also when a part failed.
func (h *harness) report(b *testing.B) {
	b.Helper()
	rows := h.results.Rows()
	fmt.Fprintln(os.Stdout)
	if err := bench.WriteTable(os.Stdout, rows); err != nil {
		b.Error(err)
	}
	if *jsonFile == "" {
		return
	}
	file, err := os.Create(filepath.Clean(*jsonFile))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	if err := bench.WriteJSON(file, rows); err != nil {
		b.Error(err)
	}
}
