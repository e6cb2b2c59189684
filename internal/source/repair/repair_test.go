package repair

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/source"
)

var (
	orders = api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 1), Topic: "orders", Partition: 3}
	now    = time.UnixMilli(1_700_000_000_000)
)

func folded(events ...api.RemoteLogMetadata) source.Folded {
	rows := source.Folded{}
	for i, e := range events {
		rows.Add(event(e, int64(i)))
	}
	return rows
}

func event(e api.RemoteLogMetadata, offset int64) source.Event {
	return source.Event{Record: kafka.Record{Offset: offset}, Metadata: e}
}

// planOf is the whole plan: all segments, by key, and then the partition.
func planOf(rows source.Folded) (plan []Action) {
	for row := range rows.InOrder {
		if row.Kind == codec.RowSegment || row.Kind == codec.RowHeadless {
			plan = append(plan, Delete(*row, 7, "why", "because"))
		}
	}
	return append(plan, End(orders, rows[codec.PartitionKey(orders)], 7, "why", "because"))
}

func again(t interface{ Fatal(...any) }, plan []Action) []Action {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	for _, a := range plan {
		if err := enc.Encode(a); err != nil {
			t.Fatal(err)
		}
	}
	read, err := Read(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// Whatever there is, its plan survives being written, is accepted whole, and leaves nothing
// but markers and an ended partition; carried out again it is refused.
func TestAPlanEndsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []api.RemoteLogMetadata
		for range rapid.IntRange(0, 20).Draw(t, "events") {
			s := rlmmtest.Segment(orders, rapid.IntRange(1, 5).Draw(t, "segment"), 0, 9)
			switch n := rapid.IntRange(-1, 6).Draw(t, "kind"); {
			case n == -1:
				events = append(events, rlmmtest.Delete(orders, api.RemotePartitionDeleteState(rapid.Int8Range(0, 1).Draw(t, "deletion"))))
			case n < 4:
				events = append(events, rlmmtest.Update(s, api.RemoteLogSegmentState(n)))
			default:
				events = append(events, s)
			}
		}
		rows := folded(events...)
		plan := planOf(rows)
		read := again(t, plan)
		if diff := cmp.Diff(plan, read); diff != "" {
			t.Fatalf("-written +read\n%s", diff)
		}
		offset := int64(len(events))
		for _, step := range Steps(read, rows, now) {
			if step.Refused != nil || len(step.Events) == 0 {
				t.Fatalf("%+v", step)
			}
			for _, e := range step.Events {
				headless := rows[codec.EventKey(e)] != nil && rows[codec.EventKey(e)].Kind == codec.RowHeadless
				if outcome := rows.Add(event(e, offset)); outcome.Rejected() != headless {
					t.Fatalf("%+v: %s", e, outcome)
				}
				offset++
			}
		}
		for key, row := range rows {
			if row.Kind != codec.RowMarker && (row.Kind != codec.RowPartition || row.Delete.State != api.DeletePartitionFinished) {
				t.Fatalf("%s is left: %+v", key, row)
			}
		}
		for _, step := range Steps(read, rows, now) {
			if step.Refused == nil || step.Events != nil {
				t.Fatalf("a second time: %+v", step)
			}
		}
	})
}

