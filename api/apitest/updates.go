package apitest

import "github.com/tieredlog/rlmm/api"

// moves are the updates that a segment in a state accepts.
var moves = map[api.RemoteLogSegmentState][]api.RemoteLogSegmentState{
	api.CopySegmentStarted:   {api.CopySegmentFinished, api.DeleteSegmentStarted},
	api.CopySegmentFinished:  {api.CopySegmentFinished, api.DeleteSegmentStarted},
	api.DeleteSegmentStarted: {api.DeleteSegmentStarted, api.DeleteSegmentFinished},
}

var updateRules = []rule{
	{"each state accepts just the next ones and itself", func(t *trial) {
		for from, accepted := range moves {
			for to := api.CopySegmentStarted; to <= api.DeleteSegmentFinished; to++ {
				t.tip = newTip("orders")
				t.moves(from, to, accepted)
			}
		}
	}},
	{"an unknown segment can't be updated", func(t *trial) {
		known := t.added(t.segment(1, 0, 99))
		for to := api.CopySegmentStarted; to <= api.DeleteSegmentFinished; to++ {
			s := t.segment(uint64(10+to), 0, 99)
			t.refuses(update(s, to), &api.SegmentNotFoundError{ID: s.ID})
		}
		t.lists(known)
	}},
	{"a deleted segment can't be updated", func(t *trial) {
		s := t.in(api.DeleteSegmentFinished, t.segment(1, 0, 99))
		for to := api.CopySegmentStarted; to <= api.DeleteSegmentFinished; to++ {
			t.refuses(update(s, to), &api.SegmentNotFoundError{ID: s.ID})
		}
		t.lists()
	}},
	{"a copy that failed is deleted without having been finished", func(t *trial) {
		s := t.updated(t.added(t.segment(1, 0, 99)), api.DeleteSegmentStarted)
		t.lists(s)
		t.findsNone(0, 50)
		t.updated(s, api.DeleteSegmentFinished)
		t.lists()
	}},
	{"only a finished segment is found", func(t *trial) {
		s := t.added(t.segment(1, 0, 99))
		t.findsNone(0, 50)
		s = t.updated(s, api.CopySegmentFinished)
		t.finds(0, 50, s)
		s = t.updated(s, api.DeleteSegmentStarted)
		t.findsNone(0, 50)
		t.updated(s, api.DeleteSegmentFinished)
		t.findsNone(0, 50)
	}},
	{"a retry is accepted and brings its broker and time", func(t *trial) {
		s := t.finished(t.segment(1, 0, 99))
		u := update(s, api.CopySegmentFinished)
		u.BrokerID, u.EventTimestampMs = 7, 70
		t.accepts(u)
		s.BrokerID, s.EventTimestampMs = 7, 70
		t.lists(s)
		t.finds(0, 50, s)
	}},
	{"an update changes its own segment only", func(t *trial) {
		a, b := t.finished(t.segment(1, 0, 99)), t.finished(t.segment(2, 0, 99))
		t.lists(t.updated(a, api.DeleteSegmentStarted), b)
		t.finds(0, 50, b)
	}},
}

// moves tries one update of a segment in a state.
func (t *trial) moves(from, to api.RemoteLogSegmentState, accepted []api.RemoteLogSegmentState) {
	t.Helper()
	s := t.in(from, t.segment(1, 0, 99))
	for _, next := range accepted {
		if next != to {
			continue
		}
		if s = t.updated(s, to); to == api.DeleteSegmentFinished {
			t.lists()
		} else {
			t.lists(s)
		}
		return
	}
	t.refuses(update(s, to), &api.InvalidSegmentTransitionError{ID: s.ID, From: from, To: to})
	t.lists(s)
}

var customMetadataRules = []rule{
	{"an update without any keeps it", func(t *trial) {
		s := t.segment(1, 0, 99)
		s.CustomMetadata = api.NewCustomMetadata([]byte{1, 2})
		t.lists(t.in(api.DeleteSegmentStarted, s))
	}},
	{"an update replaces it", func(t *trial) {
		s := t.segment(1, 0, 99)
		s.CustomMetadata = api.NewCustomMetadata([]byte{1, 2})
		t.updatesCustomMetadata(s, api.NewCustomMetadata([]byte{3}))
	}},
	{"an update brings it", func(t *trial) {
		t.updatesCustomMetadata(t.segment(1, 0, 99), api.NewCustomMetadata([]byte{3}))
	}},
	{"an empty one replaces it, and isn't absent", func(t *trial) {
		s := t.segment(1, 0, 99)
		s.CustomMetadata = api.NewCustomMetadata([]byte{1, 2})
		t.updatesCustomMetadata(s, api.NewCustomMetadata(nil))
	}},
	{"absent, it stays absent", func(t *trial) {
		s := t.finished(t.segment(1, 0, 99))
		if got := t.list()[0].CustomMetadata; got.Present() {
			t.Errorf("got %x", got.Bytes())
		}
		t.lists(s)
	}},
	{"a retry may replace it", func(t *trial) {
		s := t.finished(t.segment(1, 0, 99))
		u := update(s, api.CopySegmentFinished)
		u.CustomMetadata = api.NewCustomMetadata([]byte{4})
		t.accepts(u)
		s.CustomMetadata = u.CustomMetadata
		t.lists(s)
	}},
}

func (t *trial) updatesCustomMetadata(s api.RemoteLogSegmentMetadata, custom api.CustomMetadata) {
	t.Helper()
	u := update(t.added(s), api.CopySegmentFinished)
	u.CustomMetadata = custom
	t.accepts(u)
	s.State, s.BrokerID, s.EventTimestampMs, s.CustomMetadata = u.State, u.BrokerID, u.EventTimestampMs, custom
	t.lists(s)
	t.finds(0, 50, s)
}
