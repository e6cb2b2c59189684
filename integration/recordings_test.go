//go:build integration

package integration_test

import (
	"path/filepath"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
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
	for i, outcome := range kafkatest.PeerApply(t, f.bootstrap, operations(recording.Events)) {
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

// There and back, as docs/operations.md has it: our fleet and manager stop half way, Kafka's
// own manager goes on with what ours has begun, and ours, in the same folders, with what
// Kafka's has done. Nothing is converted, deleted or built anew.
func TestToKafkasManagerAndBack(t *testing.T) {
	recording := kafkatest.Recordings(t)[0]
	ours, kafkas := halves(recording.Events)
	f := ownTopic(t)
	processorDir, managerDir := t.TempDir(), t.TempDir()

	p, m := f.startProcessorIn(t, processorDir), f.managerIn(t, views.BoundsEpoch, managerDir)
	publishAll(t, m, ours)
	compare(t, m, kafkatest.PeerState(t, f.bootstrap))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if code := p.stop(); code != 0 {
		t.Fatalf("the processor's exit code is %d", code)
	}

	for i, outcome := range kafkatest.PeerApply(t, f.bootstrap, operations(kafkas)) {
		if !outcome.OK {
			t.Fatalf("operation %d: %s", i, outcome.Error)
		}
	}
	compareBytes(t, recording.Events, kafkatest.ReadTopic(t, f.bootstrap, f.topic))

	f.startProcessorIn(t, processorDir)
	m = f.managerIn(t, views.BoundsEpoch, managerDir)
	defer m.Close()
	compare(t, m, recording.States)
	publishAll(t, m, []kafkatest.Event{newEvent(t)})
	compare(t, m, kafkatest.PeerState(t, f.bootstrap))
	for _, dir := range []string{processorDir, managerDir} {
		if aside, _ := filepath.Glob(filepath.Join(dir, "*", "*.aside-*")); len(aside) > 0 {
			t.Errorf("stores were built anew: %q", aside)
		}
	}
}

// halves parts the events of each metadata partition in the middle.
func halves(events []kafkatest.Event) (first, second []kafkatest.Event) {
	left := map[int32]int{}
	for _, e := range events {
		left[e.Partition]++
	}
	seen := map[int32]int{}
	for _, e := range events {
		if seen[e.Partition]++; 2*seen[e.Partition] <= left[e.Partition] {
			first = append(first, e)
		} else {
			second = append(second, e)
		}
	}
	return first, second
}

// newEvent is the add of a segment of a partition that the recording doesn't have.
func newEvent(t *testing.T) kafkatest.Event {
	t.Helper()
	s := newSegment(api.TopicIdPartition{TopicID: api.RandomUUID(), Topic: "afterwards"})
	value, err := codec.EncodeRecord(s)
	if err != nil {
		t.Fatal(err)
	}
	return kafkatest.Event{Partition: codec.MetadataPartition(s.Partition(), 50), Value: value}
}

func operations(events []kafkatest.Event) (all []kafkatest.Operation) {
	for _, e := range events {
		all = append(all, e.Decoded.Operation())
	}
	return all
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
