package kafkatest

import (
	"os/exec"
	"syscall"
)

// endWithParent has the kernel kill the child as soon as this process is gone.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
