package deploytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var units = []string{"rlmm-processor.service", "rlmm-serve.service"}

func unit(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(deploy, "systemd", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// verify is systemd-analyze verify of a unit that runs the binary of this repository. What it
// says is a fault, also when its exit code is 0.
func verify(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	write(t, file, strings.ReplaceAll(content, "/usr/bin/rlmm", rlmm(t)))
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", file).CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	return string(out)
}

func TestUnitsVerify(t *testing.T) {
	for _, name := range units {
		if out := verify(t, name, unit(t, name)); out != "" {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}

func TestUnknownDirectiveIsFound(t *testing.T) {
	broken := strings.Replace(unit(t, units[0]), "ProtectSystem=", "ProtectSytem=", 1)
	if out := verify(t, units[0], broken); !strings.Contains(out, "ProtectSytem") {
		t.Errorf("systemd-analyze says %q, want it to name ProtectSytem", out)
	}
}

// values returns the values of a directive, in their order.
func values(content, directive string) []string {
	var found []string
	for _, m := range regexp.MustCompile(`(?m)^`+directive+`=(.*)$`).FindAllStringSubmatch(content, -1) {
		found = append(found, m[1])
	}
	return found
}

func TestUnitsAreHardened(t *testing.T) {
	for _, name := range units {
		content := unit(t, name)
		for directive, want := range map[string]string{
			"User": "rlmm", "ProtectSystem": "strict", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "",
			"StateDirectory": strings.TrimSuffix(name, ".service"), "Restart": "on-failure", "RestartPreventExitStatus": "2",
		} {
			if got := values(content, directive); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %s is %q, want %q", name, directive, got, want)
			}
		}
	}
}

// rlmm takes the command and the variables of a unit. An unknown variable, or a value that
// isn't one, is a usage error.
func TestUnitsEnvironmentIsTaken(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "rlmm.properties"), "bootstrap.servers=kafka:9092\n")
	fill := strings.NewReplacer("%S", dir, "%H", "host", "/etc/rlmm", dir)
	for _, name := range units {
		cmd := exec.Command(rlmm(t), "config")
		for _, variable := range values(unit(t, name), "Environment") {
			cmd.Env = append(cmd.Env, fill.Replace(variable))
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), strings.TrimSuffix(name, ".service")) {
			t.Errorf("%s: %v, want its data folder among the settings\n%s", name, err, out)
		}
	}
}

func TestUnitsCommandsParse(t *testing.T) {
	for _, name := range units {
		args := strings.Fields(values(unit(t, name), "ExecStart")[0])[1:]
		if out, err := exec.Command(rlmm(t), append(args, "--help")...).CombinedOutput(); err != nil {
			t.Errorf("%s: rlmm %q: %v\n%s", name, args, err, out)
		}
	}
}

// What a program is told not to restart on is what rlmm exits with on a usage error.
func TestUsageErrorIsNotRestarted(t *testing.T) {
	cmd := exec.Command(rlmm(t), "processor", "--no-such-flag")
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("exit code %d, want 2", cmd.ProcessState.ExitCode())
	}
}
