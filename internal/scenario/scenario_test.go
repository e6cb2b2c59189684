package scenario

import (
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
)

func tipOf(name string) api.TopicIdPartition {
	return api.TopicIdPartition{TopicID: api.UUIDFromBits(1, uint64(len(name))), Topic: name}
}

func TestEveryScriptCanBeRead(t *testing.T) {
	scripts, err := All()
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, s := range scripts {
		steps, err := s.Steps(tipOf)
		if err != nil {
			t.Error(err)
		}
		queries := 0
		for _, step := range steps {
			if !step.IsEvent() {
				queries++
			}
		}
		if queries == 0 && len(steps) > 0 {
			t.Errorf("%s asks nothing", s.Name)
		}
	}
}

func TestSteps(t *testing.T) {
	s := Script{Name: "S", Text: `
# a comment
add A [0,99] {1:50,0:0} size=7 notxn broker=2 time=3 custom=01ff  # and another
partition T2
fin B custom= -> SegmentNotFound
get 1/60 -> none
`}
	steps, err := s.Steps(tipOf)
	if err != nil || len(steps) != 3 {
		t.Fatalf("got %d steps, %v", len(steps), err)
	}
	want := api.RemoteLogSegmentMetadata{
		ID:        api.RemoteLogSegmentID{TopicIdPartition: tipOf("orders"), ID: api.UUID{'A'}},
		EndOffset: 99, SegmentSizeInBytes: 7, TxnIndexEmpty: true, BrokerID: 2, EventTimestampMs: 3,
		LeaderEpochs:   api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: 0}, api.EpochOffset{LeaderEpoch: 1, Offset: 50}),
		CustomMetadata: api.NewCustomMetadata([]byte{1, 255}),
	}
	if got := steps[0].event.(api.RemoteLogSegmentMetadata); !got.Equal(want) || steps[0].Want != Applied {
		t.Errorf("add: got %+v, %s", got, steps[0].Want)
	}
	update := steps[1].event.(api.RemoteLogSegmentMetadataUpdate)
	if !update.CustomMetadata.Present() || update.ID.TopicIdPartition != tipOf("T2") || steps[1].Want != "SegmentNotFound" {
		t.Errorf("update: got %+v, %s", update, steps[1].Want)
	}
	if q := steps[2]; q.At != "S:6" || q.Verb != "get" || q.epoch != 1 || q.offset != 60 || q.Want != "none" {
		t.Errorf("query: got %+v", q)
	}
}

func TestBadLines(t *testing.T) {
	for _, line := range []string{
		"frob A", "frob A -> A", "add", "add A [0,9]", "add A [0;9] {0:0}", "add A [0,9]x {0:0}", "add A [0,9] {0}",
		"add A [0,9] {0:0} size=x", "add A [0,9] {0:0} size=4294967296", "add A [0,9] {0:0} color=red",
		"add A [0,9] {0:0} state=NEW", "add ABCDEFGHIJKLMNOPQ [0,9] {0:0}", "fin", "fin A custom=0", "fin A size=1",
		"pd", "pd NONE", "get 0/1", "get -> A", "get 0 -> A", "get 0/1x -> A", "next 0/1 2 -> A", "highest x -> 1",
		"total MANY -> 1/1", "list 0 1 -> A", "orphans 1 -> A", "partition a b",
	} {
		_, err := Script{Name: "S", Text: line}.Steps(tipOf)
		if err == nil || !strings.HasPrefix(err.Error(), "S:1: ") {
			t.Errorf("%q: got %v, want an error that names the line", line, err)
		}
	}
}

func TestNamesSortAsIDs(t *testing.T) {
	var last Step
	for _, name := range []string{"A", "A1", "AB", "B", "z"} {
		var s Step
		if err := s.parseName(name); err != nil || nameOf(s.Segment) != name {
			t.Errorf("%s: got %q, %v", name, nameOf(s.Segment), err)
		}
		if s.Segment.Compare(last.Segment) <= 0 {
			t.Errorf("%s doesn't come after %s", name, nameOf(last.Segment))
		}
		last = s
	}
}
