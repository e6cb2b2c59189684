package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/integration/bench"
	"github.com/tieredlog/rlmm/views"
)

// latency carries out one mutation after the other.
func latency(ctx context.Context, r bench.Request) (values, error) {
	partitions := bench.UserPartitions(r.Seed, r.UserPartitions)
	var adds, updates []float64
	_, err := with(ctx, r, metadataPartitions(partitions), func(m *views.Manager) (values, error) {
		for i := range r.Segments {
			add, update, err := copySegment(ctx, m, segment(partitions, i))
			if err != nil {
				return nil, err
			}
			adds, updates = append(adds, bench.Milliseconds(add)), append(updates, bench.Milliseconds(update))
		}
		return nil, nil
	})
	return values{
		"add.p50": bench.Median(adds), "add.p99": bench.Percentile(adds, 0.99),
		"update.p50": bench.Median(updates), "update.p99": bench.Percentile(updates, 0.99),
	}, err
}

// throughput has so many segments under way at a time; each one's update follows its
// add.
func throughput(ctx context.Context, r bench.Request) (values, error) {
	partitions := bench.UserPartitions(r.Seed, r.UserPartitions)
	return with(ctx, r, metadataPartitions(partitions), func(m *views.Manager) (values, error) {
		var next atomic.Int64
		workers, ctx := errgroup.WithContext(ctx)
		start := time.Now()
		for range r.InFlight {
			workers.Go(func() error {
				for i := int(next.Add(1)) - 1; i < r.Segments; i = int(next.Add(1)) - 1 {
					if _, _, err := copySegment(ctx, m, segment(partitions, i)); err != nil {
						return err
					}
				}
				return nil
			})
		}
		err := workers.Wait()
		rate := float64(2*r.Segments) / time.Since(start).Seconds()
		return values{fmt.Sprint("mutations.", r.InFlight): rate}, err
	})
}

// segment is the i-th of all partitions' segments, with a new id.
func segment(partitions []api.TopicIdPartition, i int) api.RemoteLogSegmentMetadata {
	n := len(partitions)
	return bench.Segment(partitions[i%n], api.RandomUUID(), i/n, 0)
}

// copySegment adds the segment and finishes it, and returns how long each took.
func copySegment(ctx context.Context, m *views.Manager, s api.RemoteLogSegmentMetadata) (add, update time.Duration, err error) {
	start := time.Now()
	if _, err := m.AddRemoteLogSegmentMetadata(ctx, s); err != nil {
		return 0, 0, err
	}
	add = time.Since(start)
	start = time.Now()
	_, err = m.UpdateRemoteLogSegmentMetadata(ctx, bench.Finish(s))
	return add, time.Since(start), err
}
