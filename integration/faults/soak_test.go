package faults

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
)

func weights(since float64, heaps ...uint64) []Weight {
	var all []Weight
	for i, h := range heaps {
		all = append(all, Weight{AtSeconds: since + float64(i), HeapBytes: h, RSSBytes: 200})
	}
	return all
}

func TestGrowth(t *testing.T) {
	for _, tt := range []struct {
		name    string
		weights []Weight
		since   float64
		want    float64
		ok      bool
	}{
		{"nothing", nil, 0, 0, false},
		{"too few", weights(0, 1, 2, 3, 4, 5), 0, 0, false},
		{"flat", weights(0, 100, 100, 100, 100, 100, 100), 0, 0, true},
		{"a leak", weights(0, 100, 110, 120, 130, 140, 150), 0, 0.2, true},
		{"a leak behind a warm-up", weights(0, 10, 20, 100, 110, 120, 130, 140, 150), 2, 0.2, true},
		{"a warm-up alone", weights(0, 10, 20, 100, 100, 100, 100, 100, 100), 2, 0, true},
		{"one that stands out", weights(0, 100, 100, 100, 100, 100, 100, 100, 900, 100), 0, 0, true},
		{"less", weights(0, 200, 200, 200, 100, 100, 100), 0, -0.5, true},
	} {
		got, ok := Growth(tt.weights, tt.since)
		if ok != tt.ok || got < tt.want-1e-9 || got > tt.want+1e-9 {
			t.Errorf("%s: %v, %t, want %v, %t", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

// What an observer kept is summed by the question and by what became of the mutation.
func TestSoakCounts(t *testing.T) {
	r := newRecorder(Observed{Partitions: testPartitions})
	random := rand.New(rand.NewPCG(1, 1))
	for range 3 {
		q := randomQuery(random, LoadPartitions()[0])
		q.kind = listByEpoch
		r.answers = append(r.answers, answered{query: q})
	}
	published, not := api.Position{Offset: 1}, api.Position{Offset: -1}
	r.mutations = []mutation{
		{position: published},
		{position: published},
		{position: published, err: &api.InvalidAddError{}},
		{position: not, err: &api.InvalidAddError{}},
		{position: not, err: api.ErrClosed},
		{position: published, err: &api.TimeoutError{}},
	}
	s := Soak{Answered: map[string]int{}, Outcomes: map[string]int{}}
	s.Count(r)
	if diff := cmp.Diff(map[string]int{"ListRemoteLogSegmentsByEpoch": 3}, s.Answered); diff != "" {
		t.Errorf("answered (-want +got):\n%s", diff)
	}
	want := map[string]int{"applied": 2, "InvalidAdd": 1, "InvalidAdd, unpublished": 1, "closed": 1, "Timeout": 1}
	if diff := cmp.Diff(want, s.Outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestSoakIsWritten(t *testing.T) {
	want := Soak{
		Seed: 7, Harms: map[string]int{"kill": 1}, Deeds: []Deed{{1, "kill", 2}}, Growth: map[string]float64{"view": 0.01},
		Memory: map[string][]Weight{"view": weights(1, 100)}, Observers: map[string]Counts{"view": {Asked: 1}},
	}
	var b bytes.Buffer
	if err := want.Write(&b); err != nil {
		t.Fatal(err)
	}
	var got Soak
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("written and read (-want +got):\n%s", diff)
	}
}
