//go:build integration

package integration_test

import (
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/views"
)

// The main job: what a real tiered broker wrote, folded by two processors of one group,
// answered by a manager in a third process as Kafka's own manager answers.
func TestRecordingsAnswerAsKafkaDoes(t *testing.T) {
	for _, recording := range kafkatest.Recordings(t) {
		t.Run(recording.Name, func(t *testing.T) {
			f := newFleet(kafkatest.Bootstrap(t))
			kafkatest.CreateMetadataTopic(t, f.bootstrap, f.topic, 50)
			kafkatest.Load(t, f.bootstrap, f.topic, recording.Events)
			f.startProcessor(t)
			f.startProcessor(t)
			m := f.manager(t, views.BoundsEpoch)
			if got := len(m.AssignedMetadataPartitions()); got != 50 {
				t.Fatalf("%d metadata partitions assigned, want 50", got)
			}
			compare(t, m, recording.States)
			t.Logf("%d events, %d partitions compared", len(recording.Events), len(recording.States))
		})
	}
}

// What our emitters write, Kafka's own manager reads and answers alike; byte for byte
// it is what the broker itself wrote.
func TestKafkaReadsWhatWeWrite(t *testing.T) {
	recording := kafkatest.Recordings(t)[0]
	f := ownTopic(t)
	f.startProcessor(t)
	f.startProcessor(t)
	m := f.manager(t, views.BoundsEpoch)
	publishAll(t, m, recording.Events)

	compareBytes(t, recording.Events, kafkatest.ReadTopic(t, f.bootstrap, f.topic))
	states := kafkatest.PeerState(t, f.bootstrap)
	compare(t, m, states)
	if len(states) != len(recording.States) {
		t.Errorf("Kafka's manager knows %d partitions, want %d", len(states), len(recording.States))
	}
}

// What Kafka's own manager writes, our fleet folds and our manager answers alike.
func TestWeReadWhatKafkaWrites(t *testing.T) {
	recording := kafkatest.Recordings(t)[0]
	f := ownTopic(t)
	var operations []kafkatest.Operation
	for _, e := range recording.Events {
		operations = append(operations, e.Decoded.Operation())
	}
	for i, outcome := range kafkatest.PeerApply(t, f.bootstrap, operations) {
		if !outcome.OK {
			t.Fatalf("operation %d: %s", i, outcome.Error)
		}
	}
	f.startProcessor(t)
	f.startProcessor(t)
	m := f.manager(t, views.BoundsEpoch)
	compare(t, m, recording.States)
	compare(t, m, kafkatest.PeerState(t, f.bootstrap))
}

// ownTopic is a fleet on a broker of the test's own, on the topic that Kafka's manager
// uses.
func ownTopic(t *testing.T) fleet {
	t.Helper()
	f := newFleet(kafkatest.Start(t).Bootstrap())
	f.topic = kafkatest.MetadataTopic
	return f
}

// publishAll carries the events out through the manager, those of one metadata
// partition one after the other, as brokers do.
func publishAll(t *testing.T, m *views.Manager, events []kafkatest.Event) {
	t.Helper()
	byPartition := map[int32][]kafkatest.Event{}
	for _, e := range events {
		byPartition[e.Partition] = append(byPartition[e.Partition], e)
	}
	done := make(chan error)
	for _, events := range byPartition {
		go func() { done <- publish(t, m, events) }()
	}
	for range byPartition {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

func publish(t *testing.T, m *views.Manager, events []kafkatest.Event) error {
	for _, e := range events {
		if err := mutate(t, m, decoded(t, e)); err != nil {
			return err
		}
	}
	return nil
}

func mutate(t *testing.T, m api.RemoteLogMetadataManager, event api.RemoteLogMetadata) (err error) {
	switch e := event.(type) {
	case api.RemoteLogSegmentMetadata:
		_, err = m.AddRemoteLogSegmentMetadata(t.Context(), e)
	case api.RemoteLogSegmentMetadataUpdate:
		_, err = m.UpdateRemoteLogSegmentMetadata(t.Context(), e)
	case api.RemotePartitionDeleteMetadata:
		_, err = m.PutRemotePartitionDeleteMetadata(t.Context(), e)
	}
	return err
}

// compareBytes checks that each partition holds the same values in the same order, and
// null keys.
func compareBytes(t *testing.T, want, got []kafkatest.Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d records on the topic, want %d", len(got), len(want))
	}
	next := map[int32][]kafkatest.Event{}
	for _, e := range want {
		next[e.Partition] = append(next[e.Partition], e)
	}
	for _, e := range got {
		left := next[e.Partition]
		if len(left) == 0 {
			t.Fatalf("partition %d has more records than recorded", e.Partition)
		}
		if string(e.Value) != string(left[0].Value) || e.Key != nil {
			t.Fatalf("%d/%d: key %x value %x, recorded %x", e.Partition, e.Offset, []byte(e.Key), []byte(e.Value), []byte(left[0].Value))
		}
		next[e.Partition] = left[1:]
	}
}
