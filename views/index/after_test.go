package index_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/views/index"
)

// drawList draws a list that is up to three levels deep, in which many segments begin
// together.
func drawList(t *rapid.T) index.List {
	p := index.New()
	size := rapid.SampledFrom([]int{0, 1, 60, 70, 2500}).Draw(t, "size")
	for i := range size {
		row := benchRow(i, api.CopySegmentFinished)
		row.Segment.StartOffset /= 700
		p.Put(nil, row)
	}
	return p.Snapshot().ListRemoteLogSegments()
}

func drawPlace(t *rapid.T, segments []*index.Segment) *api.SegmentCursor {
	if len(segments) > 0 && rapid.Bool().Draw(t, "of a segment") {
		s := rapid.SampledFrom(segments).Draw(t, "segment")
		return &api.SegmentCursor{StartOffset: s.StartOffset(), ID: s.ID()}
	}
	return &api.SegmentCursor{
		StartOffset: rapid.Int64Range(-1, 400).Draw(t, "start"),
		ID:          api.UUIDFromBits(rapid.Uint64().Draw(t, "most"), rapid.Uint64().Draw(t, "least")),
	}
}

// TestAfterIsTheTailOfAll compares with a scan of the list.
func TestAfterIsTheTailOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawList(t)
		place := drawPlace(t, slices.Collect(list.All))
		want := slices.DeleteFunc(list.Metadata(), func(m api.RemoteLogSegmentMetadata) bool {
			return m.Cursor().Compare(*place) <= 0
		})
		if got := take(list, place, -1); !slices.EqualFunc(got, want, api.RemoteLogSegmentMetadata.Equal) {
			t.Fatalf("after %v: got %d segments, want the last %d", place, len(got), len(want))
		}
		stop := rapid.IntRange(1, 200).Draw(t, "stop")
		if got := take(list, place, stop); !slices.EqualFunc(got, want[:min(stop, len(want))], api.RemoteLogSegmentMetadata.Equal) {
			t.Fatalf("after %v, up to %d: got %d segments", place, stop, len(got))
		}
	})
}

func take(list index.List, place *api.SegmentCursor, most int) []api.RemoteLogSegmentMetadata {
	var taken []api.RemoteLogSegmentMetadata
	for m, err := range list.MetadataAfter(place) {
		if err != nil {
			panic(err) // it never is one
		}
		if taken = append(taken, m); len(taken) == most {
			break
		}
	}
	return taken
}

func TestAfterNilIsAll(t *testing.T) {
	list := benchPartition(100).Snapshot().ListRemoteLogSegments()
	if got := take(list, nil, -1); !slices.EqualFunc(got, list.Metadata(), api.RemoteLogSegmentMetadata.Equal) {
		t.Errorf("got %d segments, want all 100", len(got))
	}
}

func TestAfterOfADeletedPartitionIsEmpty(t *testing.T) {
	p := benchPartition(3)
	p.Put(nil, &codec.Row{Kind: codec.RowPartition, Delete: api.RemotePartitionDeleteMetadata{
		TopicIdPartition: tip, State: api.DeletePartitionFinished,
	}})
	for m, err := range p.Snapshot().ListRemoteLogSegments().MetadataAfter(&api.SegmentCursor{StartOffset: -1}) {
		t.Errorf("got %v, %v", m.ID, err)
	}
}

// BenchmarkPage reads 100 segments from the middle of a list; the time hardly depends
// on the list.
func BenchmarkPage(b *testing.B) {
	for _, segments := range []int{1_000, 100_000} {
		list := benchPartition(segments).Snapshot().ListRemoteLogSegments()
		middle := &api.SegmentCursor{StartOffset: int64(segments) * 50}
		b.Run(fmt.Sprint(segments), func(b *testing.B) {
			for b.Loop() {
				total = int64(len(take(list, middle, 100)))
			}
		})
	}
}
