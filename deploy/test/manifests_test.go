package deploytest

import (
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Helm's linter only informs that there is no icon.
func TestChartLints(t *testing.T) {
	for name, values := range variants {
		for _, m := range lint.AllWithKubeVersion(filepath.Join(deploy, "helm/rlmm"), parse(t, values), "kafka", nil).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %s", name, m)
			}
		}
	}
}

func TestObjects(t *testing.T) {
	base := []string{
		"ConfigMap/prod-rlmm", "NetworkPolicy/prod-rlmm", "PodDisruptionBudget/prod-rlmm-processor",
		"Service/prod-rlmm-processor-pods", "ServiceAccount/prod-rlmm", "StatefulSet/prod-rlmm-processor",
	}
	serve := []string{
		"PodDisruptionBudget/prod-rlmm-serve", "Service/prod-rlmm", "Service/prod-rlmm-serve-pods", "StatefulSet/prod-rlmm-serve",
	}
	monitoring := []string{"ConfigMap/prod-rlmm-dashboard", "PrometheusRule/prod-rlmm", "ServiceMonitor/prod-rlmm"}
	for variant, want := range map[string][]string{"smallest": base, "all there is": slices.Concat(serve, base, monitoring)} {
		slices.Sort(want)
		got := slices.Sorted(maps.Keys(install(t, variants[variant])))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: objects (-want +got):\n%s", variant, diff)
		}
	}
}

func TestValuesRefused(t *testing.T) {
	for name, values := range map[string]string{
		"no bootstrap servers": "image: {tag: v1}",
		"no version":           "kafka: {bootstrapServers: 'kafka:9092'}",
		"unknown value":        needed + "procesor: {replicas: 3}",
		"unknown nested value": needed + "processor: {replica: 3}",
		"secret in config":     needed + "config: {sasl.jaas.config: x}",
		"password in config":   needed + "config: {ssl.key.password: x}",
		"line break in config": needed + `config: {client.id: "a\nb"}`,
		"SASL without a user":  "image: {tag: v1}\nkafka: {bootstrapServers: 'kafka:9092', securityProtocol: SASL_SSL, saslMechanism: PLAIN}",
		"SASL, no mechanism":   "image: {tag: v1}\nkafka: {bootstrapServers: 'kafka:9092', securityProtocol: SASL_SSL, user: {secret: u}}",
	} {
		if _, err := template(t, values); err == nil || !strings.Contains(err.Error(), "schema(s)") {
			t.Errorf("%s: error %v, want one of the schema", name, err)
		}
	}
}

func TestUnprivileged(t *testing.T) {
	each(t, func(t *testing.T, objects map[string]runtime.Object) {
		for _, w := range workloads(objects) {
			pod, c := w.Spec.Template.Spec.SecurityContext, container(t, w).SecurityContext
			if !*pod.RunAsNonRoot || *pod.RunAsUser == 0 || pod.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: pod may run as root, or without seccomp", w.Name)
			}
			if !*c.ReadOnlyRootFilesystem || *c.AllowPrivilegeEscalation || !slices.Contains(c.Capabilities.Drop, "ALL") {
				t.Errorf("%s: want a read-only root and no capabilities", w.Name)
			}
			if *w.Spec.Template.Spec.AutomountServiceAccountToken {
				t.Errorf("%s: has a token of the Kubernetes API", w.Name)
			}
		}
	})
}

// The group's member is its pod: the name comes back with the same volume.
func TestStaticMembership(t *testing.T) {
	each(t, func(t *testing.T, objects map[string]runtime.Object) {
		w := objects["StatefulSet/prod-rlmm-processor"].(*appsv1.StatefulSet)
		c := container(t, w)
		if !slices.Contains(c.Args, "--instance-id=$(POD_NAME)") || c.Env[0].ValueFrom.FieldRef.FieldPath != "metadata.name" {
			t.Errorf("args %q, env %v: want the pod's name as instance id", c.Args, c.Env)
		}
		if w.Spec.PodManagementPolicy != appsv1.ParallelPodManagement || w.Spec.VolumeClaimTemplates[0].Name != "data" {
			t.Error("want pods in parallel, each with a volume for its data")
		}
	})
}

// A selector that misses its pods is no error to Kubernetes.
func TestSelectorsMeetTheirPods(t *testing.T) {
	each(t, func(t *testing.T, objects map[string]runtime.Object) {
		for name, selector := range selectors(t, objects) {
			met := 0
			for _, w := range workloads(objects) {
				if selector.Matches(labels.Set(w.Spec.Template.Labels)) {
					met++
				}
			}
			want := 1
			if strings.HasPrefix(name, "NetworkPolicy/") {
				want = len(workloads(objects))
			}
			if met != want {
				t.Errorf("%s selects the pods of %d workloads, want %d", name, met, want)
			}
		}
	})
}

