package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/integration/bench"
	"github.com/tieredlog/rlmm/views"
)

// ready starts a manager on what the folder holds.
func ready(ctx context.Context, r bench.Request) (values, error) {
	start := time.Now()
	return with(ctx, r, metadataPartitions(bench.UserPartitions(r.Seed, r.UserPartitions)), func(*views.Manager) (values, error) {
		return values{"ready": bench.Milliseconds(time.Since(start))}, nil
	})
}

// assign gives a manager the metadata partition of the first user partition when all
// others are ready.
func assign(ctx context.Context, r bench.Request) (values, error) {
	all := metadataPartitions(bench.UserPartitions(r.Seed, r.UserPartitions))
	later := codec.MetadataPartition(bench.TopicIdPartition(r.Seed, 0), bench.MetadataPartitions)
	return with(ctx, r, without(all, later), func(m *views.Manager) (values, error) {
		start := time.Now()
		err := take(ctx, m, all)
		return values{"assign": bench.Milliseconds(time.Since(start))}, err
	})
}

func without(numbers []int32, not int32) []int32 {
	var rest []int32
	for _, n := range numbers {
		if n != not {
			rest = append(rest, n)
		}
	}
	return rest
}

// memory is what the heap grows by until every partition was listed, for each segment.
func memory(ctx context.Context, r bench.Request) (values, error) {
	before := heap()
	partitions := bench.UserPartitions(r.Seed, r.UserPartitions)
	return with(ctx, r, metadataPartitions(partitions), func(m *views.Manager) (values, error) {
		found, err := count(ctx, m, partitions)
		if err == nil && found != r.Segments {
			err = fmt.Errorf("%d segments, want %d", found, r.Segments)
		}
		return values{"memory": (heap() - before) / float64(found)}, err
	})
}

func count(ctx context.Context, m *views.Manager, partitions []api.TopicIdPartition) (int, error) {
	found := 0
	for _, tip := range partitions {
		segments, err := m.ListRemoteLogSegments(ctx, tip)
		if err != nil {
			return 0, err
		}
		found += len(segments)
	}
	return found, nil
}

// heap is the bytes that are still in use after some collections: what a pool keeps
// goes with the second.
func heap() float64 {
	for range 3 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
