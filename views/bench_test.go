package views_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
)

// benchSegments is how many segments of 100 offsets each partition has: one partition is
// all of one epoch, the other of 100.
const benchSegments = 10_000

// BenchmarkManagerQueries is what a broker that embeds a manager pays for an answer.
func BenchmarkManagerQueries(b *testing.B) {
	c := rlmmtest.NewCluster(b, 2)
	c.RunProcessor()
	one, many := c.PartitionOn(0, 0), c.PartitionOn(1, 0)
	var events []api.RemoteLogMetadata
	for i := range benchSegments {
		start := int64(i) * 100
		s := rlmmtest.Segment(one, i+1, start, start+99)
		s.TxnIndexEmpty = i%10 != 0
		events = append(events, finished(s)...)
		epoch := api.EpochOffset{LeaderEpoch: int32(i / 100), Offset: start}
		events = append(events, finished(rlmmtest.Segment(many, i+1, start, start+99, epoch))...)
	}
	c.PublishEvents(events...)
	c.WaitApplied()
	m, ctx := c.ReadyManager(), b.Context()
	offset := func() int64 { return rand.Int64N(benchSegments * 100) }
	questions := map[string]func() (bool, error){
		"get": func() (bool, error) {
			_, ok, err := m.RemoteLogSegmentMetadata(ctx, one, 0, offset())
			return ok, err
		},
		"get/epochs": func() (bool, error) {
			at := offset()
			_, ok, err := m.RemoteLogSegmentMetadata(ctx, many, int32(at/10_000), at)
			return ok, err
		},
		"highest": func() (bool, error) {
			_, ok, err := m.HighestOffsetForEpoch(ctx, many, rand.Int32N(100))
			return ok, err
		},
		"nextTxn": func() (bool, error) {
			_, ok, err := m.NextSegmentWithTxnIndex(ctx, one, 0, offset()*9/10)
			return ok, err
		},
		"size": func() (bool, error) {
			size, err := m.RemoteLogSize(ctx, many, rand.Int32N(100))
			return size > 0, err
		},
		"iterate": func() (bool, error) {
			n, sum := 0, int64(0)
			for s, err := range m.Segments(ctx, one, nil) {
				if err != nil {
					return false, err
				}
				sum += fields(&s)
				n++
			}
			return n == benchSegments && sum > 0, nil
		},
		"list": func() (bool, error) {
			all, err := m.ListRemoteLogSegments(ctx, one)
			return len(all) == benchSegments, err
		},
	}
	for _, name := range slices.Sorted(maps.Keys(questions)) {
		b.Run(name, func(b *testing.B) { askAgain(b, questions[name]) })
	}
	b.Run("get/parallel", func(b *testing.B) { askInParallel(b, questions["get"]) })
}

func askAgain(b *testing.B, ask func() (bool, error)) {
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := ask(); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func askInParallel(b *testing.B, ask func() (bool, error)) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if ok, err := ask(); !ok || err != nil {
				b.Error(ok, err)
				return
			}
		}
	})
}

// fields reads them all.
func fields(s *api.RemoteLogSegmentMetadata) int64 {
	sum := s.StartOffset + s.EndOffset + s.MaxTimestampMs + s.EventTimestampMs +
		int64(s.BrokerID) + int64(s.SegmentSizeInBytes) + int64(s.State) + int64(s.CustomMetadata.Len())
	if s.TxnIndexEmpty {
		sum++
	}
	tip := &s.ID.TopicIdPartition
	sum += int64(s.ID.ID[15]) + int64(tip.TopicID[15]) + int64(tip.Partition) + int64(len(tip.Topic))
	for epoch, offset := range s.LeaderEpochs.All() {
		sum += int64(epoch) + offset
	}
	return sum
}
