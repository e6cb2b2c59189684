package codec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
)

// constructors are the calls of Kafka's constructors in validation.jsonl. Where
// Kafka refuses null, ours refuses the zero value or a state that isn't one.
var constructors = map[string]func() error{
	"startOffset=-1":      segmentWith(func(m *api.RemoteLogSegmentMetadata) { m.StartOffset = -1 }),
	"end<start":           segmentWith(func(m *api.RemoteLogSegmentMetadata) { m.StartOffset, m.EndOffset = 10, 9 }),
	"start=end ok":        segmentWith(func(m *api.RemoteLogSegmentMetadata) { m.StartOffset, m.EndOffset = 9, 9 }),
	"epochs empty":        segmentWith(func(m *api.RemoteLogSegmentMetadata) { m.LeaderEpochs = api.NewLeaderEpochs() }),
	"epochs null":         segmentWith(func(m *api.RemoteLogSegmentMetadata) { m.LeaderEpochs = api.LeaderEpochs{} }),
	"id null":             segmentWith(func(m *api.RemoteLogSegmentMetadata) { m.ID = api.RemoteLogSegmentID{} }),
	"update id null":      api.RemoteLogSegmentMetadataUpdate{}.Validate,
	"update state null":   api.RemoteLogSegmentMetadataUpdate{ID: segmentS, State: -1}.Validate,
	"delete state null":   api.RemotePartitionDeleteMetadata{TopicIdPartition: orders, State: api.DeletePartitionNone}.Validate,
	"delete tip null":     api.RemotePartitionDeleteMetadata{}.Validate,
	"segmentId uuid null": api.RemoteLogSegmentID{TopicIdPartition: orders}.Validate,
	// forId gives null, which is no error yet: a number that is no state.
	"segstate forId 9": func() error { return noState(api.RemoteLogSegmentState(9).Valid()) },
	"delstate forId 9": func() error { return noState(api.RemotePartitionDeleteState(9).Valid()) },
	// An api.CustomMetadata can't be null: its zero value is Kafka's empty Optional.
	"update custom null": nil,
}

func segmentWith(change func(*api.RemoteLogSegmentMetadata)) func() error {
	m := addS(api.EpochOffset{})
	change(&m)
	return m.Validate
}

func noState(valid bool) error {
	if valid {
		return errors.New("9 is taken for a state")
	}
	return nil
}

// transition is [from, to, allowed].
type transition [3]any

func (tr transition) from() string { return tr[0].(string) }
func (tr transition) to() string   { return tr[1].(string) }
func (tr transition) ok() bool     { return tr[2].(bool) }

func TestValidation(t *testing.T) {
	type validation struct {
		Case, Result       string
		SegmentTransitions []transition
		DeleteTransitions  []transition
		StateIDs           map[string]int8
	}
	eachVector(t, "validation", func(t *testing.T, v validation) {
		t.Helper()
		if v.Case != "" {
			checkConstructor(t, v.Case, v.Result == "ok")
		}
		for _, tr := range v.SegmentTransitions {
			checkSegmentTransition(t, tr)
		}
		for _, tr := range v.DeleteTransitions {
			checkDeleteTransition(t, tr)
		}
		for name, id := range v.StateIDs {
			checkStateID(t, name, id)
		}
	})
}

func checkConstructor(t *testing.T, name string, accepted bool) {
	t.Helper()
	construct, known := constructors[name]
	switch {
	case !known:
		t.Errorf("no test for the case %q", name)
	case construct != nil && (construct() == nil) != accepted:
		t.Errorf("%s: %v; Kafka accepts: %v", name, construct(), accepted)
	}
}

func checkSegmentTransition(t *testing.T, tr transition) {
	t.Helper()
	to := segmentState(t, tr.to())
	allowed := to == api.CopySegmentStarted // a segment begins as an add, in this state
	if tr.from() != "null" {
		allowed = segmentState(t, tr.from()).CanBecome(to)
	}
	if allowed != tr.ok() {
		t.Errorf("segment %s to %s: %v; Kafka: %v", tr.from(), to, allowed, tr.ok())
	}
}

func checkDeleteTransition(t *testing.T, tr transition) {
	t.Helper()
	from := api.DeletePartitionNone
	if tr.from() != "null" {
		from = deleteState(t, tr.from())
	}
	if to := deleteState(t, tr.to()); from.CanBecome(to) != tr.ok() {
		t.Errorf("deletion %s to %s: %v; Kafka: %v", from, to, !tr.ok(), tr.ok())
	}
}

func checkStateID(t *testing.T, name string, id int8) {
	t.Helper()
	var got int8
	if strings.HasPrefix(name, "DELETE_PARTITION") {
		got = int8(deleteState(t, name))
	} else {
		got = int8(segmentState(t, name))
	}
	if got != id {
		t.Errorf("%s is %d; Kafka: %d", name, got, id)
	}
}

func segmentState(t *testing.T, name string) (s api.RemoteLogSegmentState) {
	t.Helper()
	if err := s.UnmarshalText([]byte(name)); err != nil {
		t.Error(err)
	}
	return s
}

func deleteState(t *testing.T, name string) (s api.RemotePartitionDeleteState) {
	t.Helper()
	if err := s.UnmarshalText([]byte(name)); err != nil {
		t.Error(err)
	}
	return s
}