func selectors(t *testing.T, objects map[string]runtime.Object) map[string]labels.Selector {
	t.Helper()
	found := map[string]labels.Selector{}
	add := func(object runtime.Object, s *metav1.LabelSelector) {
		selector, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			t.Fatal(err)
		}
		found[nameOf(t, object)] = selector
	}
	for _, w := range workloads(objects) {
		add(w, w.Spec.Selector)
	}
	for _, s := range of[*corev1.Service](objects) {
		add(s, &metav1.LabelSelector{MatchLabels: s.Spec.Selector})
	}
	for _, b := range of[*policyv1.PodDisruptionBudget](objects) {
		add(b, b.Spec.Selector)
	}
	for _, p := range of[*networkingv1.NetworkPolicy](objects) {
		add(p, &p.Spec.PodSelector)
	}
	return found
}

func TestBudgets(t *testing.T) {
	each(t, func(t *testing.T, objects map[string]runtime.Object) {
		for _, b := range of[*policyv1.PodDisruptionBudget](objects) {
			if b.Spec.MaxUnavailable.IntValue() != 1 {
				t.Errorf("%s: at most %s unavailable, want 1", b.Name, b.Spec.MaxUnavailable)
			}
		}
	})
}

// Probes ask the port that the process listens on; liveness doesn't ask about Kafka.
func TestProbes(t *testing.T) {
	each(t, func(t *testing.T, objects map[string]runtime.Object) {
		for _, w := range workloads(objects) {
			c := container(t, w)
			got := map[string]string{}
			for name, p := range map[string]*corev1.Probe{"live": c.LivenessProbe, "ready": c.ReadinessProbe, "start": c.StartupProbe} {
				got[name] = p.HTTPGet.Path + " " + p.HTTPGet.Port.String()
			}
			want := map[string]string{"live": "/healthz http", "ready": "/readyz http", "start": "/startupz http"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: probes (-want +got):\n%s", w.Name, diff)
			}
		}
	})
}

// Help is printed only after all flags were parsed, so nothing is started.
func TestArgumentsParse(t *testing.T) {
	each(t, func(t *testing.T, objects map[string]runtime.Object) {
		for _, w := range workloads(objects) {
			args := append(container(t, w).Args, "--help")
			if out, err := exec.Command(rlmm(t), args...).CombinedOutput(); err != nil {
				t.Errorf("rlmm %q: %v\n%s", args, err, out)
			}
		}
	})
}

// strimzi are the secrets that Strimzi's user operator and cluster operator make.
func strimzi(t *testing.T) map[string]string {
	t.Helper()
	certificate, key := keyPair(t)
	return map[string]string{
		"user/sasl.jaas.config": `org.apache.kafka.common.security.scram.ScramLoginModule required username="rlmm" password="p";`,
		"user/password":         "p",
		"user/user.crt":         certificate,
		"user/user.key":         key,
		"trust/ca.crt":          certificate,
	}
}

// rlmm takes the properties that a variant makes, with the secrets where the pod has them.
func TestPropertiesAreTaken(t *testing.T) {
	each(t, func(t *testing.T, objects map[string]runtime.Object) {
		dir := t.TempDir()
		for name, content := range strimzi(t) {
			write(t, filepath.Join(dir, name), content)
		}
		properties := objects["ConfigMap/prod-rlmm"].(*corev1.ConfigMap).Data["rlmm.properties"]
		file := filepath.Join(dir, "config/rlmm.properties")
		write(t, file, strings.ReplaceAll(properties, "=/etc/rlmm/", "="+dir+"/"))
		if out, err := exec.Command(rlmm(t), "config", "--config", file).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, out, properties)
		}
	})
}

// Each folder that the properties name is mounted, from the secret that the values name.
func TestSecretsAreMounted(t *testing.T) {
	for _, variant := range []string{"scram as Strimzi makes it", "mutual TLS as Strimzi makes it"} {
		for _, w := range workloads(install(t, variants[variant])) {
			got := map[string]string{}
			for _, v := range w.Spec.Template.Spec.Volumes {
				if v.Secret != nil {
					got[v.Name] = v.Secret.SecretName
				}
			}
			if diff := cmp.Diff(map[string]string{"trust": "cluster-cluster-ca-cert", "user": "rlmm"}, got); diff != "" {
				t.Errorf("%s: secrets (-want +got):\n%s", variant, diff)
			}
			for _, m := range container(t, w).VolumeMounts {
				if m.SubPath != "" {
					t.Errorf("%s: %s is mounted as one file, which never changes", variant, m.Name)
				}
			}
		}
	}
}

// Changed settings restart the pods.
func TestConfigIsInThePodsAnnotations(t *testing.T) {
	const checksum = "checksum/config"
	seen := map[string]bool{}
	for _, values := range []string{needed, needed + "config: {log.level: debug}"} {
		for _, w := range workloads(install(t, values)) {
			seen[w.Spec.Template.Annotations[checksum]] = true
		}
	}
	if len(seen) != 2 {
		t.Errorf("checksums %v, want one for each configuration", seen)
	}
}

func TestMutationsOnlyWhenAsked(t *testing.T) {
	for values, want := range map[string]bool{
		needed + "serve: {enabled: true}":                       false,
		needed + "serve: {enabled: true, allowMutations: true}": true,
	} {
		w := install(t, values)["StatefulSet/prod-rlmm-serve"].(*appsv1.StatefulSet)
		if got := slices.Contains(container(t, w).Args, "--allow-mutations"); got != want {
			t.Errorf("%s: mutations %t, want %t", values, got, want)
		}
	}
}
