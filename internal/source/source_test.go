package source

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/store"
)

func quiet(int64, int64) {}

// all are the rows of a source by key.
func all(t *testing.T, from Source, selected Selector) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for row, err := range from.Rows(t.Context(), selected) {
		if err != nil {
			t.Fatal(err)
		}
		key := codec.PartitionKey(row.Partition())
		if row.Kind != codec.RowPartition {
			key = codec.SegmentKey(row.Segment.ID)
		}
		rows[key] = string(codec.EncodeRow(row.Row))
	}
	return rows
}

// A topic without its first events, or that loses them while it is read, isn't told as if
// it were whole.
func TestATopicThatLostItsHeadIsRefused(t *testing.T) {
	c := rlmmtest.NewCluster(t, 2)
	c.CreateTopics()
	c.PublishEvents(rlmmtest.Segment(c.PartitionOn(0, 0), 1, 0, 9), rlmmtest.Segment(c.PartitionOn(1, 0), 2, 0, 9))
	topic, err := OpenTopic(t.Context(), c.Settings, rlmmtest.MetadataTopic, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer topic.Close()
	for _, before := range []string{"meanwhile", "before"} {
		want := &BeheadedError{rlmmtest.MetadataTopic, 0, 1}
		var got *BeheadedError
		for _, err := range topic.Rows(t.Context(), nil) {
			errors.As(err, &got)
			if before == "meanwhile" && err == nil {
				if err := c.DeleteRecords(rlmmtest.MetadataTopic, 0, 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cut %s: %s", before, diff)
		}
	}
}

// The topic folded in memory is the table that a fleet makes of it, whatever is on it.
func TestTheTopicIsTheTable(t *testing.T) {
	c := rlmmtest.NewCluster(t, 5)
	c.RunProcessor()
	one, two := c.PartitionOn(1, 0), c.PartitionOn(3, 0)
	a, b := rlmmtest.Segment(one, 1, 0, 9), rlmmtest.Segment(two, 2, 0, 9)
	c.PublishEvents(a, b, rlmmtest.Update(a, api.CopySegmentFinished), rlmmtest.Update(a, api.DeleteSegmentStarted),
		rlmmtest.Update(a, api.DeleteSegmentFinished), rlmmtest.Update(rlmmtest.Segment(one, 9, 0, 1), api.DeleteSegmentStarted),
		rlmmtest.Delete(two, api.DeletePartitionMarked), a)
	c.Publish(rlmmtest.Raw(2, nil), rlmmtest.Raw(2, []byte{7}), rlmmtest.Raw(0, c.Record(b).Value))
	c.PublishInTransaction(c.Record(rlmmtest.Update(b, api.CopySegmentFinished)))
	c.WaitApplied()
	topic, err := OpenTopic(t.Context(), c.Settings, rlmmtest.MetadataTopic, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer topic.Close()
	if diff := cmp.Diff(c.Rows(), all(t, topic, nil)); diff != "" {
		t.Errorf("-table +topic:\n%s", diff)
	}
	for row, err := range topic.Rows(t.Context(), Selector{{Topic: two.TopicID.String()}}) {
		if err != nil || row.Partition() != two || row.MetadataPartition != 3 {
			t.Errorf("%v, %v", row, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range topic.Rows(ctx, nil) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after the context has ended: %v", err)
		}
	}
}

// write makes a store with the rows.
func write(t *testing.T, data, name string, applied int64, rows ...codec.Row) {
	t.Helper()
	s, _, err := store.Open(filepath.Join(data, name), store.Options{}, store.Expect{TableEnd: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	s.Stage(store.Change{Key: codec.RejectedKey(0), Applied: applied})
	for _, row := range rows {
		s.Stage(store.Change{Key: codec.SegmentKey(row.Segment.ID), Value: codec.EncodeRow(row), Applied: applied})
	}
	if err := errors.Join(s.SetOffset(9), s.Close()); err != nil {
		t.Fatal(err)
	}
}

func row(n int) codec.Row {
	tip := api.TopicIdPartition{TopicID: rlmmtest.ID(1), Topic: "orders"}
	return codec.Row{Kind: codec.RowSegment, Offset: 1, FinishedOffset: -1, Segment: rlmmtest.Segment(tip, n, 0, 9)}
}

// Of a processor's and a view's store of one metadata partition the one counts that has
// applied more.
func TestAFolderIsReadFromItsFurthestStores(t *testing.T) {
	data := t.TempDir()
	write(t, data, "processor/0", 5, row(1))
	write(t, data, "views/0", 7, row(2))
	write(t, data, "processor/1", 7, row(3))
	write(t, data, "views/1", 5, row(4))
	write(t, data, "views/2.aside-corrupt-1", 9, row(5))
	folder, err := OpenFolder(data, quiet)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(all(t, folder, nil)))
	want := []string{codec.SegmentKey(row(2).Segment.ID), codec.SegmentKey(row(3).Segment.ID)}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	held, _, err := store.Open(filepath.Join(data, "processor/1"), store.Options{}, store.Expect{TableEnd: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	var last error
	for _, err := range folder.Rows(t.Context(), nil) {
		last = err
	}
	if _, inUse := errors.AsType[*store.LocalInUseError](last); !inUse {
		t.Errorf("a store in use: %v", last)
	}
	if _, err := OpenFolder(t.TempDir(), quiet); err == nil {
		t.Error("an empty folder was opened")
	}
}

func TestParseTopicAndPartition(t *testing.T) {
	id := rlmmtest.ID(1)
	orders := func(name string, partition int32) api.TopicIdPartition {
		return api.TopicIdPartition{TopicID: id, Topic: name, Partition: partition}
	}
	for _, c := range []struct {
		text                 string
		tip                  api.TopicIdPartition
		asTopic, asPartition bool
	}{
		{"orders", orders("orders", 3), true, false},
		{"orders-3", orders("orders", 3), true, true},
		{"orders-3", orders("orders", 4), false, false},
		{"orders-3", orders("orders-3", 7), true, false},
		{"orders:3", orders("orders", 3), true, true},
		{id.String(), orders("orders", 3), true, false},
		{id.String() + "-3", orders("orders", 3), true, true},
		{id.String() + ":3", orders("orders", 3), true, true},
		{"00000000-0000-4000-0000-000000000001-3", orders("orders", 3), true, true},
		{"orders-03", orders("orders", 3), false, false},
		{"orders-99999999999", orders("orders", 3), false, false},
		{"-3", orders("", 3), false, false},
	} {
		topic, err := ParseTopic(c.text)
		if err != nil || topic.Matches(c.tip) != c.asTopic {
			t.Errorf("%s as a topic: %v, %v of %v", c.text, topic, err, c.tip)
		}
		partition, err := ParsePartition(c.text)
		if matches := err == nil && partition.Matches(c.tip); matches != c.asPartition {
			t.Errorf("%s as a partition: %v, %v of %v", c.text, partition, err, c.tip)
		}
		if err != nil && (!errors.Is(err, api.ErrInvalidArgument) || len(partition) > 0) {
			t.Errorf("%s: %v, %v", c.text, partition, err)
		}
	}
	if _, err := ParseTopic(""); !errors.Is(err, api.ErrInvalidArgument) {
		t.Errorf("nothing: %v", err)
	}
}

// Each kind of row comes back from its shape.
func TestShapesAreRowsAgain(t *testing.T) {
	tip := api.TopicIdPartition{TopicID: rlmmtest.ID(1), Topic: "orders", Partition: 2}
	body := rlmmtest.Segment(tip, 1, 5, 9)
	bare := api.RemoteLogSegmentMetadata{ID: body.ID, State: api.DeleteSegmentStarted, BrokerID: 3, EventTimestampMs: 4}
	highest := api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: 1, Offset: -1}, api.EpochOffset{LeaderEpoch: 2, Offset: 8})
	for _, r := range []codec.Row{
		{Kind: codec.RowSegment, Offset: 4, FinishedOffset: -1, Segment: body},
		{Kind: codec.RowSegment, Offset: 4, FinishedOffset: 0, Segment: body, Highest: highest},
		{Kind: codec.RowHeadless, Offset: 4, Segment: bare},
		{Kind: codec.RowMarker, Offset: 0, FinishedOffset: -1, Segment: bare},
		{Kind: codec.RowMarker, Offset: 4, FinishedOffset: 2, Segment: bare, Highest: highest},
		{Kind: codec.RowPartition, Offset: 4, Delete: api.RemotePartitionDeleteMetadata{TopicIdPartition: tip, State: api.DeletePartitionStarted, BrokerID: 1}},
	} {
		text, err := Shape(Row{MetadataPartition: 7, Row: r}).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var told rest.Row
		if err := told.UnmarshalJSON(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := rowOf(told, nil)
		if err != nil || got.MetadataPartition != 7 || string(codec.EncodeRow(got.Row)) != string(codec.EncodeRow(r)) || got.Partition() != r.Partition() {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, bad := range []string{`{}`, `{"kind":"other"}`, `{"kind":"segment","topicId":"x"}`, strings.Repeat("[", 9)} {
		var told rest.Row
		if err := told.UnmarshalJSON([]byte(bad)); !errors.Is(err, api.ErrInvalidArgument) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := (rest.Row{Kind: "other"}).MarshalJSON(); err == nil {
		t.Error("an unknown kind was written")
	}
}
