package apitest

import (
	"errors"
	"math"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/scenario"
)

var addRules = []rule{
	{"an added segment is listed but not found", func(t *trial) {
		s := t.added(t.segment(1, 0, 99))
		t.lists(s)
		t.findsNone(0, 50)
	}},
	{"every field comes back", func(t *trial) {
		s := t.segment(1, 5, math.MaxInt64, at(0, 0), at(3, 50), at(math.MaxInt32, 60))
		s.ID.ID = api.UUIDFromBits(1<<63, math.MaxUint64)
		s.MaxTimestampMs, s.BrokerID, s.EventTimestampMs = -1, math.MaxInt32, math.MaxInt64
		s.SegmentSizeInBytes, s.TxnIndexEmpty = math.MaxInt32, true
		s.CustomMetadata = api.NewCustomMetadata([]byte{0, 255, '"', '\n'})
		t.lists(t.added(s))
	}},
	{"the state must be COPY_SEGMENT_STARTED", func(t *trial) {
		for _, state := range []api.RemoteLogSegmentState{api.CopySegmentFinished, api.DeleteSegmentStarted, api.DeleteSegmentFinished} {
			s := t.segment(1, 0, 99)
			s.State = state
			t.refuses(s, &api.InvalidAddError{ID: s.ID, State: state})
		}
		t.lists()
	}},
	{"a known id is refused, with the known segment", func(t *trial) {
		for _, state := range []api.RemoteLogSegmentState{api.CopySegmentStarted, api.CopySegmentFinished, api.DeleteSegmentStarted} {
			s := t.segment(uint64(state), 0, 99)
			known := t.in(state, s)
			t.refuses(s, &api.InvalidAddError{ID: s.ID, Known: &known})
			other := t.segment(uint64(state), 100, 199, at(7, 100))
			t.refuses(other, &api.InvalidAddError{ID: s.ID, Known: &known})
		}
		if n := len(t.list()); n != 3 {
			t.Errorf("%d segments, want 3", n)
		}
	}},
	{"the known segment of a retry is the one that was added", func(t *trial) {
		s := t.added(t.segment(1, 0, 99))
		t.refuses(s, &api.InvalidAddError{ID: s.ID, Known: &s})
		t.lists(s)
	}},
	{"a retry tells whether its segment is in", func(t *trial) {
		for n, state := range []api.RemoteLogSegmentState{api.CopySegmentStarted, api.CopySegmentFinished, api.DeleteSegmentStarted} {
			s := t.segment(uint64(n), 0, 99)
			t.in(state, s)
			nameless, other := s, s
			nameless.ID.TopicIdPartition.Topic, other.EndOffset = "", 98
			for _, retry := range []struct {
				s    api.RemoteLogSegmentMetadata
				isIn bool
			}{{s, true}, {nameless, true}, {other, false}} {
				_, err := scenario.Publish(t.ctx, t.m, retry.s)
				if e, ok := errors.AsType[*api.InvalidAddError](err); !ok || e.AlreadyAdded(retry.s) != retry.isIn {
					t.Errorf("%s is in: want %t, got %v", retry.s.ID, retry.isIn, err)
				}
			}
		}
	}},
	{"an id may be added again once its segment is deleted", func(t *trial) {
		t.in(api.DeleteSegmentFinished, t.segment(1, 0, 99))
		t.lists()
		again := t.finished(t.segment(1, 100, 199))
		t.lists(again)
		t.findsNone(0, 50)
		t.finds(0, 150, again)
	}},
	{"an id is the partition's own", func(t *trial) {
		s := t.finished(t.segment(1, 0, 99))
		other := t.segment(1, 500, 599)
		other.ID.TopicIdPartition.Partition++
		t.added(other)
		t.lists(s)
		t.tip = other.ID.TopicIdPartition
		t.lists(other)
	}},
}
