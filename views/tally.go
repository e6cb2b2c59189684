package views

import (
	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

// SegmentCounts count segments, and their bytes.
type SegmentCounts struct {
	// Segments and Bytes are of what ListRemoteLogSegments lists, by state.
	Segments, Bytes map[api.RemoteLogSegmentState]int64
	// Headless counts started deletions of segments that were never added.
	Headless int64
	// OfDeleted counts segments of partitions whose deletion is finished: nobody will delete
	// them any more.
	OfDeleted int64
}

// SegmentCounts counts the segments in all assigned metadata partitions that are ready.
// The first call reads every row, later ones none: from then on the counts are kept, at the
// cost of one look at the old row for each change.
func (m *Manager) SegmentCounts() (SegmentCounts, error) {
	var all counts
	for _, p := range m.views.Load().all {
		one, err := p.segmentCounts()
		if err != nil {
			return SegmentCounts{}, err
		}
		all.sum(one, 1)
	}
	return all.byState(), nil
}

// listed is how many states of a segment are listed: CopySegmentStarted is the first and
// DeleteSegmentStarted the last.
const listed = int(api.DeleteSegmentStarted) + 1

type counts struct {
	segments, bytes     [listed]int64
	headless, ofDeleted int64
}

func (c *counts) sum(other counts, sign int64) {
	for state := range listed {
		c.segments[state] += sign * other.segments[state]
		c.bytes[state] += sign * other.bytes[state]
	}
	c.headless += sign * other.headless
	c.ofDeleted += sign * other.ofDeleted
}

func (c *counts) byState() SegmentCounts {
	s := SegmentCounts{
		Segments: map[api.RemoteLogSegmentState]int64{}, Bytes: map[api.RemoteLogSegmentState]int64{},
		Headless: c.headless, OfDeleted: c.ofDeleted,
	}
	for state := range listed {
		s.Segments[api.RemoteLogSegmentState(state)] = c.segments[state]
		s.Bytes[api.RemoteLogSegmentState(state)] = c.bytes[state]
	}
	return s
}

// tally keeps the counts of one metadata partition.
type tally struct {
	total       counts
	byPartition map[identity]*tallied
}

// tallied is one user partition.
type tallied struct {
	counts
	deleted bool
}

// shown is what the user partition adds to the total.
func (t *tallied) shown() counts {
	if !t.deleted {
		return t.counts
	}
	gone := counts{headless: t.headless}
	for _, n := range t.segments {
		gone.ofDeleted += n
	}
	return gone
}

// row adds a row, or takes it away again with the sign −1.
func (t *tallied) row(row codec.Row, sign int64) {
	switch row.Kind {
	case codec.RowPartition:
		t.deleted = sign > 0 && row.Delete.State == api.DeletePartitionFinished
	case codec.RowHeadless:
		t.headless += sign
	case codec.RowSegment:
		t.segments[row.Segment.State] += sign
		t.bytes[row.Segment.State] += sign * int64(row.Segment.SegmentSizeInBytes)
	}
}

// newTally counts the rows of a store, which must all be on disk.
func newTally(s *store.Store) (*tally, error) {
	t := &tally{byPartition: map[identity]*tallied{}}
	for r, err := range s.Rows(nil, nil) {
		if err != nil {
			return nil, err
		}
		if err := t.replace(string(r.Key), nil, r.Value); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// replace counts that a key's row was the old and is the new one; nil is none.
func (t *tally) replace(key string, before, after []byte) error {
	k, err := codec.ParseKey(key)
	if err != nil {
		return err
	}
	id := identityOf(k.ID.TopicIdPartition)
	one := t.byPartition[id]
	if one == nil {
		one = &tallied{}
		t.byPartition[id] = one
	}
	t.total.sum(one.shown(), -1)
	err = one.replace(key, before, after)
	t.total.sum(one.shown(), 1)
	if *one == (tallied{}) {
		delete(t.byPartition, id)
	}
	return err
}

func (t *tallied) replace(key string, before, after []byte) error {
	if err := t.add(key, before, -1); err != nil {
		return err
	}
	return t.add(key, after, 1)
}

func (t *tallied) add(key string, value []byte, sign int64) error {
	if value == nil {
		return nil
	}
	row, err := table.DecodeRow(key, value)
	if err == nil {
		t.row(row, sign)
	}
	return err
}

func (p *partition) segmentCounts() (counts, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.store == nil || !p.ready.isOpen() {
		return counts{}, nil
	}
	if p.indexes.tally == nil {
		if err := p.store.Flush(); err != nil {
			return counts{}, p.readError(err)
		}
		t, err := newTally(p.store)
		if err != nil {
			return counts{}, p.readError(err)
		}
		p.indexes.tally = t
	}
	return p.indexes.tally.total, nil
}
