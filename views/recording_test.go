package views_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/internal/recording"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/views"
)

func boundsEpoch(c *views.Config) { c.HighestOffsetBounds = views.BoundsEpoch }

// What a real broker wrote goes through two processors, and a manager answers as Kafka's
// own did on those same records.
func TestRecordingsAnswerAsKafka(t *testing.T) {
	t.Parallel()
	for _, r := range kafkatest.Recordings(t) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 50)
			a, b := c.RunProcessor(), c.RunProcessor()
			c.Publish(records(r.Events)...)
			small := c.ReadyManager(boundsEpoch, func(cfg *views.Config) { cfg.MaxIndexedSegments = 1 })
			m := c.ReadyManager(boundsEpoch)
			for _, state := range r.States {
				for name, m := range map[string]*views.Manager{"": m, "with small indexes": small} {
					t.Run(state.TopicIdPartition().String()+" "+name, func(t *testing.T) {
						compare{t, m, state.TopicIdPartition()}.all(state)
					})
				}
			}
			c.VerifyTable()
			for _, p := range []*rlmmtest.Processor{a, b} {
				if s := p.Stats(); s.Stale+s.Foreign+s.Gaps+s.Resets != 0 {
					t.Errorf("alarms: %+v", s)
				}
			}
		})
	}
}

// The recording that `rlmm dev` loads is the one whose answers are known.
func TestBundledRecordingIsTheRealOne(t *testing.T) {
	t.Parallel()
	var want []recording.Event
	for _, r := range kafkatest.Recordings(t) {
		if r.Name == "real" {
			want = records(r.Events)
		}
	}
	n := 0
	for e, err := range recording.Read(recording.Bundled()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Offset = 0; n < len(want) && !cmp.Equal(e, want[n]) {
			t.Fatalf("record %d differs", n)
		}
		n++
	}
	if n != len(want) {
		t.Errorf("%d records, want %d", n, len(want))
	}
}

func records(events []kafkatest.Event) []recording.Event {
	var records []recording.Event
	for _, e := range events {
		records = append(records, recording.Event{Partition: e.Partition, Key: e.Key, Value: e.Value})
	}
	return records
}

// compare is a comparison of a manager's answers about a partition with Kafka's.
type compare struct {
	*testing.T
	m   api.RemoteLogMetadataManager
	tip api.TopicIdPartition
}

func (c compare) all(want kafkatest.State) {
	listed, err := c.m.ListRemoteLogSegments(c.Context(), c.tip)
	if err != nil {
		c.Fatal(err)
	}
	var got []kafkatest.Metadata
	for _, s := range listed {
		got = append(got, kafkatest.MetadataOf(s))
	}
	if len(got)+len(want.Segments) > 0 && !cmp.Equal(want.Segments, got) {
		c.Errorf("segments: %s", cmp.Diff(want.Segments, got))
	}
	for _, epoch := range want.Epochs {
		c.epoch(epoch, listed)
	}
	for _, q := range want.Queries {
		c.query(q)
	}
}

// epoch compares the answers about an epoch. Kafka's size counts unfinished segments,
// and its list leaves the order of overlapping ones open: ours is that of the whole list.
func (c compare) epoch(want kafkatest.EpochState, listed []api.RemoteLogSegmentMetadata) {
	byEpoch, err := c.m.ListRemoteLogSegmentsByEpoch(c.Context(), c.tip, want.Epoch)
	if err != nil {
		c.Fatal(err)
	}
	var carriers []api.RemoteLogSegmentMetadata
	var finished, all int64
	for _, s := range listed {
		if _, ok := s.LeaderEpochs.Find(want.Epoch); !ok {
			continue
		}
		carriers = append(carriers, s)
		if all += int64(s.SegmentSizeInBytes); s.State == api.CopySegmentFinished {
			finished += int64(s.SegmentSizeInBytes)
		}
	}
	if !slices.EqualFunc(carriers, byEpoch, api.RemoteLogSegmentMetadata.Equal) || !sameIDs(byEpoch, want.List) {
		c.Errorf("epoch %d lists %v, Kafka %v", want.Epoch, byEpoch, want.List)
	}
	highest, ok, err := c.m.HighestOffsetForEpoch(c.Context(), c.tip, want.Epoch)
	if err != nil || ok != (want.Highest != nil) || ok && highest != *want.Highest {
		c.Errorf("epoch %d: highest %d, %t, %v; Kafka %v", want.Epoch, highest, ok, err, want.Highest)
	}
	size, err := c.m.RemoteLogSize(c.Context(), c.tip, want.Epoch)
	if err != nil || size != finished || want.RemoteLogSize != all {
		c.Errorf("epoch %d: size %d of %d, %v; Kafka %d", want.Epoch, size, all, err, want.RemoteLogSize)
	}
}

func sameIDs(segments []api.RemoteLogSegmentMetadata, want []api.UUID) bool {
	var ids []api.UUID
	for _, s := range segments {
		ids = append(ids, s.ID.ID)
	}
	want = slices.Clone(want)
	slices.SortFunc(ids, api.UUID.Compare)
	slices.SortFunc(want, api.UUID.Compare)
	return slices.Equal(ids, want)
}

// query compares the answers about an offset. Kafka finds no next segment behind a gap.
func (c compare) query(q kafkatest.Query) {
	segment, ok, err := c.m.RemoteLogSegmentMetadata(c.Context(), c.tip, q.Epoch, q.Offset)
	if err != nil || ok == q.Segment.IsZero() || segment.ID.ID != q.Segment {
		c.Errorf("%d/%d: segment %s, %v; Kafka %s", q.Epoch, q.Offset, segment.ID.ID, err, q.Segment)
	}
	next, ok, err := c.m.NextSegmentWithTxnIndex(c.Context(), c.tip, q.Epoch, q.Offset)
	if err != nil || !q.NextTxn.IsZero() && next.ID.ID != q.NextTxn {
		c.Errorf("%d/%d: next %s, %v; Kafka %s", q.Epoch, q.Offset, next.ID.ID, err, q.NextTxn)
	}
	if _, last, _ := next.EpochRange(q.Epoch); ok && (next.TxnIndexEmpty || last < q.Offset) {
		c.Errorf("%d/%d: next %s, which can't be", q.Epoch, q.Offset, next.ID.ID)
	}
}