func TestStepsRefuseWhatHasChanged(t *testing.T) {
	one, two := rlmmtest.Segment(orders, 1, 0, 9), rlmmtest.Segment(orders, 2, 10, 19)
	before := []api.RemoteLogMetadata{one, two, rlmmtest.Update(two, api.CopySegmentFinished)}
	plan := planOf(folded(before...))
	for _, c := range []struct {
		name string
		then []api.RemoteLogMetadata
		want []string // for one, two, the partition; empty is accepted
	}{
		{"nothing", nil, []string{"", "", ""}},
		{"a copy was finished", []api.RemoteLogMetadata{rlmmtest.Update(one, api.CopySegmentFinished)}, []string{
			"it is in COPY_SEGMENT_FINISHED since offset 3, not in COPY_SEGMENT_STARTED since offset 0", "", "1 segments of the partition aren't deleted",
		}},
		{"an update was tried again", []api.RemoteLogMetadata{rlmmtest.Update(two, api.CopySegmentFinished)}, []string{
			"", "it is in COPY_SEGMENT_FINISHED since offset 3, not in COPY_SEGMENT_FINISHED since offset 2", "1 segments of the partition aren't deleted",
		}},
		{"it was deleted", []api.RemoteLogMetadata{rlmmtest.Update(one, api.DeleteSegmentStarted), rlmmtest.Update(one, api.DeleteSegmentFinished)}, []string{
			"the segment is deleted, not in COPY_SEGMENT_STARTED", "", "",
		}},
		{"another segment came", []api.RemoteLogMetadata{rlmmtest.Segment(orders, 3, 20, 29)}, []string{"", "", "1 segments of the partition aren't deleted"}},
		{"the partition's deletion began", []api.RemoteLogMetadata{rlmmtest.Delete(orders, api.DeletePartitionMarked)}, []string{
			"", "", "it is in DELETE_PARTITION_MARKED since offset 3, not in NONE since offset -1",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, step := range Steps(plan, folded(append(before[:3:3], c.then...)...), now) {
				text := ""
				if step.Refused != nil {
					text = step.Refused.Error()
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	unknown := Steps(plan[:1], source.Folded{}, now)
	if err := unknown[0].Refused; err == nil || err.Error() != "the segment is unknown, not in COPY_SEGMENT_STARTED" {
		t.Errorf("an unknown segment: %v", err)
	}
	ended := folded(rlmmtest.Delete(orders, api.DeletePartitionMarked), rlmmtest.Delete(orders, api.DeletePartitionStarted), rlmmtest.Delete(orders, api.DeletePartitionFinished))
	again := Steps([]Action{End(orders, ended[codec.PartitionKey(orders)], 7, "", "")}, ended, now)
	if err := again[0].Refused; err == nil || err.Error() != "it is in DELETE_PARTITION_FINISHED already" {
		t.Errorf("an ended partition: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	const good = `{"action":"end_partition","metadataPartition":1,"topicId":"AAAAAAAAAAEAAAAAAAAAAQ","topic":"t","partition":0,"expect":{"state":"NONE","offset":-1}}`
	if plan, err := Read(strings.NewReader("\n" + good + "\n\n")); err != nil || len(plan) != 1 {
		t.Fatalf("%+v, %v", plan, err)
	}
	for _, c := range []struct{ text, want string }{
		{"x", "line 1: "},
		{good + "\n" + good, "line 2: a second action on the same row"},
		{good + good, "line 1: more than one action"},
		{strings.Replace(good, "end_partition", "drop", 1), `"drop"`},
		{strings.Replace(good, "end_partition", "delete_segment", 1), "segmentId"},
		{strings.Replace(good, `"topic":"t"`, `"segmentId":"AAAAAAAAAAEAAAAAAAAAAQ"`, 1), "segmentId"},
		{strings.Replace(good, `"topic":"t"`, `"tpoic":"t"`, 1), "tpoic"},
		{strings.Replace(good, `"NONE"`, `""`, 1), "state is missing"},
		{strings.Replace(good, `"partition":0`, `"partition":-1`, 1), "partition"},
		{strings.Repeat("x", maxLine+1), "line 1: "},
	} {
		if _, err := Read(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.200s: %v, want %s", c.text, err, c.want)
		}
	}
}

// FuzzRead: what is read is written and read as the same.
func FuzzRead(f *testing.F) {
	f.Add(`{"action":"delete_segment","metadataPartition":1,"topicId":"AAAAAAAAAAEAAAAAAAAAAQ","topic":"t","partition":0,"segmentId":"AAAAAAAAAAEAAAAAAAAAAQ","expect":{"state":"COPY_SEGMENT_STARTED","offset":3}}`)
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		if diff := cmp.Diff(plan, again(t, plan)); diff != "" {
			t.Errorf("-read +again\n%s", diff)
		}
	})
}
