//go:build integration

package bench_test

import (
	"context"
	"iter"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/integration/bench"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/recording"
	"github.com/tieredlog/rlmm/internal/table"
)

// sampleEvery is how often the end of a table is read while it grows.
const sampleEvery = 50 * time.Millisecond

func (w *world) settings() kafka.Settings { return kafka.Settings{Bootstrap: []string{w.bootstrap}} }

// createTopic creates a metadata topic.
func (w *world) createTopic(topic string) {
	w.b.Helper()
	cluster, err := kafka.Connect(w.b.Context(), w.settings())
	if err != nil {
		w.b.Fatal(err)
	}
	defer cluster.Close()
	if _, err := cluster.Ensure(w.b.Context(), kafka.MetadataTopic(topic, bench.MetadataPartitions, 1, 1), true); err != nil {
		w.b.Fatal(err)
	}
}

// fill creates a metadata topic and publishes the events to it.
func (w *world) fill(topic string, events iter.Seq2[recording.Event, error]) {
	w.b.Helper()
	w.createTopic(topic)
	start := time.Now()
	n, err := recording.Publish(w.b.Context(), w.settings(), topic, events)
	if err != nil {
		w.b.Fatalf("fill %s: %v", topic, err)
	}
	w.say("fill", map[string]float64{"events": float64(n), "events/s": float64(n) / time.Since(start).Seconds()})
}

// admin calls f with a client that is closed afterwards.
func (w *world) admin(f func(context.Context, *kadm.Client) error) {
	w.b.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.bootstrap))
	if err != nil {
		w.b.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(w.b.Context(), patience)
	defer cancel()
	if err := f(ctx, kadm.NewClient(client)); err != nil {
		w.b.Fatal(err)
	}
}

// process runs the fleet on its topic, whose events it hasn't seen, and returns how far
// it was when. An event gives one record of the table; the fences before them are so
// few that they don't count.
func (w *world) process(f fleet, events int64) (samples []bench.Progress) {
	w.b.Helper()
	member := w.startProfiled(f, w.profile("processor"))
	start := time.Now()
	w.admin(func(ctx context.Context, admin *kadm.Client) error {
		for tick := time.NewTicker(sampleEvery); ; <-tick.C {
			ends, err := admin.ListEndOffsets(ctx, table.TopicOf(f.group))
			if err == nil {
				err = ends.Error()
			}
			if err != nil {
				return err
			}
			sample := bench.Progress{After: time.Since(start)}
			ends.Each(func(end kadm.ListedOffset) { sample.Done += end.Offset })
			samples = append(samples, sample)
			if sample.Done >= events+bench.MetadataPartitions {
				return nil
			}
		}
	})
	member.Stop(w.b)
	return samples
}

// compact has the broker compact the table and returns when each partition has shrunk.
// It starts and stops the fleet, whose fences end the segments that are being written.
func (w *world) compact(f fleet) {
	w.b.Helper()
	topic := table.TopicOf(f.group)
	w.admin(func(ctx context.Context, admin *kadm.Client) error {
		before, err := sizes(ctx, admin, topic)
		if err != nil {
			return err
		}
		if err := alter(ctx, admin, topic, kadm.SetConfig); err != nil {
			return err
		}
		w.start(f).Stop(w.b)
		if err := awaitSmaller(ctx, admin, topic, before); err != nil {
			return err
		}
		return alter(ctx, admin, topic, kadm.DeleteConfig)
	})
}

// alter sets, or deletes again, what makes the broker compact at once.
func alter(ctx context.Context, admin *kadm.Client, topic string, op kadm.IncrementalOp) error {
	segment, ratio := "1", "0.01"
	configs := []kadm.AlterConfig{
		{Op: op, Name: "segment.ms", Value: &segment},
		{Op: op, Name: "min.cleanable.dirty.ratio", Value: &ratio},
	}
	_, err := admin.AlterTopicConfigs(ctx, configs, topic)
	return err
}

// sizes is the bytes of each partition on disk.
func sizes(ctx context.Context, admin *kadm.Client, topic string) (map[int32]int64, error) {
	dirs, err := admin.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return nil, err
	}
	bytes := map[int32]int64{}
	for _, described := range dirs {
		if err := described.Error(); err != nil {
			return nil, err
		}
		described.EachPartition(func(p kadm.DescribedLogDirPartition) {
			if p.Topic == topic {
				bytes[p.Partition] = p.Size
			}
		})
	}
	return bytes, nil
}

// awaitSmaller waits until each partition has lost a quarter of its bytes: of two rows of
// a segment one stays.
func awaitSmaller(ctx context.Context, admin *kadm.Client, topic string, before map[int32]int64) error {
	for tick := time.NewTicker(sampleEvery); ; {
		now, err := sizes(ctx, admin, topic)
		if err != nil {
			return err
		}
		if allSmaller(now, before) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// allSmaller leaves out partitions that hold next to nothing: those have no segments.
func allSmaller(now, before map[int32]int64) bool {
	for p, size := range before {
		if size > 10_000 && now[p] > size*3/4 {
			return false
		}
	}
	return true
}
