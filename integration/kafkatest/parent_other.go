//go:build !linux

package kafkatest

import "os/exec"

// endWithParent does nothing: only Linux can tie a child to its parent. A Ctrl-C
// reaches the child all the same, as one of the terminal's process group.
func endWithParent(*exec.Cmd) {}
