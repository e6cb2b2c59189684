package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/views/check"
	"github.com/tieredlog/rlmm/views/index"
)

// rowsOf are the rows of a partition as the fold made them.
func rowsOf(t *table, tip api.TopicIdPartition) []codec.Row {
	var rows []codec.Row
	for key, row := range t.folded {
		if row != nil && strings.HasPrefix(key, codec.PartitionKey(tip)) {
			rows = append(rows, *row)
		}
	}
	return rows
}

func indexOf(rows []codec.Row) *index.Snapshot {
	return index.Build(slices.Values(rows)).Snapshot()
}

// TestIndexDifferences compares the rows of one log with the index of another: whatever an
// index may get wrong, some query tells.
func TestIndexDifferences(t *testing.T) {
	base := join(copied(orders, 1, 0, 99, epochs(0, 0)), copied(orders, 2, 100, 199, epochs(0, 100, 1, 150)))
	without := func(n uint64) []api.RemoteLogMetadata {
		return slices.DeleteFunc(slices.Clone(base), func(e api.RemoteLogMetadata) bool {
			return codec.EventKey(e) == codec.SegmentKey(id(orders, n))
		})
	}
	change := func(n uint64, f func(*api.RemoteLogSegmentMetadata)) []api.RemoteLogMetadata {
		events := slices.Clone(base)
		for i, e := range events {
			if s, ok := e.(api.RemoteLogSegmentMetadata); ok && s.ID == id(orders, n) {
				f(&s)
				events[i] = s
			}
		}
		return events
	}
	for _, c := range []struct {
		name  string
		index []api.RemoteLogMetadata // what the index holds, where the rows hold base
		want  []string                // beginnings of queries that must be told
	}{
		{"nothing", base, nil},
		{"a segment is missing", without(2), []string{
			"list of all: the index says 1 segments", "segment s2: the index says none", "totals of COPY_SEGMENT_FINISHED", "list of epoch 0",
			"list of epoch 1", "size of epoch 1", "highest offset of epoch 1: the index says none, the rows say 199", "highest offset within epoch 0: the index says 99, the rows say 149",
			"segment of epoch 0 at 100: the index says none, the rows say s2", "next segment with a transaction index of epoch 0 at 100",
		}},
		{"a segment too many", join(base, copied(orders, 3, 200, 299, epochs(2, 200))), []string{
			"list of all: the index says 3 segments", "list of epoch 2: the index says 1 segments, the rows say 0 segments",
			"next segment with a transaction index of epoch 2 at 0: the index says s3", "size of epoch 2",
		}},
		{"another state", append(slices.Clone(base), moved(orders, 1, api.DeleteSegmentStarted)), []string{
			"list of all, place 0", "totals of COPY_SEGMENT_FINISHED", "totals of DELETE_SEGMENT_STARTED", "segment of epoch 0 at 0: the index says none",
		}},
		{"another size", change(1, func(s *api.RemoteLogSegmentMetadata) { s.SegmentSizeInBytes = 7 }), []string{"size of epoch 0: the index says 107, the rows say 200"}},
		{"another range", change(1, func(s *api.RemoteLogSegmentMetadata) { s.EndOffset = 98 }), []string{"segment of epoch 0 at 0", "list of epoch 0, place 0"}},
		{"no transaction index", change(1, func(s *api.RemoteLogSegmentMetadata) { s.TxnIndexEmpty = true }), []string{"next segment with a transaction index of epoch 0 at 0: the index says s2"}},
		{"a deleted partition", join(base, deleted(orders)), []string{"state of the partition's deletion: the index says DELETE_PARTITION_FINISHED, the rows say NONE", "list of all", "segments left over: the index says 2 segments"}},
		{"what was reached", join(base, copied(orders, 3, 200, 299, epochs(0, 200)), []api.RemoteLogMetadata{moved(orders, 3, api.DeleteSegmentStarted), moved(orders, 3, api.DeleteSegmentFinished)}), []string{
			"highest offset within epoch 0: the index says 299, the rows say 149",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := check.Snapshot(orders, indexOf(rowsOf(newTable(c.index...), orders)), rowsOf(newTable(base...), orders))
			got := text(check.Report{Findings: found})
			for _, want := range c.want {
				if !strings.Contains(got, "index ORDERS (orders): "+want) {
					t.Errorf("no %q in:\n%s", want, got)
				}
			}
			if c.want == nil && got != "" {
				t.Errorf("found:\n%s", got)
			}
		})
	}
}
