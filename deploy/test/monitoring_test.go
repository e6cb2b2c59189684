package deploytest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
)

func readFile(t *testing.T, path ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// known are rlmm's metrics with the labels that they have, and those that every process has.
func known(t *testing.T) map[string][]string {
	t.Helper()
	metrics := map[string][]string{
		"go_goroutines": nil, "process_resident_memory_bytes": nil, "process_cpu_seconds_total": nil,
	}
	golden := string(readFile(t, deploy, "..", "internal", "metrics", "testdata", "metrics.txt"))
	for _, m := range regexp.MustCompile(`(?m)^(rlmm_\w+) (\w+) \{(.*)\}$`).FindAllStringSubmatch(golden, -1) {
		name, labels := m[1], strings.Split(m[3], ",")
		metrics[name] = labels
		if m[2] == "histogram" {
			metrics[name+"_bucket"], metrics[name+"_count"], metrics[name+"_sum"] = append(labels, "le"), labels, labels
		}
	}
	if len(metrics) < 20 {
		t.Fatalf("only %d metrics are known", len(metrics))
	}
	return metrics
}

// faultsOf says what is wrong with an expression: it doesn't parse, asks for a metric that
// isn't there, or for a label that the metric doesn't have.
func faultsOf(expr string, metrics map[string][]string) (faults []string) {
	parsed, err := parser.ParseExpr(expr)
	if err != nil {
		return []string{err.Error()}
	}
	fromScrape := []string{labels.MetricName, "job", "instance"}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		v, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		has, ok := metrics[v.Name]
		if !ok {
			faults = append(faults, "no metric "+v.Name)
		}
		for _, m := range v.LabelMatchers {
			if ok && !slices.Contains(has, m.Name) && !slices.Contains(fromScrape, m.Name) {
				faults = append(faults, v.Name+" has no label "+m.Name)
			}
		}
		return nil
	})
	return faults
}

func TestFaultsOfExpressionsAreFound(t *testing.T) {
	metrics := map[string][]string{"a_total": {"reason"}}
	for expr, want := range map[string]int{
		`rate(a_total{reason="x",job="j"}[5m]) > 0`: 0, `rate(a_total[5m]`: 1, `b_total`: 1, `a_total{cause="x"}`: 1, `sum(a_total) + b + c`: 2,
	} {
		if got := faultsOf(expr, metrics); len(got) != want {
			t.Errorf("%s: %q, want %d", expr, got, want)
		}
	}
}

// Prometheus loads the rules, templates in their annotations too.
func TestAlertsLoad(t *testing.T) {
	groups, errs := rulefmt.Parse(readFile(t, deploy, "prometheus", "alerts.yaml"), false)
	for _, err := range errs {
		t.Error(err)
	}
	if t.Failed() {
		return
	}
	metrics, seen := known(t), []string{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			seen = append(seen, rule.Alert)
			for _, fault := range faultsOf(rule.Expr, metrics) {
				t.Errorf("%s: %s", rule.Alert, fault)
			}
			if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%s: want a severity, a summary and a description", rule.Alert)
			}
		}
	}
	for _, alert := range []string{
		"RlmmNotReady", "RlmmStale", "RlmmUndecodableEvents", "RlmmEndBeforeApplied", "RlmmOrphansGrowing", "RlmmRestarts", "RlmmStateReset",
	} {
		if !slices.Contains(seen, alert) {
			t.Errorf("no alert %s", alert)
		}
	}
}

func TestBrokenRulesAreFound(t *testing.T) {
	for _, rule := range []string{
		"alert: A\n    expr: up ==", "alert: A\n    expr: up\n    fro: 5m",
		"alert: A\n    expr: up\n    annotations: {summary: '{{ $lables.instance }}'}",
	} {
		if _, errs := rulefmt.Parse([]byte("groups:\n- name: g\n  rules:\n  - "+rule+"\n"), false); len(errs) == 0 {
			t.Errorf("no fault in %s", rule)
		}
	}
}

// dashboard is what is checked of Grafana's.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []struct {
		ID          int
		Type, Title string
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ RefID, Expr string }
	}
}

// filled are Grafana's variables, as it fills them in.
var filled = strings.NewReplacer("$__rate_interval", "1m", "$job", ".*", "$instance", ".*")

func TestDashboardLoads(t *testing.T) {
	var d dashboard
	if err := json.Unmarshal(readFile(t, deploy, "grafana", "rlmm.json"), &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.Title == "" || d.SchemaVersion == 0 || len(d.Panels) < 10 {
		t.Errorf("no dashboard: %+v", d)
	}
	metrics, ids := known(t), map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || (p.Type != "row" && len(p.Targets) == 0) {
			t.Errorf("panel %q: its id is taken, it is too wide, or it asks for nothing", p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			expr := filled.Replace(target.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("panel %q: a variable that isn't there: %s", p.Title, expr)
			}
			for _, fault := range faultsOf(expr, metrics) {
				t.Errorf("panel %q: %s", p.Title, fault)
			}
		}
	}
}

// The chart's monitor finds each pod once, by its headless service, at the port of HTTP.
func TestServiceMonitor(t *testing.T) {
	objects := install(t, variants["all there is"])
	monitor := objects["ServiceMonitor/prod-rlmm"].(*monitoringv1.ServiceMonitor)
	selector, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, s := range of[*corev1.Service](objects) {
		if selector.Matches(k8slabels.Set(s.Labels)) {
			found = append(found, s.Name)
			if s.Spec.Ports[0].Name != monitor.Spec.Endpoints[0].Port || !s.Spec.PublishNotReadyAddresses {
				t.Errorf("%s: want the monitor's port %q, and pods that aren't ready too", s.Name, monitor.Spec.Endpoints[0].Port)
			}
		}
	}
	if diff := cmp.Diff([]string{"prod-rlmm-processor-pods", "prod-rlmm-serve-pods"}, found); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	if monitor.Spec.Endpoints[0].Path != "/metrics" || monitor.Labels["release"] != "prometheus" {
		t.Errorf("%+v", monitor)
	}
}

// The chart's rules and dashboard are the ones in their folders.
func TestChartHasTheRulesAndTheDashboard(t *testing.T) {
	objects := install(t, variants["all there is"])
	rules := objects["PrometheusRule/prod-rlmm"].(*monitoringv1.PrometheusRule)
	groups, errs := rulefmt.Parse(readFile(t, deploy, "prometheus", "alerts.yaml"), false)
	if len(errs) > 0 || len(groups.Groups) == 0 || len(rules.Spec.Groups) != len(groups.Groups) {
		t.Fatalf("%v: %d groups of rules, want %d", errs, len(rules.Spec.Groups), len(groups.Groups))
	}
	for i, g := range groups.Groups {
		if len(rules.Spec.Groups[i].Rules) != len(g.Rules) {
			t.Errorf("%s: %d rules, want %d", g.Name, len(rules.Spec.Groups[i].Rules), len(g.Rules))
		}
	}
	want := strings.TrimSpace(string(readFile(t, deploy, "grafana", "rlmm.json")))
	if got := objects["ConfigMap/prod-rlmm-dashboard"].(*corev1.ConfigMap).Data["rlmm.json"]; strings.TrimSpace(got) != want {
		t.Error("another dashboard")
	}
}
