package index_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/views/index"
)

// benchRow is the i-th of many segments like those of a real log: 100 offsets each, a
// new leader epoch every 100 segments, one in ten with a transaction index.
func benchRow(i int, state api.RemoteLogSegmentState) *codec.Row {
	start := int64(i) * 100
	finished := int64(-1)
	if state != api.CopySegmentStarted {
		finished = 2*int64(i) + 1
	}
	return &codec.Row{
		Kind: codec.RowSegment, Offset: 2 * int64(i), FinishedOffset: finished,
		Segment: api.RemoteLogSegmentMetadata{
			ID:          api.RemoteLogSegmentID{TopicIdPartition: tip, ID: benchID(i)},
			StartOffset: start, EndOffset: start + 99, MaxTimestampMs: start, BrokerID: 1, EventTimestampMs: start,
			SegmentSizeInBytes: 1 << 20, State: state, TxnIndexEmpty: i%10 != 0,
			LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: int32(i / 100), Offset: start}),
		},
	}
}

// benchID spreads the ids as random ones would be.
func benchID(i int) api.UUID {
	return api.UUIDFromBits(uint64(i+1)*0x9e3779b97f4a7c15, uint64(i))
}

func benchPartition(segments int) *index.Partition {
	p := index.New()
	for i := range segments {
		p.Put(nil, benchRow(i, api.CopySegmentFinished))
	}
	return p
}

const benchSegments = 10_000

func BenchmarkQueries(b *testing.B) {
	p := benchPartition(benchSegments)
	random := func() (epoch int32, offset int64) {
		i := rand.IntN(benchSegments)
		return int32(i / 100), int64(i)*100 + int64(rand.IntN(100))
	}
	queries := map[string]func(){
		"get/hit": func() {
			epoch, offset := random()
			p.Snapshot().RemoteLogSegmentMetadata(epoch, offset)
		},
		"get/hit+metadata": func() {
			epoch, offset := random()
			s, _ := p.Snapshot().RemoteLogSegmentMetadata(epoch, offset)
			sink = s.Metadata()
		},
		"get/miss":  func() { _, offset := random(); p.Snapshot().RemoteLogSegmentMetadata(7, offset) },
		"highest":   func() { epoch, _ := random(); p.Snapshot().HighestOffsetForEpoch(epoch) },
		"size":      func() { epoch, _ := random(); p.Snapshot().RemoteLogSize(epoch) },
		"nextTxn":   func() { epoch, offset := random(); p.Snapshot().NextSegmentWithTxnIndex(epoch, offset) },
		"list":      func() { total = readAll(p.Snapshot().ListRemoteLogSegments()) },
		"listEpoch": func() { total = readAll(p.Snapshot().ListRemoteLogSegmentsByEpoch(7)) },
		"listSlice": func() { total = int64(len(p.Snapshot().ListRemoteLogSegments().Metadata())) },
	}
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				queries[name]()
			}
		})
	}
	b.Run("get/hit/parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				queries["get/hit"]()
			}
		})
	})
}

var (
	sink  api.RemoteLogSegmentMetadata
	total int64
)

// readAll reads every field of a list.
func readAll(l index.List) (sum int64) {
	for s := range l.All {
		id := s.ID()
		sum += int64(id[15]) + s.StartOffset() + s.EndOffset() + s.MaxTimestampMs() + s.EventTimestampMs() +
			int64(s.BrokerID()) + int64(s.SegmentSizeInBytes()) + int64(s.State()) + int64(s.CustomMetadata().Len())
		for i := range s.EpochCount() {
			sum += int64(s.EpochAt(i).LeaderEpoch) + s.EpochAt(i).Offset
		}
		if s.TxnIndexEmpty() {
			sum++
		}
	}
	return sum
}

// BenchmarkPut is the life of a segment, four events, in a partition with many: a new
// one is copied at the end of the log and the oldest is deleted. It must cost about the
// same however many there are. Random is one event anywhere, which finds nothing in the
// processor's caches.
func BenchmarkPut(b *testing.B) {
	for _, segments := range []int{1_000, 100_000, 1_000_000} {
		p := benchPartition(segments)
		b.Run(fmt.Sprintf("random/segments=%d", segments), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				row := benchRow(rand.IntN(segments), api.CopySegmentFinished)
				p.Put(row, row)
			}
		})
		oldest := 0
		b.Run(fmt.Sprintf("life/segments=%d", segments), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				putLife(p, oldest+segments, oldest)
				oldest++
			}
		})
	}
}

func putLife(p *index.Partition, newest, oldest int) {
	started, deleted := benchRow(newest, api.CopySegmentStarted), benchRow(oldest, api.DeleteSegmentStarted)
	p.Put(nil, started)
	p.Put(started, benchRow(newest, api.CopySegmentFinished))
	p.Put(benchRow(oldest, api.CopySegmentFinished), deleted)
	end := int64(oldest)*100 + 99
	p.Put(deleted, &codec.Row{
		Kind: codec.RowMarker, Segment: benchRow(oldest, api.DeleteSegmentFinished).Segment,
		Highest: api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: int32(oldest / 100), Offset: end}),
	})
}

// BenchmarkBuild is the first use of a partition, whose rows come in the order of their ids.
func BenchmarkBuild(b *testing.B) {
	rows := make([]codec.Row, benchSegments)
	for i := range rows {
		rows[i] = *benchRow(i, api.CopySegmentFinished)
	}
	slices.SortFunc(rows, func(a, b codec.Row) int { return a.Segment.ID.ID.Compare(b.Segment.ID.ID) })
	for b.Loop() {
		index.Build(slices.Values(rows))
	}
}

// BenchmarkMemory reports the heap for each of 1,000,000 segments of 1,000 partitions,
// everything included.
func BenchmarkMemory(b *testing.B) {
	const partitions, segments = 1_000, 1_000
	for b.Loop() {
		before := heap()
		all := make([]*index.Partition, partitions)
		for i := range all {
			all[i] = benchPartition(segments)
		}
		b.ReportMetric(float64(heap()-before)/(partitions*segments), "B/segment")
		runtime.KeepAlive(all)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
