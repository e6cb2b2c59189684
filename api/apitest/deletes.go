package apitest

import "github.com/tieredlog/rlmm/api"

var deleteRules = []rule{
	{"each state accepts just the next one and itself", func(t *trial) {
		for from := api.DeletePartitionNone; from <= api.DeletePartitionFinished; from++ {
			for to := api.DeletePartitionMarked; to <= api.DeletePartitionFinished; to++ {
				t.tip = newTip("orders")
				t.deleted(from)
				if to == from || to == from+1 {
					t.accepts(t.deletion(to))
					continue
				}
				t.refuses(t.deletion(to), &api.InvalidPartitionDeleteTransitionError{TopicIdPartition: t.tip, From: from, To: to})
			}
		}
	}},
	{"a refused step changes nothing", func(t *trial) {
		s := t.finished(t.segment(1, 0, 99))
		want := &api.InvalidPartitionDeleteTransitionError{TopicIdPartition: t.tip, From: api.DeletePartitionNone, To: api.DeletePartitionFinished}
		t.refuses(t.deletion(api.DeletePartitionFinished), want)
		t.finds(0, 50, s)
		t.refuses(t.deletion(api.DeletePartitionFinished), want)
	}},
	{"queries go on until it is finished", func(t *trial) {
		s := t.finished(t.segment(1, 0, 99))
		t.deleted(api.DeletePartitionMarked)
		t.finds(0, 50, s)
		t.accepts(t.deletion(api.DeletePartitionStarted))
		t.finds(0, 50, s)
		other := t.finished(t.segment(2, 100, 199))
		t.lists(s, other)
	}},
	{"a finished one leaves no segments", func(t *trial) {
		for n := range uint64(4) {
			t.in(api.RemoteLogSegmentState(n), t.segment(n, 0, 99))
		}
		t.deleted(api.DeletePartitionFinished)
		t.hasNothing(t.tip)
	}},
	{"what a finished one left can be cleaned up", func(t *trial) {
		s := t.finished(t.segment(1, 0, 99))
		t.deleted(api.DeletePartitionFinished)
		s = t.updated(s, api.DeleteSegmentStarted, api.DeleteSegmentFinished)
		t.refuses(update(s, api.DeleteSegmentFinished), &api.SegmentNotFoundError{ID: s.ID})
		t.hasNothing(t.tip)
	}},
	{"other partitions of the topic stay", func(t *trial) {
		s := t.finished(t.segment(1, 0, 99))
		deleted := t.tip
		deleted.Partition++
		t.tip = deleted
		t.finished(t.segment(1, 0, 99))
		t.deleted(api.DeletePartitionFinished)
		t.hasNothing(deleted)
		t.tip = s.ID.TopicIdPartition
		t.lists(s)
		t.finds(0, 50, s)
	}},
	{"a new topic of the same name is another", func(t *trial) {
		t.finished(t.segment(1, 0, 99))
		t.deleted(api.DeletePartitionFinished)
		old := t.tip
		t.tip = newTip(old.Topic)
		s := t.finished(t.segment(1, 0, 99))
		t.lists(s)
		t.hasNothing(old)
	}},
}
