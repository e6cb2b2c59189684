package apitest

import (
	"errors"
	"math"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/scenario"
)

var unknownPartitionRules = []rule{
	{"it has nothing, and that is no error", func(t *trial) { t.hasNothing(t.tip) }},
	{"it is ready and caught up", func(t *trial) {
		t.isCaughtUp()
		if !t.m.IsReady(t.ctx, t.tip) {
			t.Error("not ready")
		}
	}},
	{"its topic's other partitions don't make it known", func(t *trial) {
		t.finished(t.segment(1, 0, 99))
		other := t.tip
		other.Partition = math.MaxInt32
		t.hasNothing(other)
	}},
}

// isCaughtUp fails the test unless CaughtUp is true.
func (t *trial) isCaughtUp() {
	t.Helper()
	if yes, err := t.m.CaughtUp(t.ctx, t.tip); err != nil || !yes {
		t.Errorf("caught up: %t, %v", yes, err)
	}
}

var argumentRules = []rule{
	{"reads refuse a bad partition", func(t *trial) {
		for name, tip := range t.badPartitions() {
			for query, read := range reads(t.ctx, t.m, tip, 0, 0) {
				if got, err := read(); !errors.Is(err, api.ErrInvalidArgument) {
					t.Errorf("%s of %s: got %s, %v", query, name, got, err)
				}
			}
			if yes, err := t.m.CaughtUp(t.ctx, tip); yes || !errors.Is(err, api.ErrInvalidArgument) {
				t.Errorf("CaughtUp of %s: got %t, %v", name, yes, err)
			}
			if t.m.IsReady(t.ctx, tip) {
				t.Errorf("%s is ready", name)
			}
		}
	}},
	{"look-ups refuse a negative offset", func(t *trial) {
		t.finished(t.segment(1, 0, 99))
		for _, offset := range []int64{-1, math.MinInt64} {
			if _, found, err := t.m.RemoteLogSegmentMetadata(t.ctx, t.tip, 0, offset); found || !errors.Is(err, api.ErrInvalidArgument) {
				t.Errorf("RemoteLogSegmentMetadata at %d: %t, %v", offset, found, err)
			}
			if _, found, err := t.m.NextSegmentWithTxnIndex(t.ctx, t.tip, 0, offset); found || !errors.Is(err, api.ErrInvalidArgument) {
				t.Errorf("NextSegmentWithTxnIndex at %d: %t, %v", offset, found, err)
			}
		}
	}},
	{"mutations refuse a bad partition", func(t *trial) {
		for name, tip := range t.badPartitions() {
			s := t.segment(1, 0, 99)
			s.ID.TopicIdPartition = tip
			t.refusesArgument(name, s)
			t.refusesArgument(name, update(s, api.CopySegmentFinished))
			t.refusesArgument(name, api.RemotePartitionDeleteMetadata{TopicIdPartition: tip})
		}
	}},
	{"mutations refuse a zero segment id", func(t *trial) {
		s := t.segment(1, 0, 99)
		s.ID.ID = api.UUID{}
		t.refusesArgument("add", s)
		t.refusesArgument("update", update(s, api.CopySegmentFinished))
	}},
	{"adds refuse a bad range", func(t *trial) {
		t.refusesArgument("a negative start", t.segment(1, -1, 99, at(0, 0)))
		t.refusesArgument("an end before the start", t.segment(1, 10, 9))
		s := t.segment(1, 0, 99)
		s.LeaderEpochs = api.LeaderEpochs{}
		t.refusesArgument("no epoch", s)
	}},
	{"mutations refuse unknown states", func(t *trial) {
		s := t.added(t.segment(1, 0, 99))
		for _, state := range []int8{-1, 4, math.MaxInt8, math.MinInt8} {
			other := t.segment(2, 0, 99)
			other.State = api.RemoteLogSegmentState(state)
			t.refusesArgument("add", other)
			t.refusesArgument("update", update(s, other.State))
		}
		for _, state := range []int8{int8(api.DeletePartitionNone), 3, math.MaxInt8, math.MinInt8} {
			t.refusesArgument("partition delete", t.deletion(api.RemotePartitionDeleteState(state)))
		}
		t.lists(s)
	}},
}

func (t *trial) badPartitions() map[string]api.TopicIdPartition {
	zero, negative := t.tip, t.tip
	zero.TopicID = api.UUID{}
	negative.Partition = -1
	return map[string]api.TopicIdPartition{"a zero topic id": zero, "a negative partition": negative}
}

// refusesArgument publishes an event that is bad whatever the state: it must fail, and
// nothing is published.
func (t *trial) refusesArgument(what string, event api.RemoteLogMetadata) {
	t.Helper()
	pos, err := scenario.Publish(t.ctx, t.m, event)
	if !errors.Is(err, api.ErrInvalidArgument) || pos != api.NotPublished {
		t.Errorf("%s: got %s, %v", what, pos, err)
	}
	if _, ok := errors.AsType[*api.InvalidArgumentError](err); !ok {
		t.Errorf("%s: %T has no details", what, err)
	}
}

