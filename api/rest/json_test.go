package rest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

func golden(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/segment.json")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(data)
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSegmentGolden(t *testing.T) {
	diff(t, "encoded", encode(t, rest.NewSegment(sample())), string(golden(t)))
	var s rest.Segment
	if err := json.Unmarshal(golden(t), &s); err != nil {
		t.Fatal(err)
	}
	diff(t, "decoded", s.Metadata(), sample())
}

func TestCustomMetadataAbsentIsNotEmpty(t *testing.T) {
	for _, custom := range []api.CustomMetadata{{}, api.NewCustomMetadata(nil), api.NewCustomMetadata([]byte{0})} {
		m := sample()
		m.CustomMetadata = custom
		var s rest.Segment
		if err := json.Unmarshal([]byte(encode(t, rest.NewSegment(m))), &s); err != nil {
			t.Fatal(err)
		}
		diff(t, "segment", s.Metadata(), m)
	}
}

func TestSegmentReadsUUIDTextAndPassesOverNewMembers(t *testing.T) {
	data := bytes.Replace(golden(t), []byte(topicID.String()), []byte("52964786-7133-42e1-aa4f-c4fd405bc4f7"), 1)
	data = bytes.Replace(data, []byte(`{"leaderEpoch":0,`), []byte(`{"leaderEpoch":0,"new":[1],`), 1)
	data = bytes.Replace(data, []byte(`{`), []byte(`{"new":{"a":1},`), 1)
	var s rest.Segment
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	diff(t, "decoded", s.Metadata(), sample())
}

func TestEventRows(t *testing.T) {
	update := api.RemoteLogSegmentMetadataUpdate{ID: id, EventTimestampMs: 5, State: api.DeleteSegmentStarted, BrokerID: 2}
	deletion := api.RemotePartitionDeleteMetadata{TopicIdPartition: named, State: api.DeletePartitionMarked, EventTimestampMs: 6, BrokerID: 3}
	ids := `"topicId":"UpZHhnEzQuGqT8T9QFvE9w","topic":"orders","partition":3,`
	unknown, elsewhere := errors.New("unknown api key 9"), errors.New("belongs elsewhere")
	tests := map[string]struct {
		event rest.Event
		want  string
	}{
		"segment": {rest.Event{Metadata: sample(), Value: []byte{1}}, `{"kind":"segment","metadataPartition":7,"offset":42,` + string(golden(t)[1:])},
		"update": {rest.Event{Metadata: update, Outcome: "applied"}, `{"kind":"segmentUpdate","metadataPartition":7,"offset":42,"segmentId":"JOw6TysnTbyDuWAbi74FZQ",` + ids +
			`"brokerId":2,"eventTimestampMs":5,"customMetadata":null,"state":"DELETE_SEGMENT_STARTED","outcome":"applied"}`},
		"partition delete": {rest.Event{Metadata: deletion, Err: elsewhere}, `{"kind":"partitionDelete","metadataPartition":7,"offset":42,` + ids +
			`"brokerId":3,"eventTimestampMs":6,"state":"DELETE_PARTITION_MARKED","error":"belongs elsewhere"}`},
		"undecodable": {rest.Event{Err: unknown, Value: []byte{1, 9}}, `{"metadataPartition":7,"offset":42,"error":"unknown api key 9","value":"0109"}`},
		"null":        {rest.Event{Err: unknown}, `{"metadataPartition":7,"offset":42,"error":"unknown api key 9"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.event.MetadataPartition, test.event.Offset = 7, 42
			diff(t, "row", encode(t, test.event), test.want)
		})
	}
}

func TestEventOfUnknownStateFails(t *testing.T) {
	m := sample()
	m.State = 9
	if _, err := json.Marshal(rest.Event{Metadata: m}); !errors.Is(err, api.ErrInvalidArgument) {
		t.Errorf("got %v, want an invalid argument", err)
	}
}

// reread checks the invariant of a decoder: what it accepts, encoded, decodes to the
// same.
func reread[T, M any](t *testing.T, data []byte, metadata func(T) M, shape func(M) T) {
	t.Helper()
	var first, second T
	if json.Unmarshal(data, &first) != nil {
		return
	}
	text := encode(t, shape(metadata(first)))
	if err := json.Unmarshal([]byte(text), &second); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	diff(t, "decoded again", metadata(second), metadata(first))
}

func FuzzDecoders(f *testing.F) {
	add := func(v any) {
		data, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	add(rest.NewSegment(sample()))
	add(rest.NewSegmentUpdate(api.RemoteLogSegmentMetadataUpdate{ID: id, CustomMetadata: api.NewCustomMetadata(nil)}))
	add(rest.NewPartitionDelete(api.RemotePartitionDeleteMetadata{TopicIdPartition: named}))
	add(rest.Error{Code: 409, Reason: "invalid_add", Known: &rest.Segment{}})
	for _, text := range []string{``, `null`, `{`, `{}{}`, `[1]`, `{"segmentLeaderEpochs":[null]}`, `{"partition":1e3}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		reread(t, data, rest.Segment.Metadata, rest.NewSegment)
		reread(t, data, rest.SegmentUpdate.Metadata, rest.NewSegmentUpdate)
		reread(t, data, rest.PartitionDelete.Metadata, rest.NewPartitionDelete)
		_ = new(rest.Segment).UnmarshalJSON(data)
		_ = new(rest.SegmentUpdate).UnmarshalJSON(data)
		_ = new(rest.PartitionDelete).UnmarshalJSON(data)
		_ = json.Unmarshal(data, new(rest.Error))
	})
}
