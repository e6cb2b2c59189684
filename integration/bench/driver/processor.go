package main

import (
	"context"
	"errors"
	"flag"
	"net"
	"net/http"

	"github.com/tieredlog/rlmm/processor"
)

// runProcessor runs a member of the fleet until the context ends.
func runProcessor(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("processor", flag.ContinueOnError)
	bootstrap := flags.String("bootstrap", "", "host:port of a broker")
	topic := flags.String("topic", "", "metadata topic")
	group := flags.String("group", "", "consumer group")
	data := flags.String("data", "", "folder for local state")
	health := flags.String("http", "", "host:port that answers /readyz")
	path := flags.String("profile", "", "where to write profiles, without .cpu and .heap")
	if err := flags.Parse(args); err != nil {
		return err
	}
	p, err := processor.New(processor.Config{
		Kafka:         processor.Kafka{Bootstrap: []string{*bootstrap}},
		MetadataTopic: *topic, Group: *group, DataDir: *data, CreateTopics: true, ReplicationFactor: 1,
	})
	if err != nil {
		return err
	}
	stop, err := startCPU(*path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop(), writeHeap(*path)) }()
	return serveWhile(ctx, *health, p)
}

// serveWhile answers /readyz while the processor runs.
func serveWhile(ctx context.Context, address string, p *processor.Processor) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: readiness(p)}
	go server.Serve(listener) //nolint:errcheck // it ends with Close
	return errors.Join(p.Run(ctx), server.Close())
}

func readiness(p *processor.Processor) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, ok := p.Running(); !ok {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
}
