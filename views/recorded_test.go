package views

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/recording"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
	"github.com/tieredlog/rlmm/processor/fold"
	"github.com/tieredlog/rlmm/views/index"
)

// recorded is what a metadata partition's table holds after a real broker's events, and
// what is asked about them.
type recorded struct {
	records   []table.Record
	recovered int64 // the offset at which a first recovery ends
	fence     int64 // an owner's; what follows is its own
	asked     map[api.TopicIdPartition]*numbers
}

// numbers are those worth asking for.
type numbers struct {
	epochs  map[int32]bool
	offsets map[int64]bool
}

// recordTable folds the bundled recording's events of a metadata partition; each tenth
// record is one that nobody can read.
func recordTable(t *testing.T, partition int32) *recorded {
	t.Helper()
	r := &recorded{asked: map[api.TopicIdPartition]*numbers{}}
	rows := map[string]*codec.Row{}
	for e, err := range recording.Read(recording.Bundled()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Partition != partition {
			continue
		}
		event, err := codec.DecodeRecord(e.Value)
		if err != nil {
			t.Fatal(err)
		}
		r.ask(event)
		r.records = append(r.records, answerOf(rows, event, int64(len(r.records))))
		if n := int64(len(r.records)); n%10 == 9 {
			r.records = append(r.records, table.Record{Kind: table.Answer, Key: codec.RejectedKey(partition), Source: n, Outcome: codec.OutcomeUndecodable})
		}
	}
	r.takeOver(partition)
	return r
}

// takeOver puts the fence and the position of another owner into the table.
func (r *recorded) takeOver(partition int32) {
	r.recovered, r.fence = int64(len(r.records)/3), int64(2*len(r.records)/3)
	r.records = slices.Insert(r.records, int(r.fence),
		table.Record{Kind: table.Fence, Key: codec.RejectedKey(partition), Source: -1},
		table.Record{Kind: table.Progress, Key: codec.PositionKey(partition), Source: r.records[r.fence-1].Source})
	for i := range r.records {
		r.records[i].Time = time.UnixMilli(int64(i + 1))
	}
}

func answerOf(rows map[string]*codec.Row, event api.RemoteLogMetadata, offset int64) table.Record {
	key := codec.EventKey(event)
	next, outcome := fold.Fold(rows[key], event, offset)
	rows[key] = next
	r := table.Record{Kind: table.Answer, Key: key, Source: offset, Outcome: outcome}
	if next != nil {
		r.Value = codec.EncodeRow(*next)
	}
	return r
}

func (r *recorded) ask(event api.RemoteLogMetadata) {
	tip := event.Partition()
	if r.asked[tip] == nil {
		r.asked[tip] = &numbers{map[int32]bool{0: true, 99: true}, map[int64]bool{0: true}}
	}
	s, ok := event.(api.RemoteLogSegmentMetadata)
	if !ok {
		return
	}
	for _, o := range []int64{s.StartOffset, s.EndOffset, s.EndOffset + 1} {
		r.asked[tip].offsets[o] = true
	}
	for epoch := range s.LeaderEpochs.All() {
		r.asked[tip].epochs[epoch] = true
	}
}

// content is what is in a store.
type content struct {
	Rows     map[string]string
	Position store.Position
}

// prefix is what a store at the table offset must hold.
func (r *recorded) prefix(offset int64) content {
	c := content{map[string]string{}, store.Position{Table: offset, Applied: -1}}
	for i, rec := range r.records[:offset+1] {
		c.Position.Applied, c.Position.Time = max(c.Position.Applied, rec.Source), rec.Time.UnixMilli()
		c.Position.Last = store.Mark{Offset: int64(i), Sum: rec.Sum()}
		switch {
		case codec.IsHidden(rec.Key):
		case rec.Value == nil:
			delete(c.Rows, rec.Key)
		default:
			c.Rows[rec.Key] = string(rec.Value)
		}
	}
	return c
}

func contentOf(t *testing.T, s *store.Store) content {
	t.Helper()
	c := content{map[string]string{}, s.Committed()}
	for row, err := range s.Rows(nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		c.Rows[string(row.Key)] = string(row.Value)
	}
	return c
}

// answers are those of the store's rows to every query about every user partition.
func (r *recorded) answers(t *testing.T, s *store.Store) []string {
	t.Helper()
	var all []string
	for _, tip := range slices.SortedFunc(maps.Keys(r.asked), func(a, b api.TopicIdPartition) int { return cmp.Compare(a.String(), b.String()) }) {
		x := newIndexes(newGate(), newLookup())
		built, err := x.build(s, tip)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.asked[tip].answers(tip, built.Snapshot())...)
	}
	return all
}

func (n *numbers) answers(tip api.TopicIdPartition, q *index.Snapshot) (all []string) {
	say := func(query string, answer ...any) { all = append(all, fmt.Sprintf("%s %s: %+v", tip, query, answer)) }
	say("list", q.ListRemoteLogSegments().Metadata(), q.Deletion())
	for _, epoch := range slices.Sorted(maps.Keys(n.epochs)) {
		highest, found := q.HighestOffsetForEpoch(epoch)
		bounded, foundBounded := q.BoundedHighestOffsetForEpoch(epoch)
		say(fmt.Sprint("epoch ", epoch), highest, found, bounded, foundBounded, q.RemoteLogSize(epoch), q.ListRemoteLogSegmentsByEpoch(epoch).Metadata())
		for _, offset := range slices.Sorted(maps.Keys(n.offsets)) {
			say(fmt.Sprint("segment ", epoch, offset), idOf(q.RemoteLogSegmentMetadata(epoch, offset)))
			say(fmt.Sprint("next txn ", epoch, offset), idOf(q.NextSegmentWithTxnIndex(epoch, offset)))
		}
	}
	return all
}

// idOf is the id of the segment that was found; nil when none was.
func idOf(s *index.Segment, ok bool) any {
	if !ok {
		return nil
	}
	return s.ID()
}
