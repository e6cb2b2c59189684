package bench_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/integration/bench"
)

// values adds one value a round.
func values(t *testing.T, add func(string, float64) error, key string, values ...float64) {
	t.Helper()
	for _, v := range values {
		if err := add(key, v); err != nil {
			t.Fatal(err)
		}
	}
}

// results has a measure of each sort: less is better, more is better, without a peer,
// and without a target.
func results(t *testing.T) *bench.Results {
	t.Helper()
	r := &bench.Results{}
	r.Declare(bench.Measure{Key: "extra", Name: "extra: 10 segments", Unit: "ms", Lower: true})
	values(t, r.Ours, "extra", 0.0123)
	values(t, r.Ours, "add.p50", 2, 4, 3)
	values(t, r.Peer, "add.p50", 60, 40, 54)
	values(t, r.Ours, "mutations.100", 9000, 8000, 7000)
	values(t, r.Peer, "mutations.100", 3000, 4000, 7000)
	values(t, r.Ours, "assign", 120, 310, 299)
	return r
}

func TestRowsCompareThePairs(t *testing.T) {
	type row struct {
		Name                   string
		Ours, Peer             float64
		Ratio, Lowest, Highest float64
		Met, Asked             bool
	}
	var got []row
	for _, r := range results(t).Rows() {
		met, asked := r.Met()
		got = append(got, row{r.Measure.Name, r.Ours, r.Peer, r.Ratio, r.Lowest, r.Highest, met, asked})
	}
	want := []row{
		{"add: median wait", 3, 54, 18, 10, 30, false, true},
		{"mutations, 100 in flight", 8000, 4000, 2, 1, 3, true, true},
		{"new metadata partition, the rest ready", 299, 0, 0, 0, 0, true, true},
		{"extra: 10 segments", 0.0123, 0, 0, 0, 0, true, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestAnUnknownMeasureIsAnError(t *testing.T) {
	var r bench.Results
	if err := r.Ours("nothing", 1); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("error %v, want one that names the measure", err)
	}
}

func TestMeasuresHaveKeysOfTheirOwnAndOneTarget(t *testing.T) {
	keys, names := map[string]bool{}, map[string]bool{}
	for _, m := range bench.Measures {
		if keys[m.Key] || names[m.Name] {
			t.Errorf("%s: twice", m.Key)
		}
		keys[m.Key], names[m.Name] = true, true
		if m.Ratio > 0 && m.Bound > 0 {
			t.Errorf("%s: two targets", m.Key)
		}
	}
}

func TestWriteTable(t *testing.T) {
	var out bytes.Buffer
	if err := bench.WriteTable(&out, results(t).Rows()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"measure unit ours Kafka's ratio lowest–highest rounds target met",
		"add: median wait ms 3.00 54.0 18.0 10.0–30.0 3 ratio ≥ 20.0 no",
		"mutations, 100 in flight 1/s 8000 4000 2.00 1.00–3.00 3 ratio ≥ 2.00 yes",
		"new metadata partition, the rest ready ms 299 – – – 3 ≤ 300 ms yes",
		"extra: 10 segments ms 0.0123 – – – 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestWriteJSON(t *testing.T) {
	var out bytes.Buffer
	if err := bench.WriteJSON(&out, results(t).Rows()); err != nil {
		t.Fatal(err)
	}
	want := `{"name":"add: median wait","ours":3,"peer":54,"unit":"ms","ratio":18,"lowestRatio":10,"highestRatio":30,"rounds":3,"target":"ratio ≥ 20.0","met":false}
{"name":"mutations, 100 in flight","ours":8000,"peer":4000,"unit":"1/s","ratio":2,"lowestRatio":1,"highestRatio":3,"rounds":3,"target":"ratio ≥ 2.00","met":true}
{"name":"new metadata partition, the rest ready","ours":299,"peer":null,"unit":"ms","ratio":null,"lowestRatio":null,"highestRatio":null,"rounds":3,"target":"≤ 300 ms","met":true}
{"name":"extra: 10 segments","ours":0.0123,"peer":null,"unit":"ms","ratio":null,"lowestRatio":null,"highestRatio":null,"rounds":1,"target":"","met":null}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}
