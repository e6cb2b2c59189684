package apitest

import (
	"errors"
	"sync"

	"github.com/tieredlog/rlmm/api"
)

// parallel is how many callers there are at once.
const parallel = 16

var concurrencyRules = []rule{
	{"adds of different segments are all in", func(t *trial) {
		want := make([]api.RemoteLogSegmentMetadata, 3*parallel)
		for i := range want {
			want[i] = t.segment(uint64(i), int64(i)*100, int64(i)*100+99)
		}
		errs := make([]error, len(want))
		together(len(want), func(i int) { _, errs[i] = t.m.AddRemoteLogSegmentMetadata(t.ctx, want[i]) })
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		t.lists(want...)
	}},
	{"of adds of one id exactly one wins", func(t *trial) {
		errs := make([]error, parallel)
		add := func(i int) api.RemoteLogSegmentMetadata { return t.segment(1, int64(i), 100+int64(i)) }
		together(parallel, func(i int) { _, errs[i] = t.m.AddRemoteLogSegmentMetadata(t.ctx, add(i)) })
		all := t.list()
		if len(all) != 1 {
			t.Fatalf("%d segments, want one", len(all))
		}
		winner := all[0]
		for i, err := range errs {
			if winner.StartOffset == int64(i) {
				if err != nil || !winner.Equal(add(i)) {
					t.Errorf("%+v won, and its add gave %v", winner, err)
				}
				continue
			}
			if diff := diffErrors(&api.InvalidAddError{ID: winner.ID, Known: &winner}, err); diff != "" {
				t.Errorf("add %d: %s", i, diff)
			}
		}
	}},
	{"of different updates at once each finds the state that the other left", func(t *trial) {
		s := t.added(t.segment(1, 0, 99))
		next := []api.RemoteLogSegmentState{api.CopySegmentFinished, api.DeleteSegmentStarted}
		errs := make([]error, len(next))
		together(len(next), func(i int) { _, errs[i] = t.m.UpdateRemoteLogSegmentMetadata(t.ctx, update(s, next[i])) })
		// A deletion may follow the finished copy; the other way round is refused.
		if errs[1] != nil || errs[0] != nil && !errors.Is(errs[0], api.ErrInvalidSegmentTransition) {
			t.Errorf("got %v", errs)
		}
		if all := t.list(); len(all) != 1 || all[0].State != api.DeleteSegmentStarted {
			t.Errorf("got %+v", all)
		}
	}},
	{"readers see a segment before or after an update, never between", func(t *trial) {
		s := t.added(t.segment(1, 0, 99))
		done := make(chan struct{})
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() { t.watches(s, done) })
		}
		t.updated(s, api.CopySegmentFinished)
		t.updated(s, api.DeleteSegmentStarted, api.DeleteSegmentFinished)
		close(done)
		readers.Wait()
	}},
	{"events of different partitions don't meet", func(t *trial) {
		errs := make([]error, parallel)
		together(parallel, func(i int) { errs[i] = t.lifeOf(int32(i)) })
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	}},
}

// together runs the calls at once and waits for all.
func together(n int, call func(i int)) {
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() { call(i) })
	}
	callers.Wait()
}

// watches looks at the segment until done: whatever its state, it is whole.
func (t *trial) watches(s api.RemoteLogSegmentMetadata, done chan struct{}) {
	for {
		all, err := t.m.ListRemoteLogSegments(t.ctx, t.tip)
		if err != nil || len(all) > 1 {
			t.Errorf("got %+v, %v", all, err)
		}
		for _, got := range all {
			want := s
			if want.State = got.State; got.State != api.CopySegmentStarted {
				want.BrokerID, want.EventTimestampMs = 2, 20
			}
			if !got.Equal(want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// lifeOf takes a segment of another partition through all its states.
func (t *trial) lifeOf(partition int32) error {
	s := t.segment(1, 0, 99)
	s.ID.TopicIdPartition.Partition = 100 + partition
	_, err := t.m.AddRemoteLogSegmentMetadata(t.ctx, s)
	for _, state := range ways[api.DeleteSegmentFinished] {
		if err != nil {
			return err
		}
		_, err = t.m.UpdateRemoteLogSegmentMetadata(t.ctx, update(s, state))
	}
	return err
}
