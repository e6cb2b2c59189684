package metrics

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("%s, run with -update (-file +now):\n%s", path, diff)
	}
}

func gather(t *testing.T, reg prometheus.Gatherer) []*dto.MetricFamily {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// shown is a metric as people see it.
type shown struct {
	name, kind, help string
	labels           []string
}

func show(f *dto.MetricFamily) shown {
	s := shown{name: f.GetName(), kind: strings.ToLower(f.GetType().String()), help: f.GetHelp()}
	labels := map[string]bool{}
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = true
		}
	}
	s.labels = slices.Sorted(maps.Keys(labels))
	return s
}

// all shows every metric with partitions asked for, which has them all, and without.
func all(t *testing.T) (with, without []shown) {
	t.Helper()
	for _, o := range []Options{{Partitions: true}, {}} {
		reg, _ := everything(o, nil)
		var list []shown
		for _, f := range gather(t, reg) {
			list = append(list, show(f))
		}
		with, without = without, list
	}
	return with, without
}

// Dashboards and alerts of people stand on these names: none may change unnoticed.
func TestNamesTypesAndHelp(t *testing.T) {
	with, without := all(t)
	var b strings.Builder
	for _, m := range without {
		fmt.Fprintf(&b, "%s %s {%s}\n  %s\n", m.name, m.kind, strings.Join(m.labels, ","), m.help)
	}
	b.WriteString("\nwith --metrics-partitions\n\n")
	for _, m := range with {
		if slices.Contains(m.labels, "partition") {
			fmt.Fprintf(&b, "%s %s {%s}\n  %s\n", m.name, m.kind, strings.Join(m.labels, ","), m.help)
		}
	}
	golden(t, filepath.Join("testdata", "metrics.txt"), b.String())
}

func TestLint(t *testing.T) {
	for _, o := range []Options{{}, {Partitions: true}} {
		reg, _ := everything(o, nil)
		problems, err := testutil.GatherAndLint(reg)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
		for _, f := range gather(t, reg) {
			if !strings.HasSuffix(f.GetHelp(), ".") || !strings.HasPrefix(f.GetName(), "rlmm_") {
				t.Errorf("%s: want the prefix rlmm_, and a sentence for help: %q", f.GetName(), f.GetHelp())
			}
		}
	}
}

// Fifty series of each metric are for those who ask.
func TestNoPartitionLabelUnlessAsked(t *testing.T) {
	with, without := all(t)
	hasPartition := func(m shown) bool { return slices.Contains(m.labels, "partition") }
	if slices.ContainsFunc(without, hasPartition) || !slices.ContainsFunc(with, hasPartition) {
		t.Errorf("partition is a label of %v, and when asked for of %v", without, with)
	}
}

const docsHead = `# Metrics

` + "`rlmm serve`, `rlmm processor --http` and `rlmm dev` serve them at `/metrics`" + `, with those of Go and of the process
(` + "`go_*`, `process_*`" + `). Values are read when they are scraped. The label ` + "`role`" + ` is ` + "`processor` or `view`" + `: one process may be both.

There is no label for each metadata partition unless ` + "`--metrics-partitions` (`metrics.partitions=true`)" + ` asks for it: there are
fifty. Then the lag and the staleness have it too; ` + "`sum by (role)` and `max by (role)`" + ` of them are right in both cases.

The metrics of segments are counted when they are first asked for, which reads every row once, and kept from then on.

Alerts on them are in [deploy/prometheus/alerts.yaml](../deploy/prometheus/alerts.yaml), and a Grafana dashboard is
[deploy/grafana/rlmm.json](../deploy/grafana/rlmm.json). [Deployment](deployment.md) has the probes.

This page is made from the code: ` + "`go test ./internal/metrics -update`" + `.

| metric | type | labels | |
|---|---|---|---|
`

