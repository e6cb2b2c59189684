// Command rlmm is a remote log metadata manager for Kafka's tiered storage: the fleet
// that folds the metadata topic, a server that answers from it, and the tools around
// it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/tieredlog/rlmm/api"
)

// The exit codes, beside 0.
const (
	exitFailure  = 1
	exitUsage    = 2
	exitFindings = 3 // a check found something
	exitNotReady = 4 // a server that was asked isn't ready
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are what a command reads and writes: data goes to out, talk to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run carries out a command line and returns the exit code.
func run(ctx context.Context, args []string, s streams) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(s.err, "rlmm:", err)
	return exitCode(err)
}

func exitCode(err error) int {
	var usage *usageError
	var findings *findingsError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &findings):
		return exitFindings
	case errors.Is(err, api.ErrNotReady):
		return exitNotReady
	}
	return exitFailure
}

// usageError is a command line that can't be carried out.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }
