package deploytest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/networking"
	"k8s.io/kubernetes/pkg/apis/policy"
	"sigs.k8s.io/yaml"
)

// needed are the values without which the chart is not installed.
const needed = "image: {tag: v1}\nkafka: {bootstrapServers: 'kafka:9092'}\n"

// variants are the ways to install the chart that the tests go through.
var variants = map[string]string{
	"smallest": needed,
	"scram as Strimzi makes it": `
image: {tag: v1}
kafka:
  bootstrapServers: kafka-1:9093,kafka-2:9093
  securityProtocol: SASL_SSL
  saslMechanism: SCRAM-SHA-512
  trust: {secret: cluster-cluster-ca-cert}
  user: {secret: rlmm}
`,
	"mutual TLS as Strimzi makes it": `
image: {tag: v1}
kafka:
  bootstrapServers: kafka:9093
  securityProtocol: SSL
  trust: {secret: cluster-cluster-ca-cert}
  user: {secret: rlmm}
`,
	"all there is": `
image: {repository: example.org/rlmm, digest: 'sha256:` + strings.Repeat("0a", 32) + `', pullSecrets: [registry]}
kafka: {bootstrapServers: 'kafka:9092'}
config: {create.topics: true, purge.after.ms: 86400000, client.id: 'a\b', log.format: json}
processor:
  replicas: 3
  persistence: {size: 1Gi, storageClass: fast}
  nodeSelector: {disk: ssd}
  tolerations: [{key: kafka, operator: Exists}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: host}]}}
serve: {enabled: true, allowMutations: true}
networkPolicy: {from: [{namespaceSelector: {}}], egressPorts: [9092, 443]}
monitoring:
  serviceMonitor: {enabled: true, labels: {release: prometheus}}
  prometheusRule: {enabled: true}
  dashboard: {enabled: true}
podAnnotations: {team: storage}
podLabels: {tier: backend}
`,
	"without what can be off": needed + `
networkPolicy: {enabled: false}
processor: {podDisruptionBudget: {enabled: false}}
serve: {enabled: true, podDisruptionBudget: {enabled: false}}
`,
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(filepath.Join(deploy, "helm/rlmm"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// parse returns values as Helm reads them.
func parse(t *testing.T, values string) map[string]any {
	t.Helper()
	v, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// template is helm template: the manifests, or the error of the values' schema or a template.
func template(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	c := load(t)
	release := chartutil.ReleaseOptions{Name: "prod", Namespace: "kafka", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, parse(t, values), release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(c, all)
}

// kinds are Kubernetes' own, those that its API server turns them into, and those of the
// Prometheus operator.
var kinds = func() *runtime.Scheme {
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, core.AddToScheme, apps.AddToScheme, networking.AddToScheme, policy.AddToScheme, monitoringv1.AddToScheme,
	} {
		if err := add(kinds); err != nil {
			panic(err)
		}
	}
	return kinds
}()

// decode reads a manifest into its type. A field that the type doesn't have, or
// one that is there twice, is an error.
func decode(manifest string) (runtime.Object, error) {
	var is metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(manifest), &is); err != nil {
		return nil, err
	}
	object, err := kinds.New(schema.FromAPIVersionAndKind(is.APIVersion, is.Kind))
	if err != nil {
		return nil, err
	}
	return object, yaml.UnmarshalStrict([]byte(manifest), object)
}

// read reads a manifest and checks it: against its type and, unless it is the Prometheus
// operator's, against its schema and by what an API server does with it.
func read(ctx context.Context, manifest string) (runtime.Object, error) {
	object, err := decode(manifest)
	if err != nil {
		return nil, err
	}
	kind := object.GetObjectKind().GroupVersionKind()
	if kind.Group == monitoringv1.SchemeGroupVersion.Group {
		return object, nil
	}
	return object, errors.Join(conforms(manifest, kind), admitted(ctx, object))
}

// install returns the objects of the rendered chart by kind and name.
func install(t *testing.T, values string) map[string]runtime.Object {
	t.Helper()
	files, err := template(t, values)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]runtime.Object{}
	for name, file := range files {
		for manifest := range strings.SplitSeq(file, "\n---\n") {
			if strings.TrimSpace(manifest) == "" || strings.HasSuffix(name, ".tpl") {
				continue
			}
			object, err := read(t.Context(), manifest)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, manifest)
			}
			objects[nameOf(t, object)] = object
		}
	}
	return objects
}

func nameOf(t *testing.T, object runtime.Object) string {
	t.Helper()
	named, ok := object.(metav1.Object)
	if !ok {
		t.Fatalf("%T has no name", object)
	}
	return fmt.Sprintf("%s/%s", object.GetObjectKind().GroupVersionKind().Kind, named.GetName())
}

// each calls f with every variant's objects.
func each(t *testing.T, f func(*testing.T, map[string]runtime.Object)) {
	for _, name := range slices.Sorted(maps.Keys(variants)) {
		t.Run(name, func(t *testing.T) { f(t, install(t, variants[name])) })
	}
}

// of returns the objects of one type.
func of[T runtime.Object](objects map[string]runtime.Object) []T {
	var found []T
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		if object, ok := objects[name].(T); ok {
			found = append(found, object)
		}
	}
	return found
}

func workloads(objects map[string]runtime.Object) []*appsv1.StatefulSet {
	return of[*appsv1.StatefulSet](objects)
}

// container returns the only container of a workload.
func container(t *testing.T, w *appsv1.StatefulSet) corev1.Container {
	t.Helper()
	if n := len(w.Spec.Template.Spec.Containers); n != 1 {
		t.Fatalf("%s has %d containers, want one", w.Name, n)
	}
	return w.Spec.Template.Spec.Containers[0]
}
