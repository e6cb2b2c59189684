package kafkatest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mavenProject returns a build of a small project whose mvn is a script that counts
// its runs in the file runs.
func mavenProject(t *testing.T, script string) build {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "pom.xml"), "<project/>")
	write(t, filepath.Join(dir, "src", "A.java"), "class A {}")
	write(t, filepath.Join(dir, "dep.jar"), "")
	write(t, filepath.Join(dir, "bin", "mvn"), "#!/bin/sh\necho run >> runs\n"+script)
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	return build{project: dir, output: filepath.Join(dir, "target", "cp.txt"), args: []string{"compile"}}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestMavenRunsOnlyWhenItHasTo(t *testing.T) {
	b := mavenProject(t, `mkdir -p target/classes; printf "$PWD/dep.jar" > target/cp.txt`)
	requireRuns := func(when string, want int) {
		t.Helper()
		jars, err := b.run()
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if got, want := filepath.Base(jars), "dep.jar"; got != want {
			t.Errorf("%s: class path %q, want %q", when, got, want)
		}
		runs, _ := os.ReadFile(filepath.Join(b.project, "runs"))
		if got := strings.Count(string(runs), "run"); got != want {
			t.Errorf("%s: maven ran %d times, want %d", when, got, want)
		}
	}
	requireRuns("first use", 1)
	requireRuns("nothing changed", 1)
	write(t, filepath.Join(b.project, "src", "A.java"), "class A { int x; }")
	requireRuns("a source changed", 2)
	if err := os.RemoveAll(filepath.Join(b.project, "target", "classes")); err != nil {
		t.Fatal(err)
	}
	requireRuns("the classes are gone", 3)
	b.args = append(b.args, "-Dkafka.version=3.9.1")
	requireRuns("the arguments changed", 4)
}

func TestMavenRunsWhenAJarIsGone(t *testing.T) {
	b := mavenProject(t, `mkdir -p target/classes; printf "$PWD/dep.jar" > target/cp.txt; touch dep.jar`)
	for range 2 {
		if _, err := b.run(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(b.project, "dep.jar")); err != nil {
			t.Errorf("maven didn't bring the jar back: %v", err)
		}
	}
}

func TestFailedBuildShowsWhatMavenSaid(t *testing.T) {
	b := mavenProject(t, "echo cannot find symbol; exit 1")
	if _, err := b.run(); err == nil || !strings.Contains(err.Error(), "cannot find symbol") {
		t.Errorf("error %v, want maven's output in it", err)
	}
}

func TestMissingMavenIsAnError(t *testing.T) {
	b := mavenProject(t, "")
	t.Setenv("PATH", t.TempDir())
	if _, err := b.run(); err == nil || !strings.Contains(err.Error(), "maven is needed") {
		t.Errorf("error %v, want one that names maven", err)
	}
}
