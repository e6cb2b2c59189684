// Command driver is our side of the benchmark: a process that embeds a
// [views.Manager], as a broker would. It reads a [bench.Request] a line from standard
// input and answers with a [bench.Answer] a line.
//
// `driver processor` runs a member of the fleet instead, and writes profiles of it when
// it ends; unmeasured it is what `rlmm processor` is.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/tieredlog/rlmm/integration/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "processor" {
		return runProcessor(ctx, args[1:])
	}
	return serve(ctx, os.Stdin, os.Stdout)
}

// serve answers the requests until there are no more.
func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var request bench.Request
		if err := requests.Decode(&request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if err := answers.Encode(answer(ctx, request)); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
}

func answer(ctx context.Context, request bench.Request) bench.Answer {
	values, err := measure(ctx, request)
	if err != nil {
		return bench.Answer{Error: err.Error()}
	}
	return bench.Answer{Values: values}
}

// values are the numbers of an answer.
type values = map[string]float64

var kinds = map[string]func(context.Context, bench.Request) (values, error){
	bench.Latency:    latency,
	bench.Throughput: throughput,
	bench.Queries:    queries,
	bench.Lookups:    lookups,
	bench.Ready:      ready,
	bench.Assign:     assign,
	bench.Memory:     memory,
}

func measure(ctx context.Context, request bench.Request) (v values, err error) {
	kind, ok := kinds[request.Kind]
	if !ok {
		return nil, fmt.Errorf("no such measurement: %q", request.Kind)
	}
	stop, err := startCPU(request.Profile)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return kind(ctx, request)
}