func TestDocsAreUpToDate(t *testing.T) {
	with, _ := all(t)
	var b strings.Builder
	b.WriteString(docsHead)
	for _, m := range with {
		labels := ""
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, m.kind, labels, m.help)
	}
	golden(t, filepath.Join("..", "..", "docs", "metrics.md"), b.String())
}

// What the fake consumer is in comes out, summed or one by one.
func TestValuesOfAConsumer(t *testing.T) {
	summed, _ := everything(Options{}, nil)
	expect(t, summed, map[string]float64{
		`rlmm_ready{role=view}`:                                                             0,
		`rlmm_init_state{role=view,state=FAILED}`:                                           1,
		`rlmm_init_state{role=view,state=RUNNING}`:                                          0,
		`rlmm_metadata_partitions{role=view,state=RUNNING}`:                                 1,
		`rlmm_metadata_partitions{role=view,state=PAUSED}`:                                  1,
		`rlmm_metadata_partitions_failed{reason=end_before_applied,role=view}`:              1,
		`rlmm_metadata_partitions_failed{reason=denied,role=view}`:                          0,
		`rlmm_metadata_lag_records{role=view}`:                                              7,
		`rlmm_metadata_staleness_seconds{role=view}`:                                        90,
		`rlmm_state_resets_total{reason=gap,role=processor}`:                                1,
		`rlmm_state_resets_total{reason=corrupt,role=processor}`:                            0,
		`rlmm_consumer_restarts_total{reason=failed,role=view}`:                             2,
		`rlmm_table_stale_records_total{role=view}`:                                         3,
		`rlmm_table_foreign_records_total{role=view}`:                                       4,
		`rlmm_store_bytes{role=view}`:                                                       5,
		`rlmm_store_open_files{role=view}`:                                                  6,
		`rlmm_events_applied_total{role=processor,state=COPY_SEGMENT_STARTED,type=segment}`: 11,
		`rlmm_events_dropped_total{reason=undecodable,role=processor}`:                      2,
		`rlmm_events_dropped_total{reason=misrouted,role=processor}`:                        0,
		`rlmm_rebalances_total{role=processor}`:                                             7,
		`rlmm_input_gaps_total{role=processor}`:                                             8,
		`rlmm_segments{role=view,state=DELETE_SEGMENT_STARTED}`:                             3,
		`rlmm_segment_bytes{role=view,state=COPY_SEGMENT_FINISHED}`:                         20,
		`rlmm_orphan_segments{kind=headless,role=view}`:                                     4,
		`rlmm_orphan_segments{kind=deleted_partition,role=view}`:                            5,
		`rlmm_metadata_topic_config_ok{check=retention}`:                                    1,
		`rlmm_metadata_topic_config_ok{check=min_isr}`:                                      0,
		`rlmm_recovery_records_total{role=view,source=store}`:                               3,
		`rlmm_recovery_records_total{role=view,source=topic}`:                               0,
		`rlmm_recovery_duration_seconds{role=processor,source=store}`:                       1,
	})
	each, _ := everything(Options{Partitions: true}, nil)
	expect(t, each, map[string]float64{
		`rlmm_metadata_partition_ready{partition=0,role=view}`:          1,
		`rlmm_metadata_partition_ready{partition=4,role=view}`:          0,
		`rlmm_metadata_partition_applied_offset{partition=7,role=view}`: 20,
		`rlmm_metadata_partition_end_offset{partition=7,role=view}`:     10,
		`rlmm_metadata_lag_records{partition=3,role=processor}`:         4,
		`rlmm_metadata_staleness_seconds{partition=3,role=processor}`:   90,
	})
}

// expect compares values by metric and labels; of a histogram the value is its count.
func expect(t *testing.T, reg prometheus.Gatherer, want map[string]float64) {
	t.Helper()
	got := map[string]float64{}
	for _, f := range gather(t, reg) {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			key := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			got[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	for key, value := range want {
		if v, ok := got[key]; !ok || v != value {
			t.Errorf("%s is %v (there: %t), want %v", key, v, ok, value)
		}
	}
}
