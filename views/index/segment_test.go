package index

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// TestSegmentIsACacheLine holds the size that the memory of a partition hangs on.
func TestSegmentIsACacheLine(t *testing.T) {
	if size := unsafe.Sizeof(Segment{}); size != 64 {
		t.Errorf("a segment takes %d bytes", size)
	}
}

// TestSegmentsShareNothingThatDiffers puts rows that differ in what may be shared, again and
// again, and compares each with what was put.
func TestSegmentsShareNothingThatDiffers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	p, rows := New(), map[api.UUID]*codec.Row{}
	for range 3_000 {
		m := sharing(random)
		row := &codec.Row{Kind: codec.RowSegment, FinishedOffset: -1, Segment: m}
		p.Put(rows[m.ID.ID], row)
		rows[m.ID.ID] = row
	}
	for id, row := range rows {
		if got, ok := p.Snapshot().Segment(row.Segment.StartOffset, id); !ok || !got.Metadata().Equal(row.Segment) {
			t.Errorf("got %+v, want %+v", got, row.Segment)
		}
	}
}

// sharing is one of few segments in one of many variants.
func sharing(random *rand.Rand) api.RemoteLogSegmentMetadata {
	start := random.Int64N(50) * 100
	tip := api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 2), Topic: []string{"a", "b"}[random.IntN(2)], Partition: 1}
	m := api.RemoteLogSegmentMetadata{
		ID: api.RemoteLogSegmentID{TopicIdPartition: tip, ID: api.UUIDFromBits(3, uint64(random.IntN(200)))}, StartOffset: start,
		EndOffset: start + []int64{0, 99, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64 - start}[random.IntN(5)],
		BrokerID:  random.Int32N(4), State: api.RemoteLogSegmentState(random.IntN(3)), TxnIndexEmpty: random.IntN(2) == 0,
	}
	first := api.EpochOffset{LeaderEpoch: random.Int32N(3), Offset: start}
	m.LeaderEpochs = api.NewLeaderEpochs(first)
	switch random.IntN(6) {
	case 0:
		m.LeaderEpochs = api.NewLeaderEpochs(first, api.EpochOffset{LeaderEpoch: 9, Offset: start + 5})
	case 1:
		m.CustomMetadata = api.NewCustomMetadata([]byte{byte(random.IntN(2))})
	}
	return m
}
