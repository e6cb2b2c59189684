package processor_test

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/recording"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
)

func hexed(t *testing.T, s string) []byte {
	t.Helper()
	e, err := recording.Parse([]byte(`{"partition":0,"value":"` + s + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	return e.Value
}

// Nothing on the metadata topic stops the processor. Each record that can't be applied
// has its outcome in the table, and lies with the reason among the rejected events.
func TestPoisonStopsNothing(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	small := "8192"
	for _, topic := range []string{rlmmtest.MetadataTopic, rlmmtest.Table} {
		policy := map[string]string{rlmmtest.MetadataTopic: "delete", rlmmtest.Table: "compact"}[topic]
		if err := c.CreateTopic(topic, 2, map[string]string{"max.message.bytes": small, "cleanup.policy": policy}); err != nil {
			t.Fatal(err)
		}
	}
	tip := c.PartitionOn(0, 0)
	s := rlmmtest.Segment(tip, 1, 0, 9)
	big := rlmmtest.Segment(tip, 2, 10, 19)
	big.CustomMetadata = api.NewCustomMetadata(make([]byte, 7000))
	fat := rlmmtest.Update(s, api.CopySegmentFinished)
	fat.CustomMetadata = big.CustomMetadata
	stray := rlmmtest.Segment(c.PartitionOn(1, 0), 3, 0, 9)
	add, finish := c.Record(s), c.Record(rlmmtest.Update(s, api.CopySegmentFinished))
	lying := add
	lying.Key = []byte("!0/position")

	cut, more := add, add // their keys can be read
	cut.Value = add.Value[:len(add.Value)-3]
	more.Value = append(slices.Clip(add.Value), 0)

	steps := []struct {
		record  recording.Event
		outcome string
		reason  string // of the rejection
	}{
		{rlmmtest.Raw(0, nil), "NullValue", "null value"},
		{recording.Event{Key: []byte("K1")}, "NullValue", "null value"},
		{rlmmtest.Raw(0, []byte{}), "Undecodable", "byte 0"},
		{rlmmtest.Raw(0, hexed(t, "00")), "Undecodable", "byte 0"},
		{rlmmtest.Raw(0, hexed(t, "09")), "Undecodable", "byte 0"},
		{rlmmtest.Raw(0, hexed(t, "010000")), "Undecodable", "byte 3"},
		{rlmmtest.Raw(0, hexed(t, "012a00")), "Undecodable", "byte 1"},
		{rlmmtest.Raw(0, hexed(t, "0100ff")), "Undecodable", "byte 2"},
		{rlmmtest.Raw(0, hexed(t, "010300")), "Undecodable", "byte 1"},
		{rlmmtest.Raw(0, c.Record(stray).Value), "Misrouted", "belongs to metadata partition 1, not 0"},
		{cut, "Undecodable", "byte "},
		{c.Record(big), "TooLarge", "TooLarge"},
		{finish, "SegmentNotFound", "SegmentNotFound"},
		{lying, "applied", ""},
		{add, "InvalidAdd", "InvalidAdd"},
		{c.Record(fat), "TooLarge", "TooLarge"},
		{more, "Undecodable", "more bytes"},
		{finish, "applied", ""},
		{finish, "applied", ""},
		{c.Record(rlmmtest.Update(s, api.DeleteSegmentFinished)), "InvalidSegmentTransition", "InvalidSegmentTransition"},
		{c.Record(rlmmtest.Delete(tip, api.DeletePartitionFinished)), "InvalidPartitionDeleteTransition", "InvalidPartitionDeleteTransition"},
		{c.Record(rlmmtest.Segment(tip, 4, 10, 19)), "applied", ""},
	}

	p := c.RunProcessor()
	var want []string
	rejected := map[int64]int{}
	for i, step := range steps {
		c.Publish(step.record)
		if want = append(want, step.outcome); step.reason != "" {
			rejected[int64(i)] = i
		}
	}
	c.WaitApplied()
	if diff := cmp.Diff(want, c.Outcomes(0)); diff != "" {
		t.Errorf("outcomes: %s", diff)
	}
	c.WaitFor("the rejections", func() bool { return len(c.Read(rlmmtest.Rejected, 0)) >= len(rejected) })
	for _, r := range c.Read(rlmmtest.Rejected, 0) {
		offset := headerInt(t, r, "rlmm.offset")
		i, ok := rejected[offset]
		if !ok {
			t.Errorf("offset %d is rejected twice or for nothing", offset)
			continue
		}
		delete(rejected, offset)
		step := steps[i]
		if outcome, _ := rlmmtest.Header(r, "rlmm.outcome"); outcome != step.outcome || headerInt(t, r, "rlmm.partition") != 0 {
			t.Errorf("rejection of %d has headers %v", i, r.Headers)
		}
		if reason, _ := rlmmtest.Header(r, "rlmm.reason"); !strings.Contains(reason, step.reason) {
			t.Errorf("rejection of %d because of %q, want %q", i, reason, step.reason)
		}
		if !bytes.Equal(r.Value, step.record.Value) || (r.Value == nil) != (step.record.Value == nil) {
			t.Errorf("rejection of %d holds % x, want % x", i, r.Value, step.record.Value)
		}
	}
	stats := p.Stats()
	wantStats := map[codec.Outcome]int64{
		codec.OutcomeApplied: 4, codec.OutcomeNullValue: 2, codec.OutcomeUndecodable: 9, codec.OutcomeMisrouted: 1,
		codec.OutcomeTooLarge: 2, codec.OutcomeSegmentNotFound: 1, codec.OutcomeInvalidAdd: 1,
		codec.OutcomeInvalidSegmentTransition: 1, codec.OutcomeInvalidPartitionDeleteTransition: 1,
	}
	if diff := cmp.Diff(wantStats, stats.Outcomes); diff != "" || stats.Sessions != 1 {
		t.Errorf("%d sessions, counts: %s", stats.Sessions, diff)
	}
	if rows := c.Rows(); len(rows) != 2 {
		t.Errorf("%d rows, want 2", len(rows))
	}
}

func headerInt(t *testing.T, r *kgo.Record, key string) int64 {
	t.Helper()
	text, _ := rlmmtest.Header(r, key)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Error(err)
	}
	return n
}

// More rejections at once than one batch of the topic takes.
func TestManyLargeRejections(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.CreateTopics()
	junk := make([]recording.Event, 150)
	for i := range junk {
		junk[i] = rlmmtest.Raw(0, bytes.Repeat([]byte{9}, 20_000))
	}
	for i := 0; i < len(junk); i += 30 {
		c.Publish(junk[i : i+30]...)
	}
	p := c.RunProcessor()
	c.WaitApplied()
	c.VerifyTable()
	c.WaitFor("every rejection", func() bool { return len(c.Read(rlmmtest.Rejected, 0)) == len(junk) })
	if s := p.Stats(); s.Sessions != 1 {
		t.Errorf("%d sessions", s.Sessions)
	}
}
