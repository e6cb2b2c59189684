package table

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
)

// SumAt returns what looks a record of a table's partition up, for [store.Expect].
func SumAt(ctx context.Context, c *kafka.Cluster, topic string, partition int32) func(int64) (uint32, store.Fate, error) {
	return func(offset int64) (uint32, store.Fate, error) {
		found, ok, err := c.RecordAt(ctx, topic, partition, offset)
		if err != nil {
			return 0, 0, err
		}
		if !ok {
			fate, err := fateOf(ctx, c, topic, partition, offset)
			return 0, fate, err
		}
		r, err := Parse(string(found.Key), found.Value, goka.HeadersFromSarama(found.Headers), time.Time{})
		if err != nil {
			return 0, store.Kept, nil //nolint:nilerr // it isn't one of ours
		}
		return r.Sum(), store.Kept, nil
	}
}

// fateOf is that of a record which isn't there.
func fateOf(ctx context.Context, c *kafka.Cluster, topic string, partition int32, offset int64) (store.Fate, error) {
	start, err := c.StartOffset(ctx, topic, partition)
	if offset < start {
		return store.Trimmed, err
	}
	return store.Compacted, err
}

// CheckInput returns a [kafka.TruncatedError] when the metadata topic ends before the last
// record that is applied, and a [kafka.RegrownError] when it holds another one there. One
// that retention or compaction took proves nothing.
func CheckInput(ctx context.Context, c *kafka.Cluster, topic string, partition int32, at store.Position) error {
	end, err := c.EndOffset(ctx, topic, partition)
	switch {
	case err != nil:
		return err
	case at.Applied >= end:
		return &kafka.TruncatedError{Topic: topic, Partition: partition, Applied: at.Applied, End: end}
	case at.Input == 0:
		return nil
	}
	r, found, err := c.RecordAt(ctx, topic, partition, at.Applied)
	if found && InputSum(r.Time, r.Value) != at.Input {
		return &kafka.RegrownError{Topic: topic, Partition: partition, Offset: at.Applied}
	}
	return err
}

// CheckPending is CheckInput for records whose answers are on their way. Each counts: behind
// one that is lost there may be another that was read since.
func CheckPending(ctx context.Context, c *kafka.Cluster, topic string, partition int32, pending []store.Mark) error {
	if len(pending) == 0 {
		return nil
	}
	first, last := pending[0], pending[len(pending)-1]
	if err := CheckInput(ctx, c, topic, partition, store.Position{Applied: last.Offset, Input: last.Sum}); err != nil {
		return err
	}
	for r, err := range c.Records(ctx, topic, partition, first.Offset, last.Offset) {
		if err != nil {
			return err
		}
		i, known := slices.BinarySearchFunc(pending, r.Offset, func(m store.Mark, at int64) int { return cmp.Compare(m.Offset, at) })
		if known && pending[i].Sum != InputSum(r.Time, r.Value) {
			return &kafka.RegrownError{Topic: topic, Partition: partition, Offset: r.Offset}
		}
	}
	return nil
}
