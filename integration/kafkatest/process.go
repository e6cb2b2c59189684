package kafkatest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// javaBinary returns the java of JAVA_HOME, else that of the PATH.
func javaBinary() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		return exec.LookPath(filepath.Join(home, "bin", "java"))
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("a JDK is needed to run Apache Kafka: %w", err)
	}
	return java, nil
}

// process is a child process that doesn't outlive this one; see endWithParent.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // how it ended; to be read after done
}

// startProcess starts the command from a thread that lives as long as the child:
// Linux sends the parent-death signal when the thread that forked ends, and the
// thread of a goroutine that comes and goes may.
func startProcess(cmd *exec.Cmd) (*process, error) {
	endWithParent(cmd)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	return p, <-started
}

// running tells whether the process hasn't ended yet.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// kill sends SIGKILL and returns when the process is gone.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// stop sends SIGTERM and returns when the process is gone; after the timeout it is
// killed and that is an error.
func (p *process) stop(timeout time.Duration) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(timeout):
		return errors.Join(fmt.Errorf("process %d didn't stop within %v and was killed", p.cmd.Process.Pid, timeout), p.kill())
	}
}

// runToEnd runs the command and returns how it ended.
func runToEnd(cmd *exec.Cmd) error {
	p, err := startProcess(cmd)
	if err != nil {
		return err
	}
	<-p.done
	return p.err
}

// runCommand runs the command and returns its output, standard error included.
func runCommand(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := runToEnd(cmd)
	return out.Bytes(), err
}
