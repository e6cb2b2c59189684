package index_test

import (
	"context"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/scenario"
	"github.com/tieredlog/rlmm/views/check"
	"github.com/tieredlog/rlmm/views/index"
)

// TestScenarios runs the scripts of internal/scenario through the fold and the index: the
// one that is kept up to date, and one that is rebuilt from the rows for each query.
func TestScenarios(t *testing.T) {
	scripts, err := scenario.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		t.Run(s.Name, func(t *testing.T) { runScenario(t, s) })
	}
}

func runScenario(t *testing.T, s scenario.Script) {
	tables := tables{}
	steps, err := s.Steps(func(name string) api.TopicIdPartition {
		id := api.TopicIdPartition{TopicID: api.UUIDFromBits(1, uint64(1+len(tables))), Topic: name}
		tables[id] = newTable()
		return id
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		for _, got := range tables.answers(t, step) {
			if got != step.Want {
				t.Errorf("%s: %s -> %s, want %s", step.At, step.Text, got, step.Want)
			}
		}
	}
	for id, table := range tables {
		for _, finding := range check.Snapshot(id, table.index.Snapshot(), table.allRows()) {
			t.Errorf("at the end: %v", finding)
		}
	}
}

// tables are the partitions of a script.
type tables map[api.TopicIdPartition]*table

// answers are the answer to an event, or those of both indexes to a query.
func (ts tables) answers(tb testing.TB, step scenario.Step) []string {
	tb.Helper()
	t := ts[step.Partition]
	switch step.Verb {
	case "row":
		return []string{t.rowKind(step.Segment)}
	case "orphans":
		return []string{orphans(t.index), orphans(t.rebuilt())}
	}
	kept := do(tb, step, asked{t, t.index.Snapshot(), step.Verb == "bounded"})
	if step.IsEvent() {
		return []string{kept}
	}
	return []string{kept, do(tb, step, asked{t, t.rebuilt().Snapshot(), step.Verb == "bounded"})}
}

func do(tb testing.TB, step scenario.Step, m api.RemoteLogMetadataManager) string {
	tb.Helper()
	answer, err := step.Do(tb.Context(), m)
	if err != nil {
		tb.Fatalf("%s: %v", step.At, err)
	}
	return answer
}

func (t *table) rowKind(id api.UUID) string {
	row := t.rows[id]
	if row == nil {
		return "none"
	}
	return map[codec.RowKind]string{codec.RowSegment: "segment", codec.RowHeadless: "headless", codec.RowMarker: "marker"}[row.Kind]
}

func orphans(p followed) string { return scenario.Names(p.Snapshot().Orphans().Metadata()) }

// asked is a table and a snapshot of it as far as scripts ask a manager.
type asked struct {
	*table
	snapshot *index.Snapshot
	bounded  bool
}

var outcomeErrors = map[codec.Outcome]error{
	codec.OutcomeApplied: nil, codec.OutcomeInvalidAdd: api.ErrInvalidAdd, codec.OutcomeSegmentNotFound: api.ErrSegmentNotFound,
	codec.OutcomeInvalidSegmentTransition:         api.ErrInvalidSegmentTransition,
	codec.OutcomeInvalidPartitionDeleteTransition: api.ErrInvalidPartitionDeleteTransition,
}

// publish folds an event that a manager would publish.
func (a asked) publish(event api.RemoteLogMetadata) (api.Position, error) {
	if err := event.Validate(); err != nil {
		return api.NotPublished, err
	}
	return api.Position{Offset: a.offset}, outcomeErrors[a.apply(event)]
}

func (a asked) AddRemoteLogSegmentMetadata(_ context.Context, m api.RemoteLogSegmentMetadata) (api.Position, error) {
	return a.publish(m)
}

func (a asked) UpdateRemoteLogSegmentMetadata(_ context.Context, u api.RemoteLogSegmentMetadataUpdate) (api.Position, error) {
	return a.publish(u)
}

func (a asked) PutRemotePartitionDeleteMetadata(_ context.Context, d api.RemotePartitionDeleteMetadata) (api.Position, error) {
	return a.publish(d)
}

func (a asked) RemoteLogSegmentMetadata(_ context.Context, _ api.TopicIdPartition, epoch int32, offset int64) (api.RemoteLogSegmentMetadata, bool, error) {
	return found(a.snapshot.RemoteLogSegmentMetadata(epoch, offset))
}

func (a asked) NextSegmentWithTxnIndex(_ context.Context, _ api.TopicIdPartition, epoch int32, offset int64) (api.RemoteLogSegmentMetadata, bool, error) {
	return found(a.snapshot.NextSegmentWithTxnIndex(epoch, offset))
}

func found(s *index.Segment, ok bool) (api.RemoteLogSegmentMetadata, bool, error) {
	if !ok {
		return api.RemoteLogSegmentMetadata{}, false, nil
	}
	return s.Metadata(), true, nil
}

func (a asked) HighestOffsetForEpoch(_ context.Context, _ api.TopicIdPartition, epoch int32) (int64, bool, error) {
	highest := a.snapshot.HighestOffsetForEpoch
	if a.bounded {
		highest = a.snapshot.BoundedHighestOffsetForEpoch
	}
	offset, ok := highest(epoch)
	return offset, ok, nil
}

func (a asked) ListRemoteLogSegments(context.Context, api.TopicIdPartition) ([]api.RemoteLogSegmentMetadata, error) {
	return a.snapshot.ListRemoteLogSegments().Metadata(), nil
}

func (a asked) ListRemoteLogSegmentsByEpoch(_ context.Context, _ api.TopicIdPartition, epoch int32) ([]api.RemoteLogSegmentMetadata, error) {
	return a.snapshot.ListRemoteLogSegmentsByEpoch(epoch).Metadata(), nil
}

func (a asked) RemoteLogSize(_ context.Context, _ api.TopicIdPartition, epoch int32) (int64, error) {
	return a.snapshot.RemoteLogSize(epoch), nil
}

func (a asked) CaughtUp(context.Context, api.TopicIdPartition) (bool, error) { return true, nil }

func (a asked) IsReady(context.Context, api.TopicIdPartition) bool { return true }
