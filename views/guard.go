package views

import (
	"fmt"
	"runtime/debug"
)

// guard calls f. A panic in it is an error, with its stack: whatever is wrong with one
// partition, or with the logger that was given, the process that embeds the manager
// lives on.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return f()
}
