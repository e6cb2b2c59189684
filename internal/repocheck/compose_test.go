package repocheck

import (
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/google/go-cmp/cmp"
)

const composeFile = "docker-compose.yml"

// compose loads the compose file with the library that Docker Compose loads it with: schema,
// references and merges are checked as there.
func compose(t *testing.T) *types.Project {
	t.Helper()
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  repository,
		ConfigFiles: []types.ConfigFile{{Filename: composeFile, Content: []byte(read(t, composeFile))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// flag returns the value of a --name=value flag of a service's command; empty without one.
func flag(service types.ServiceConfig, name string) string {
	for _, argument := range service.Command {
		if value, found := strings.CutPrefix(argument, "--"+name+"="); found {
			return value
		}
	}
	return ""
}

// volumeAt returns the named volume that a service mounts on a folder; empty without one.
func volumeAt(service types.ServiceConfig, folder string) string {
	for _, volume := range service.Volumes {
		if volume.Type == types.VolumeTypeVolume && volume.Target == folder {
			return volume.Source
		}
	}
	return ""
}

// ours returns the services that run rlmm: all but Kafka.
func ours(project *types.Project) []types.ServiceConfig {
	var services []types.ServiceConfig
	for _, name := range project.ServiceNames() {
		if name != "kafka" {
			services = append(services, project.Services[name])
		}
	}
	return services
}

func TestComposeVerbs(t *testing.T) {
	got := map[string]string{}
	for _, service := range ours(compose(t)) {
		got[service.Name] = service.Command[0]
	}
	want := map[string]string{"processor-1": "processor", "processor-2": "processor", "server": "serve"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verb of each service (-want +got):\n%s", diff)
	}
}

func TestComposeKafkaIsKRaft(t *testing.T) {
	kafka := compose(t).Services["kafka"]
	if !strings.HasPrefix(kafka.Image, "apache/kafka:4.") {
		t.Errorf("image %q, want Apache Kafka 4", kafka.Image)
	}
	want := map[string]string{
		"KAFKA_PROCESS_ROLES":                            "broker,controller",
		"KAFKA_CONTROLLER_LISTENER_NAMES":                "CONTROLLER",
		"KAFKA_CONTROLLER_QUORUM_VOTERS":                 "1@kafka:9093",
		"KAFKA_MIN_INSYNC_REPLICAS":                      "1",
		"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR":         "1",
		"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
		"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR":            "1",
	}
	for name, value := range want {
		if got := kafka.Environment[name]; got == nil || *got != value {
			t.Errorf("%s: got %v, want %q", name, got, value)
		}
	}
}

// A client is sent to the address that Kafka advertises, so that must be where it is reached:
// the published port for clients of the host, the service's name for the other services.
func TestComposeKafkaAdvertisesItsAddresses(t *testing.T) {
	project := compose(t)
	kafka := project.Services["kafka"]
	advertised := strings.Split(*kafka.Environment["KAFKA_ADVERTISED_LISTENERS"], ",")
	for _, port := range kafka.Ports {
		if host := "HOST://" + net.JoinHostPort(port.HostIP, port.Published); !slices.Contains(advertised, host) {
			t.Errorf("%s is published and not advertised: %q", host, advertised)
		}
	}
	for _, service := range ours(project) {
		if inner := "INTERNAL://" + flag(service, "bootstrap"); !slices.Contains(advertised, inner) {
			t.Errorf("%s uses %s, which is not advertised: %q", service.Name, inner, advertised)
		}
	}
}

func TestComposeHealthChecks(t *testing.T) {
	for _, service := range compose(t).Services {
		check := service.HealthCheck
		if check == nil || check.Disable || len(check.Test) == 0 {
			t.Errorf("%s: no health check", service.Name)
		}
	}
}

// A health check must ask the port that its service listens on.
func TestComposeHealthChecksAskTheService(t *testing.T) {
	for _, service := range ours(compose(t)) {
		want := types.HealthCheckTest{"CMD", "/rlmm", "health", "http://127.0.0.1" + flag(service, "http") + "/readyz"}
		if diff := cmp.Diff(want, service.HealthCheck.Test); diff != "" {
			t.Errorf("%s: health check (-want +got):\n%s", service.Name, diff)
		}
	}
}

func TestComposeProcessorsShareGroupNotData(t *testing.T) {
	project := compose(t)
	one, two := project.Services["processor-1"], project.Services["processor-2"]
	if group := flag(one, "group"); group == "" || group != flag(two, "group") {
		t.Errorf("groups %q and %q, want one group", group, flag(two, "group"))
	}
	if volumeAt(one, "/data") == volumeAt(two, "/data") {
		t.Errorf("both have their data on volume %q", volumeAt(one, "/data"))
	}
}

func TestComposeKeepsData(t *testing.T) {
	project := compose(t)
	if volumeAt(project.Services["kafka"], "/var/lib/kafka/data") == "" {
		t.Error("kafka: no volume for its log")
	}
	for _, service := range ours(project) {
		if folder := flag(service, "data"); volumeAt(service, folder) == "" {
			t.Errorf("%s: no volume for its data folder %q", service.Name, folder)
		}
	}
}

func TestComposePublishesOnLoopbackOnly(t *testing.T) {
	got := map[string]string{}
	for _, service := range compose(t).Services {
		for _, port := range service.Ports {
			if ip := net.ParseIP(port.HostIP); !ip.IsLoopback() {
				t.Errorf("%s: port %s is published on %q", service.Name, port.Published, port.HostIP)
			}
			got[service.Name] = port.Published
		}
	}
	if diff := cmp.Diff(map[string]string{"kafka": "9092", "server": "8083"}, got); diff != "" {
		t.Errorf("published ports (-want +got):\n%s", diff)
	}
}

func TestComposeStartOrder(t *testing.T) {
	got := map[string][]string{}
	for _, service := range compose(t).Services {
		for name, dependency := range service.DependsOn {
			if dependency.Condition != types.ServiceConditionHealthy {
				t.Errorf("%s waits for %s with condition %q", service.Name, name, dependency.Condition)
			}
		}
		got[service.Name] = slices.Sorted(slices.Values(service.GetDependencies()))
	}
	want := map[string][]string{
		"kafka":       nil,
		"processor-1": {"kafka"},
		"processor-2": {"kafka"},
		"server":      {"processor-1", "processor-2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what each service waits for (-want +got):\n%s", diff)
	}
}

func TestComposeUnprivileged(t *testing.T) {
	for _, service := range ours(compose(t)) {
		if !service.ReadOnly || service.Privileged || !slices.Contains(service.CapDrop, "ALL") {
			t.Errorf("%s: want a read-only root and no capabilities", service.Name)
		}
	}
	if !strings.Contains(read(t, "Dockerfile"), ":nonroot\n") {
		t.Error("Dockerfile: want the nonroot image")
	}
}

// The commands of the services and of their health checks are ones that rlmm accepts.
// Help is printed only after all flags were parsed, so nothing is started.
func TestComposeCommandsParse(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "rlmm")
	if out, err := exec.Command("go", "build", "-o", binary, repository+"/cmd/rlmm").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, service := range ours(compose(t)) {
		for _, command := range [][]string{service.Command, service.HealthCheck.Test[2:]} {
			if out, err := exec.Command(binary, append(slices.Clone(command), "--help")...).CombinedOutput(); err != nil {
				t.Errorf("%s: rlmm %q: %v\n%s", service.Name, command, err, out)
			}
		}
	}
}
