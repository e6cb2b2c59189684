package index_test

import (
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/views/index"
)

// A segment id may be deleted and added again with another body, and the rows in
// between compacted away: nothing of the first body may stay in any order.
func TestReplacedByAnotherBody(t *testing.T) {
	first := benchRow(0, api.CopySegmentFinished)
	changes := map[string]func(*codec.Row){
		"start":    func(r *codec.Row) { r.Segment.StartOffset = 50 },
		"end":      func(r *codec.Row) { r.Segment.EndOffset = 80 },
		"epoch":    func(r *codec.Row) { r.Segment.LeaderEpochs = epochsOf(map[int32]int64{5: 0}) },
		"epochs":   func(r *codec.Row) { r.Segment.LeaderEpochs = epochsOf(map[int32]int64{0: 0, 1: 60}) },
		"txn":      func(r *codec.Row) { r.Segment.TxnIndexEmpty = true },
		"finished": func(r *codec.Row) { r.FinishedOffset += 10 },
		"started":  func(r *codec.Row) { r.Segment.State, r.FinishedOffset = api.CopySegmentStarted, -1 },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			second := *first
			change(&second)
			got, want := index.New(), index.New()
			got.Put(nil, first)
			got.Put(first, &second)
			want.Put(nil, &second)
			for epoch := range int32(6) {
				for offset := range int64(101) {
					compareLookUps(t, got.Snapshot(), want.Snapshot(), epoch, offset)
				}
			}
			got.Put(&second, nil)
			for epoch := range int32(6) {
				_, highest := got.Snapshot().HighestOffsetForEpoch(epoch)
				if n := got.Snapshot().ListRemoteLogSegmentsByEpoch(epoch).Len(); n != 0 || highest {
					t.Errorf("epoch %d has %d segments after the removal, highest offset %v", epoch, n, highest)
				}
			}
		})
	}
}

func compareLookUps(t *testing.T, got, want *index.Snapshot, epoch int32, offset int64) {
	t.Helper()
	g, _ := got.RemoteLogSegmentMetadata(epoch, offset)
	w, _ := want.RemoteLogSegmentMetadata(epoch, offset)
	if brief(g) != brief(w) {
		t.Errorf("get %d/%d: got %q, want %q", epoch, offset, brief(g), brief(w))
	}
	g, _ = got.NextSegmentWithTxnIndex(epoch, offset)
	w, _ = want.NextSegmentWithTxnIndex(epoch, offset)
	if brief(g) != brief(w) {
		t.Errorf("next txn %d/%d: got %q, want %q", epoch, offset, brief(g), brief(w))
	}
	if g, w := got.RemoteLogSize(epoch), want.RemoteLogSize(epoch); g != w {
		t.Errorf("size %d: got %d, want %d", epoch, g, w)
	}
}

// A purge's tombstone may come where the marker before it was compacted away.
func TestRemoveKeepsHighest(t *testing.T) {
	p := index.New()
	p.Put(nil, benchRow(0, api.CopySegmentFinished))
	p.Put(benchRow(0, api.CopySegmentFinished), nil)
	p.Put(nil, nil)
	s := p.Snapshot()
	if _, ok := s.HighestOffsetForEpoch(0); ok || s.ListRemoteLogSegments().Len() != 0 {
		t.Error("the segment is still there")
	}
	if got, ok := s.BoundedHighestOffsetForEpoch(0); !ok || got != 99 {
		t.Errorf("bounded highest is %d %v, want 99", got, ok)
	}
}

// A snapshot stays as it was, however much changes after it was taken.
func TestSnapshotStays(t *testing.T) {
	p := benchPartition(500)
	before := p.Snapshot()
	list := before.ListRemoteLogSegments().Metadata()
	for i := range 500 {
		p.Put(benchRow(i, api.CopySegmentFinished), nil)
	}
	if got, ok := before.RemoteLogSegmentMetadata(4, 49_999); !ok || got.StartOffset() != 49_900 {
		t.Errorf("get in the old snapshot: %v", got)
	}
	for i, m := range before.ListRemoteLogSegments().Metadata() {
		if !m.Equal(list[i]) {
			t.Fatalf("segment %d changed in the old snapshot", i)
		}
	}
	if n := p.Snapshot().ListRemoteLogSegments().Len(); n != 0 {
		t.Errorf("%d segments in the new one", n)
	}
}

// The accessors and Metadata tell the same.
func TestSegmentFields(t *testing.T) {
	row := benchRow(3, api.DeleteSegmentStarted)
	row.Segment.CustomMetadata = api.NewCustomMetadata([]byte("x"))
	row.Segment.LeaderEpochs = epochsOf(map[int32]int64{1: 300, 2: 350})
	p := index.New()
	p.Put(nil, row)
	s, ok := p.Snapshot().Segment(300, benchID(3))
	if !ok || !s.Metadata().Equal(row.Segment) {
		t.Fatalf("got %v", s)
	}
	epochs := []api.EpochOffset{s.EpochAt(0), s.EpochAt(1)}
	got := api.RemoteLogSegmentMetadata{
		ID:          api.RemoteLogSegmentID{TopicIdPartition: tip, ID: s.ID()},
		StartOffset: s.StartOffset(), EndOffset: s.EndOffset(), MaxTimestampMs: s.MaxTimestampMs(), BrokerID: s.BrokerID(),
		EventTimestampMs: s.EventTimestampMs(), SegmentSizeInBytes: s.SegmentSizeInBytes(), LeaderEpochs: api.NewLeaderEpochs(epochs...),
		CustomMetadata: s.CustomMetadata(), State: s.State(), TxnIndexEmpty: s.TxnIndexEmpty(),
	}
	if !got.Equal(row.Segment) || s.EpochCount() != 2 {
		t.Errorf("got %+v, want %+v", got, row.Segment)
	}
}
