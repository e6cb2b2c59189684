//go:build integration

package integration_test

import (
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/views"
)

func decoded(t *testing.T, e kafkatest.Event) api.RemoteLogMetadata {
	t.Helper()
	event, err := codec.DecodeRecord(e.Value)
	if err != nil {
		t.Fatalf("%d/%d: %v", e.Partition, e.Offset, err)
	}
	return event
}

// Add, update and delete have the typed outcome, through the manager and over HTTP,
// and records that nobody can read stop nothing.
func TestOutcomes(t *testing.T) {
	f := newFleet(kafkatest.Bootstrap(t))
	kafkatest.CreateMetadataTopic(t, f.bootstrap, f.topic, 50)
	kafkatest.Load(t, f.bootstrap, f.topic, poison(t))
	f.startProcessor(t)
	f.startProcessor(t)
	m := f.manager(t, views.BoundsSegment)
	t.Run("manager", func(t *testing.T) { outcomes(t, m) })
	t.Run("http", func(t *testing.T) { outcomes(t, overHTTP(t, m)) })
}

// poison puts records that no one can read into each of the metadata partitions that
// the test uses, and all others.
func poison(t *testing.T) []kafkatest.Event {
	t.Helper()
	misrouted, err := codec.EncodeRecord(newSegment(api.TopicIdPartition{TopicID: api.RandomUUID(), Topic: "elsewhere"}))
	if err != nil {
		t.Fatal(err)
	}
	var events []kafkatest.Event
	for p := range int32(50) {
		for _, value := range [][]byte{nil, {}, {0}, {9}, {1, 0, 0}, {1, 0x2a, 0}, {1, 0, 0xff}, {2, 0, 0}, misrouted[:len(misrouted)-1]} {
			events = append(events, kafkatest.Event{Partition: p, Value: value})
		}
		if p != codec.MetadataPartition(newTip(misrouted), 50) {
			events = append(events, kafkatest.Event{Partition: p, Value: misrouted})
		}
	}
	return events
}

func newTip(value []byte) api.TopicIdPartition {
	event, err := codec.DecodeRecord(value)
	if err != nil {
		panic(err)
	}
	return event.Partition()
}

func newSegment(tip api.TopicIdPartition) api.RemoteLogSegmentMetadata {
	return api.RemoteLogSegmentMetadata{
		ID:        api.RemoteLogSegmentID{TopicIdPartition: tip, ID: api.RandomUUID()},
		EndOffset: 99, SegmentSizeInBytes: 1000, EventTimestampMs: 1,
		LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: 0, Offset: 0}),
	}
}

// Of two managers that add one id at the same time the log accepts one. The other's
// event is on the topic too, rejected, and it learns which segment won.
func TestTheLogDecidesBetweenManagers(t *testing.T) {
	f := newFleet(kafkatest.Bootstrap(t))
	kafkatest.CreateMetadataTopic(t, f.bootstrap, f.topic, 5)
	f.startProcessor(t)
	managers := []*views.Manager{f.manager(t, views.BoundsSegment), f.manager(t, views.BoundsSegment)}
	rejectedByTheLog := 0
	for i := range int32(20) {
		segment := newSegment(api.TopicIdPartition{TopicID: api.RandomUUID(), Topic: "raced", Partition: i})
		rejectedByTheLog += race(t, managers, segment)
	}
	t.Logf("%d of 20 adds were rejected by the log, the others before they were published", rejectedByTheLog)
	if rejectedByTheLog == 0 {
		t.Error("no add reached the log to be rejected there")
	}
}

// race adds the segment through all managers at once and returns how many of the
// refused events were published.
func race(t *testing.T, managers []*views.Manager, segment api.RemoteLogSegmentMetadata) (published int) {
	t.Helper()
	type result struct {
		at  api.Position
		err error
	}
	results := make(chan result)
	for _, m := range managers {
		go func() {
			at, err := m.AddRemoteLogSegmentMetadata(t.Context(), segment)
			results <- result{at, err}
		}()
	}
	won := 0
	for range managers {
		r := <-results
		var invalid *api.InvalidAddError
		switch {
		case r.err == nil:
			won++
		case !errors.As(r.err, &invalid):
			t.Errorf("got %v, want an invalid add", r.err)
		case invalid.Known == nil || !invalid.Known.Equal(segment):
			t.Errorf("known is %v, want %v", invalid.Known, segment)
		case r.at.Offset >= 0:
			published++
		}
	}
	if won != 1 {
		t.Errorf("%d of %d adds were accepted", won, len(managers))
	}
	return published
}

func overHTTP(t *testing.T, m *views.Manager) api.RemoteLogMetadataManager {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: rest.NewHandler(rest.Config{Manager: m, AllowMutations: true})}
	go server.Serve(l) //nolint:errcheck // ends with Close
	t.Cleanup(func() { server.Close() })
	client, err := rest.NewClient("http://"+l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func outcomes(t *testing.T, m api.RemoteLogMetadataManager) {
	tip := api.TopicIdPartition{TopicID: api.RandomUUID(), Topic: "orders", Partition: 3}
	segment := newSegment(tip)
	update := func(state api.RemoteLogSegmentState) api.RemoteLogSegmentMetadataUpdate {
		return api.RemoteLogSegmentMetadataUpdate{ID: segment.ID, State: state, EventTimestampMs: 2}
	}
	remove := func(state api.RemotePartitionDeleteState) api.RemotePartitionDeleteMetadata {
		return api.RemotePartitionDeleteMetadata{TopicIdPartition: tip, State: state, EventTimestampMs: 3}
	}
	wrongState := newSegment(tip)
	wrongState.State = api.CopySegmentFinished
	unknown := update(api.CopySegmentFinished)
	unknown.ID.ID = api.RandomUUID()
	for _, step := range []struct {
		name  string
		event api.RemoteLogMetadata
		want  error
	}{
		{"add in another state", wrongState, api.ErrInvalidAdd},
		{"update of an unknown segment", unknown, api.ErrSegmentNotFound},
		{"add", segment, nil},
		{"add again", segment, api.ErrInvalidAdd},
		{"deleted before it is marked", update(api.DeleteSegmentFinished), api.ErrInvalidSegmentTransition},
		{"finish the copy", update(api.CopySegmentFinished), nil},
		{"finish the copy again", update(api.CopySegmentFinished), nil},
		{"start the copy again", update(api.CopySegmentStarted), api.ErrInvalidSegmentTransition},
		{"start to delete", update(api.DeleteSegmentStarted), nil},
		{"finish the copy too late", update(api.CopySegmentFinished), api.ErrInvalidSegmentTransition},
		{"finish to delete", update(api.DeleteSegmentFinished), nil},
		{"finish to delete again", update(api.DeleteSegmentFinished), api.ErrSegmentNotFound},
		{"partition: start before the mark", remove(api.DeletePartitionStarted), api.ErrInvalidPartitionDeleteTransition},
		{"partition: mark", remove(api.DeletePartitionMarked), nil},
		{"partition: start", remove(api.DeletePartitionStarted), nil},
		{"partition: finish", remove(api.DeletePartitionFinished), nil},
		{"partition: mark again", remove(api.DeletePartitionMarked), api.ErrInvalidPartitionDeleteTransition},
	} {
		err := mutate(t, m, step.event)
		if step.want == nil && err != nil || step.want != nil && !errors.Is(err, step.want) {
			t.Errorf("%s: got %v, want %v", step.name, err, step.want)
		}
	}
	ok, err := m.CaughtUp(t.Context(), tip)
	if err != nil || !ok {
		t.Errorf("caught up: %t, %v", ok, err)
	}
}
