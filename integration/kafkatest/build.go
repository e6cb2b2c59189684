package kafkatest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	// mavenTimeout leaves time for the downloads of the first use.
	mavenTimeout = 10 * time.Minute
	// lockRetry is how often a test binary looks whether another one has built.
	lockRetry = 100 * time.Millisecond
)

// build is one run of Maven in integration/java, of which only the class path file
// is looked at.
type build struct {
	project string
	output  string
	args    []string
}

// peerClassPath compiles the Java peer, once, and returns its class path, which is
// also that of a broker of the default version.
var peerClassPath = sync.OnceValues(func() (string, error) {
	return classPath("cp.txt", "compile")
})

// brokerClassPath returns the class path of a broker; an empty version is the default.
func brokerClassPath(version string) (string, error) {
	if version == "" {
		return peerClassPath()
	}
	file := "cp-" + version + ".txt"
	return classPath(file, "-P", "!peer", "process-resources",
		"-Dkafka.version="+version, "-Dclasspath.file="+filepath.Join("target", file))
}

// classPath builds what isn't built yet. The classes come first: their logger
// configuration must win over one in Kafka's test jars.
func classPath(file string, args ...string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	project := filepath.Join(root, "integration", "java")
	b := build{project: project, output: filepath.Join(project, "target", file), args: args}
	jars, err := b.run()
	if err != nil {
		return "", fmt.Errorf("build %s: %w", project, err)
	}
	return filepath.Join(project, "target", "classes") + string(filepath.ListSeparator) + jars, nil
}

// run returns the contents of the class path file, after Maven where it has to be.
// A file lock keeps test binaries that run at the same time out of each other's way.
func (b build) run() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), mavenTimeout)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(b.output), 0o755); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(filepath.Dir(b.output), "build.lock"))
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return "", fmt.Errorf("wait for the build of another test binary: %w", err)
	}
	defer lock.Unlock() //nolint:errcheck // the end of the process unlocks too
	stamp, err := b.stamp()
	if err != nil {
		return "", err
	}
	if jars, ok := b.fresh(stamp); ok {
		return jars, nil
	}
	return b.maven(ctx, stamp)
}

// stamp is a hash of all that goes into the build.
func (b build) stamp() (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, b.args)
	add := func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintln(hash, path, len(content))
		hash.Write(content)
		return err
	}
	err := errors.Join(
		filepath.WalkDir(filepath.Join(b.project, "pom.xml"), add),
		filepath.WalkDir(filepath.Join(b.project, "src"), add))
	return fmt.Sprintf("%x", hash.Sum(nil)), err
}

// stampFile lies among the classes, so that it goes when they go.
func (b build) stampFile() string {
	return filepath.Join(b.project, "target", "classes", filepath.Base(b.output)+".stamp")
}

// fresh returns the class path when it was built from the same sources and all of its
// jars are still there.
func (b build) fresh(stamp string) (string, bool) {
	built, err := os.ReadFile(b.stampFile())
	if err != nil || string(built) != stamp {
		return "", false
	}
	jars, err := os.ReadFile(b.output)
	if err != nil {
		return "", false
	}
	for _, jar := range filepath.SplitList(string(jars)) {
		if _, err := os.Stat(jar); err != nil {
			return "", false
		}
	}
	return string(jars), true
}

func (b build) maven(ctx context.Context, stamp string) (string, error) {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("maven is needed for the jars of Apache Kafka: %w", err)
	}
	cmd := exec.CommandContext(ctx, mvn, append([]string{"-B", "-q"}, b.args...)...)
	cmd.Dir = b.project
	if out, err := runCommand(cmd); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	jars, err := os.ReadFile(b.output)
	if err != nil {
		return "", err
	}
	return string(jars), os.WriteFile(b.stampFile(), []byte(stamp), 0o644)
}

// moduleRoot is the folder of go.mod above the test's own folder.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above %s", start)
		}
	}
}
