package kafkatest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Child is a process of a test's own. Its methods are for one goroutine at a time.
type Child struct {
	process *process
	log     string
}

// StartChild starts the command. What it writes to standard error, and to standard
// output unless the command says where to, goes to a file, whose end a failed test
// shows. The process is killed when the test ends, and on Linux by the kernel when the
// test binary is gone. A process that can't be started fails the test.
func StartChild(tb testing.TB, cmd *exec.Cmd) *Child {
	tb.Helper()
	log := filepath.Join(tb.TempDir(), "log")
	file, err := os.Create(log)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // the child has a descriptor of its own
	cmd.Stderr = file
	if cmd.Stdout == nil {
		cmd.Stdout = file
	}
	p, err := startProcess(cmd)
	if err != nil {
		tb.Fatalf("start %s: %v", cmd, err)
	}
	c := &Child{process: p, log: log}
	tb.Cleanup(func() { c.cleanUp(tb) })
	return c
}

func (c *Child) cleanUp(tb testing.TB) {
	tb.Helper()
	if err := c.process.kill(); err != nil {
		tb.Errorf("kill process %d: %v", c.process.cmd.Process.Pid, err)
	}
	if tb.Failed() {
		tb.Logf("end of what %s said:\n%s", c.process.cmd.Path, tail(c.log, tailLines))
	}
}

// Stop ends the process in order (SIGTERM) and returns when it is gone. One that has
// ended already stays so.
func (c *Child) Stop(tb testing.TB) {
	tb.Helper()
	if err := c.process.stop(stopTimeout); err != nil {
		tb.Fatalf("stop %s: %v", c.process.cmd.Path, err)
	}
}

// Wait returns when the process has ended by itself; ending with a failure fails the test.
func (c *Child) Wait(tb testing.TB) {
	tb.Helper()
	<-c.process.done
	if c.process.err != nil {
		tb.Fatalf("%s: %v", c.process.cmd.Path, c.process.err)
	}
}

// Done is closed when the process has ended.
func (c *Child) Done() <-chan struct{} { return c.process.done }

// PeerCommand returns the command that runs a verb of the Java peer in a JVM with the
// options, which should say how much heap it gets ("-Xmx4g"). A peer that can't be
// built fails the test.
func PeerCommand(tb testing.TB, jvm []string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd, err := peerCommand(tb.Context(), jvm, args)
	if err != nil {
		tb.Fatalf("prepare the peer: %v", err)
	}
	return cmd
}

// Said returns what the process has written to its log so far.
func (c *Child) Said(tb testing.TB) string {
	tb.Helper()
	content, err := os.ReadFile(c.log)
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}
