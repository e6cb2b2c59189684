package table

import (
	"context"
	"time"

	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
)

// SumAt returns what looks a record of a table's partition up, for [store.Expect].
func SumAt(ctx context.Context, c *kafka.Cluster, topic string, partition int32) func(int64) (uint32, bool, error) {
	return func(offset int64) (uint32, bool, error) {
		found, ok, err := c.RecordAt(ctx, topic, partition, offset)
		if !ok || err != nil {
			return 0, false, err
		}
		r, err := Parse(string(found.Key), found.Value, goka.HeadersFromSarama(found.Headers), time.Time{})
		if err != nil {
			return 0, true, nil //nolint:nilerr // it isn't one of ours
		}
		return r.Sum(), true, nil
	}
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