var topicNameRules = []rule{
	{"reads find a partition under any name", func(t *trial) {
		s := t.finished(t.segment(1, 0, 99))
		for _, name := range []string{"payments", ""} {
			t.tip.Topic = name
			t.lists(s)
			t.finds(0, 50, s)
		}
	}},
	{"updates find a segment under any name", func(t *trial) {
		s := t.added(t.segment(1, 0, 99))
		renamed := s
		renamed.ID.TopicIdPartition.Topic = "payments"
		t.updated(renamed, api.CopySegmentFinished)
		if all := t.list(); len(all) != 1 || all[0].State != api.CopySegmentFinished {
			t.Errorf("got %+v", all)
		}
		again := t.segment(1, 0, 99)
		again.ID.TopicIdPartition.Topic = "payments"
		if _, err := t.m.AddRemoteLogSegmentMetadata(t.ctx, again); !errors.Is(err, api.ErrInvalidAdd) {
			t.Errorf("add under another name: %v", err)
		}
	}},
	{"mutations may leave it out where it is known", func(t *trial) {
		first := t.added(t.segment(1, 0, 99))
		named := t.tip
		t.tip.Topic = ""
		unnamed := t.segment(2, 100, 199)
		t.accepts(unnamed)
		t.accepts(update(unnamed, api.CopySegmentFinished))
		t.accepts(t.deletion(api.DeletePartitionMarked))
		unnamed.ID.TopicIdPartition = named
		unnamed.State, unnamed.BrokerID, unnamed.EventTimestampMs = api.CopySegmentFinished, 2, 20
		t.lists(first, unnamed)
	}},
}

var resultRules = []rule{
	{"a changed list damages nothing", func(t *trial) {
		a, b := t.finished(t.segment(1, 0, 99)), t.finished(t.segment(2, 100, 199))
		for _, list := range [][]api.RemoteLogSegmentMetadata{t.list(), t.listByEpoch(0)} {
			list[0], list[1] = list[1], list[0]
			list[0].EndOffset, list[0].State = -5, api.DeleteSegmentFinished
			list[1].LeaderEpochs = api.LeaderEpochs{}
			clear(list[:cap(list)])
		}
		t.lists(a, b)
		t.finds(0, 50, a)
		t.finds(0, 150, b)
	}},
	{"changed custom metadata damages nothing", func(t *trial) {
		custom := []byte{1, 2, 3}
		s := t.segment(1, 0, 99)
		s.CustomMetadata = api.NewCustomMetadata(custom)
		t.added(s)
		custom[0] = 9
		t.list()[0].CustomMetadata.Bytes()[1] = 9
		s.CustomMetadata = api.NewCustomMetadata([]byte{1, 2, 3})
		t.lists(s)
	}},
	{"a changed error damages nothing", func(t *trial) {
		s := t.added(t.segment(1, 0, 99))
		_, err := t.m.AddRemoteLogSegmentMetadata(t.ctx, s)
		refused, ok := errors.AsType[*api.InvalidAddError](err)
		if !ok || refused.Known == nil {
			t.Fatalf("got %v, want the known segment", err)
		}
		*refused.Known = t.segment(7, 5, 6)
		t.lists(s)
		t.refuses(s, &api.InvalidAddError{ID: s.ID, Known: &s})
	}},
	{"a list is as it was when it was asked for", func(t *trial) {
		s := t.added(t.segment(1, 0, 99))
		before := t.list()
		t.updated(s, api.CopySegmentFinished)
		if !equal(before, []api.RemoteLogSegmentMetadata{s}) {
			t.Errorf("it became %+v", before)
		}
	}},
}

func (t *trial) listByEpoch(epoch int32) []api.RemoteLogSegmentMetadata {
	t.Helper()
	all, err := t.m.ListRemoteLogSegmentsByEpoch(t.ctx, t.tip, epoch)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var positionRules = []rule{
	{"a partition's events lie on one metadata partition, at growing offsets", func(t *trial) {
		s := t.segment(1, 0, 99)
		last := t.accepts(s)
		if last.MetadataPartition < 0 || last.Offset < 0 {
			t.Fatalf("the first is at %s", last)
		}
		for _, event := range []api.RemoteLogMetadata{
			update(s, api.CopySegmentFinished), update(s, api.CopySegmentFinished), t.segment(2, 100, 199),
			t.deletion(api.DeletePartitionMarked), update(s, api.DeleteSegmentStarted),
		} {
			pos := t.accepts(event)
			if pos.MetadataPartition != last.MetadataPartition || pos.Offset <= last.Offset {
				t.Errorf("%+v is at %s, after %s", event, pos, last)
			}
			last = pos
		}
	}},
	{"a refused event has its position or none", func(t *trial) {
		s := t.segment(1, 0, 99)
		last := t.accepts(s)
		pos, err := t.m.AddRemoteLogSegmentMetadata(t.ctx, s)
		published := pos.MetadataPartition == last.MetadataPartition && pos.Offset > last.Offset
		if err == nil || pos != api.NotPublished && !published {
			t.Errorf("at %s, %v, after %s", pos, err, last)
		}
	}},
	{"after a mutation the partition is caught up", func(t *trial) {
		s := t.added(t.segment(1, 0, 99))
		t.isCaughtUp()
		t.updated(s, api.CopySegmentFinished)
		t.isCaughtUp()
		t.accepts(t.deletion(api.DeletePartitionMarked))
		t.isCaughtUp()
	}},
}
