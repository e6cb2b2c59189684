package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/integration/bench"
	"github.com/tieredlog/rlmm/views"
)

// open returns a manager without assigned partitions.
func open(ctx context.Context, r bench.Request) (*views.Manager, error) {
	return views.NewManager(ctx, views.Config{
		Kafka:         views.Kafka{Bootstrap: []string{r.Bootstrap}},
		MetadataTopic: r.Topic, Group: r.Group, DataDir: r.Data,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
}

// with calls f with a manager that is ready for the metadata partitions, and writes the
// heap profile, if there is to be one, before the manager is closed.
func with(ctx context.Context, r bench.Request, numbers []int32, f func(*views.Manager) (values, error)) (v values, err error) {
	m, err := open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, writeHeap(r.Profile), m.Close()) }()
	if err := take(ctx, m, numbers); err != nil {
		return nil, err
	}
	return f(m)
}

// take assigns the metadata partitions and waits until they are ready.
func take(ctx context.Context, m *views.Manager, numbers []int32) error {
	if err := m.ReconcileAssignment(ctx, numbers); err != nil {
		return err
	}
	return m.WaitReady(ctx)
}

// metadataPartitions are those on which the partitions lie, ascending.
func metadataPartitions(partitions []api.TopicIdPartition) []int32 {
	numbers := map[int32]bool{}
	for _, tip := range partitions {
		numbers[codec.MetadataPartition(tip, bench.MetadataPartitions)] = true
	}
	return slices.Sorted(maps.Keys(numbers))
}
