//go:build integration

package kafkatest_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/integration/kafkatest"
)

const metadataPartitions = 50

func TestPeerStateIsTheRecordedState(t *testing.T) {
	for _, recording := range kafkatest.Recordings(t) {
		t.Run(recording.Name, func(t *testing.T) {
			broker := kafkatest.Start(t)
			kafkatest.CreateMetadataTopic(t, broker.Bootstrap(), kafkatest.MetadataTopic, metadataPartitions)
			kafkatest.Load(t, broker.Bootstrap(), kafkatest.MetadataTopic, recording.Events)
			got := kafkatest.PeerState(t, broker.Bootstrap())
			if diff := cmp.Diff(recording.States, got); diff != "" {
				t.Errorf("answers of Kafka's manager (-recorded +got):\n%s", diff)
			}
		})
	}
}

func TestPeerApplyWritesTheRecordedBytes(t *testing.T) {
	recording := kafkatest.Recordings(t)[0]
	broker := kafkatest.Start(t)
	var operations []kafkatest.Operation
	for _, event := range recording.Events {
		operations = append(operations, event.Decoded.Operation())
	}
	for i, outcome := range kafkatest.PeerApply(t, broker.Bootstrap(), operations) {
		if !outcome.OK {
			t.Fatalf("operation %d, %+v: %s", i, operations[i], outcome.Error)
		}
	}
	got := kafkatest.ReadTopic(t, broker.Bootstrap(), kafkatest.MetadataTopic)
	if diff := cmp.Diff(values(recording.Events), values(got)); diff != "" {
		t.Errorf("values by metadata partition (-recorded +written):\n%s", diff)
	}
}

// values returns the values of each partition, in the order of their offsets, in hex.
func values(events []kafkatest.Event) map[int32][]string {
	byPartition := map[int32][]string{}
	for _, e := range events {
		text, _ := e.Value.MarshalJSON()
		byPartition[e.Partition] = append(byPartition[e.Partition], string(text))
	}
	return byPartition
}

func TestPeerApplyReportsWhatKafkaRefuses(t *testing.T) {
	broker := kafkatest.Start(t)
	add := *kafkatest.Recordings(t)[0].Events[0].Decoded
	finished := add
	finished.State = "COPY_SEGMENT_FINISHED"
	outcomes := kafkatest.PeerApply(t, broker.Bootstrap(), []kafkatest.Operation{
		finished.Operation(), add.Operation(), {Op: "mend", Metadata: add},
	})
	want := []kafkatest.Outcome{
		{Error: "java.lang.IllegalArgumentException: Given remoteLogSegmentMetadata should have state as COPY_SEGMENT_STARTED but it contains state as: COPY_SEGMENT_FINISHED"},
		{OK: true},
		{Error: "java.lang.IllegalArgumentException: op is none of add, update, delete: mend"},
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestSharedBrokersKeepWhatIsLoaded(t *testing.T) {
	topic := "kafkatest-" + api.RandomUUID().String()
	events := []kafkatest.Event{
		{Partition: 0, Offset: 0, Key: nil, Value: nil},
		{Partition: 0, Offset: 1, Key: kafkatest.Hex{}, Value: kafkatest.Hex{}},
		{Partition: 2, Offset: 0, Key: kafkatest.Hex{1}, Value: kafkatest.Hex{2}},
	}
	for range 2 { // the first round deletes its topic at its end
		t.Run("round", func(t *testing.T) {
			bootstrap := kafkatest.Bootstrap(t)
			kafkatest.CreateMetadataTopic(t, bootstrap, topic, 3)
			if got := kafkatest.ReadTopic(t, bootstrap, topic); len(got) != 0 {
				t.Errorf("a new topic holds %+v", got)
			}
			kafkatest.Load(t, bootstrap, topic, events)
			got := kafkatest.ReadTopic(t, bootstrap, topic)
			if diff := cmp.Diff(events, got, cmpopts.IgnoreFields(kafkatest.Event{}, "Timestamp")); diff != "" {
				t.Errorf("events (-loaded +read):\n%s", diff)
			}
		})
	}
}

func TestPeerDecodeReadsTheRecordedValues(t *testing.T) {
	events := kafkatest.Recordings(t)[0].Events
	values := [][]byte{[]byte("no metadata")}
	for _, e := range events {
		values = append(values, e.Value)
	}
	decoded := kafkatest.PeerDecode(t, values)
	if decoded[0].Error == "" {
		t.Errorf("damaged value: %+v, want an error", decoded[0])
	}
	for i, got := range decoded[1:] {
		if diff := cmp.Diff(kafkatest.Decoded{Metadata: *events[i].Decoded}, got); diff != "" {
			t.Fatalf("value %d (-recorded +decoded):\n%s", i, diff)
		}
	}
}

func TestBrokerKeepsItsDataOverCrashAndRestart(t *testing.T) {
	broker := kafkatest.Start(t)
	const topic = "kept"
	kafkatest.CreateMetadataTopic(t, broker.Bootstrap(), topic, 3)
	load := func(partition int32, value string) {
		kafkatest.Load(t, broker.Bootstrap(), topic, []kafkatest.Event{{Partition: partition, Value: kafkatest.Hex(value)}})
	}
	load(0, "before the crash")
	broker.Kill(t)
	broker.Restart(t)
	load(1, "after the crash")
	broker.Restart(t)
	load(1, "after the restart")
	var got []string
	for _, e := range kafkatest.ReadTopic(t, broker.Bootstrap(), topic) {
		got = append(got, string(e.Value))
	}
	if want := []string{"before the crash", "after the crash", "after the restart"}; !slices.Equal(got, want) {
		t.Errorf("values %q, want %q", got, want)
	}
}

func TestTieredBrokerHasItsMetadataTopic(t *testing.T) {
	broker := kafkatest.Start(t, kafkatest.WithTieredStorage(), kafkatest.WithJVMOption("-Xmx640m"),
		kafkatest.WithProperty("rlmm.config.remote.log.metadata.topic.num.partitions", "5"))
	kafkatest.Load(t, broker.Bootstrap(), kafkatest.MetadataTopic, []kafkatest.Event{{Partition: 4}})
	got := kafkatest.ReadTopic(t, broker.Bootstrap(), kafkatest.MetadataTopic)
	if len(got) != 1 || got[0].Partition != 4 || got[0].Key != nil || got[0].Value != nil {
		t.Errorf("events %+v, want one of nulls on partition 4", got)
	}
}
