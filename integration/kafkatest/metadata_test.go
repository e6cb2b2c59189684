package kafkatest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tieredlog/rlmm/api"
)

func TestHexTellsNullFromEmpty(t *testing.T) {
	for text, want := range map[string]Hex{`null`: nil, `""`: {}, `"00ff"`: {0, 255}} {
		var got Hex
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !cmp.Equal(got, want) {
			t.Errorf("%s: %#v, want %#v", text, got, want)
		}
		if back, err := json.Marshal(got); err != nil || string(back) != text {
			t.Errorf("%s written as %s, error %v", text, back, err)
		}
	}
}

func TestMetadataOfEachKind(t *testing.T) {
	topic, segment := parseID(t, topicID), parseID(t, segmentID)
	partition := api.TopicIdPartition{TopicID: topic, Topic: "t", Partition: 1}
	id := api.RemoteLogSegmentID{TopicIdPartition: partition, ID: segment}
	for _, test := range []struct {
		event api.RemoteLogMetadata
		want  Metadata
		op    string
	}{
		{
			api.RemoteLogSegmentMetadata{
				ID: id, StartOffset: 1, EndOffset: 2, MaxTimestampMs: 3, BrokerID: 4, EventTimestampMs: 5, SegmentSizeInBytes: 6,
				LeaderEpochs:   api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: 7, Offset: 1}),
				CustomMetadata: api.NewCustomMetadata(nil), State: api.CopySegmentStarted, TxnIndexEmpty: true,
			},
			Metadata{
				Kind: KindSegment, Topic: "t", Partition: 1, TopicID: topic, SegmentID: segment,
				StartOffset: 1, EndOffset: 2, MaxTimestampMs: 3, BrokerID: 4, EventTimestampMs: 5, SegmentSizeInBytes: 6,
				Epochs: [][2]int64{{7, 1}}, CustomMetadata: Hex{}, State: "COPY_SEGMENT_STARTED", TxnIdxEmpty: true,
			},
			"add",
		},
		{
			api.RemoteLogSegmentMetadataUpdate{ID: id, EventTimestampMs: 5, BrokerID: 4, State: api.CopySegmentFinished},
			Metadata{
				Kind: KindSegmentUpdate, Topic: "t", Partition: 1, TopicID: topic, SegmentID: segment,
				EventTimestampMs: 5, BrokerID: 4, State: "COPY_SEGMENT_FINISHED", StateID: 1,
			},
			"update",
		},
		{
			api.RemotePartitionDeleteMetadata{TopicIdPartition: partition, EventTimestampMs: 5, BrokerID: 4, State: api.DeletePartitionStarted},
			Metadata{
				Kind: KindPartitionDelete, Topic: "t", Partition: 1, TopicID: topic,
				EventTimestampMs: 5, BrokerID: 4, State: "DELETE_PARTITION_STARTED", StateID: 1,
			},
			"delete",
		},
	} {
		got := MetadataOf(test.event)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%T (-want +got):\n%s", test.event, diff)
		}
		if op := got.Operation().Op; op != test.op {
			t.Errorf("%T: operation %q, want %q", test.event, op, test.op)
		}
	}
}
