package views

import (
	"errors"
	"iter"
	"sync/atomic"

	"github.com/syndtr/goleveldb/leveldb"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
	"github.com/tieredlog/rlmm/views/index"
)

// identity is what makes two TopicIdPartitions the same: the name doesn't.
type identity struct {
	topicID   api.UUID
	partition int32
}

func identityOf(tip api.TopicIdPartition) identity { return identity{tip.TopicID, tip.Partition} }

// indexed is an index in memory, of what, of whose rows, and whether it was asked since the
// last trim.
type indexed struct {
	index.Partition
	of    identity
	ready *gate // its metadata partition's
	used  atomic.Bool
}

// snapshot returns the present state, nil when reads may not see it.
func (i *indexed) snapshot() *index.Snapshot {
	period, open := i.ready.enter()
	if !open {
		return nil
	}
	if !i.used.Load() {
		i.used.Store(true)
	}
	s := i.Snapshot()
	if !i.ready.within(period) {
		return nil
	}
	return s
}

// indexes are the indexes of one metadata partition's user partitions. Each is built
// from the rows when it is first asked for, and from then on in the manager's lookup too.
// All is for one goroutine at a time.
type indexes struct {
	ready       *gate
	lookup      *lookup
	byPartition map[identity]*indexed
	// tally counts the rows, once somebody has asked.
	tally *tally
}

func newIndexes(ready *gate, l *lookup) indexes {
	return indexes{ready: ready, lookup: l, byPartition: map[identity]*indexed{}}
}

// tracks tells whether a change of the key's row matters here. It is asked for each record, and
// a view that reads its table for the first time has nothing yet.
func (x *indexes) tracks(key string) bool {
	if key == "" || x.tally == nil && len(x.byPartition) == 0 {
		return false
	}
	k, err := codec.ParseKey(key)
	return err == nil && (x.tally != nil || x.byPartition[identityOf(k.ID.TopicIdPartition)] != nil)
}

// change keeps the index and the tally up to date with a key that is tracked. before is the row
// that was there.
func (x *indexes) change(c store.Change, before []byte) error {
	if x.tally != nil {
		if err := x.tally.replace(c.Key, before, c.Value); err != nil {
			return err
		}
	}
	key, err := codec.ParseKey(c.Key)
	if err != nil {
		return err
	}
	i := x.byPartition[identityOf(key.ID.TopicIdPartition)]
	if i == nil {
		return nil
	}
	old, err := rowOf(key, before)
	if err != nil {
		return err
	}
	row, err := rowOf(key, c.Value)
	if err == nil {
		i.Put(old, row)
	}
	return err
}

// rowOf returns nil for no row.
func rowOf(key codec.Key, value []byte) (*codec.Row, error) {
	if value == nil {
		return nil, nil
	}
	row, err := codec.DecodeRow(key, value)
	return &row, err
}

// build makes the index of a partition from the rows on disk. A partition without
// rows gets none: anybody can ask for any number of those.
func (x *indexes) build(s *store.Store, tip api.TopicIdPartition) (*index.Partition, error) {
	rows, failed := 0, error(nil)
	built := &indexed{of: identityOf(tip), ready: x.ready}
	built.Build(func(yield func(codec.Row) bool) {
		start, limit := codec.PartitionRange(tip)
		for stored, err := range s.Rows(start, limit) {
			row, err := decodeStored(stored, err)
			if failed = err; err != nil || !yield(row) {
				return
			}
			rows++
		}
	})
	if failed != nil {
		return nil, failed
	}
	if rows > 0 {
		built.used.Store(true)
		x.byPartition[built.of] = built
		x.lookup.put(built)
	}
	return &built.Partition, nil
}

// trim drops indexes that weren't asked since the last trim while they hold more than
// limit segments in all.
func (x *indexes) trim(limit int64) {
	var total int64
	for _, i := range x.byPartition {
		total += i.segments()
	}
	if total <= limit {
		return
	}
	for of, i := range x.byPartition {
		if total > limit && !i.used.Swap(false) {
			total -= i.segments()
			delete(x.byPartition, of)
		}
	}
	x.forgetDropped()
}

// forgetDropped takes out of the lookup what isn't here any more.
func (x *indexes) forgetDropped() {
	x.lookup.remove(func(i *indexed) bool { return i.ready == x.ready && x.byPartition[i.of] != i })
}

func (i *indexed) segments() int64 { return int64(i.Snapshot().ListRemoteLogSegments().Len()) }

func (x *indexes) clear() {
	clear(x.byPartition)
	x.forgetDropped()
	x.tally = nil
}

// snapshot returns the present state of a user partition whose index may not be built yet.
func (p *partition) snapshot(tip *api.TopicIdPartition) (*index.Snapshot, error) {
	period, open := p.ready.enter()
	if !open {
		return nil, p.notReady()
	}
	i, err := p.buildIndex(*tip)
	if err != nil {
		return nil, err
	}
	s := i.Snapshot()
	if !p.ready.within(period) {
		return nil, p.notReady()
	}
	return s, nil
}

func (p *partition) buildIndex(tip api.TopicIdPartition) (*index.Partition, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.indexes.byPartition[identityOf(tip)]; i != nil {
		return &i.Partition, nil
	}
	if p.store == nil || !p.ready.isOpen() {
		return nil, p.notReady()
	}
	if err := p.store.Flush(); err != nil {
		return nil, p.readError(err)
	}
	i, err := p.indexes.build(p.store, tip)
	if err != nil {
		return nil, p.readError(err)
	}
	p.indexes.trim(p.m.indexShare())
	return i, nil
}

// rows scans the store as it is when the scan begins. Not being ready, then or at any
// time until the scan ends, is an error.
func (p *partition) rows(start, limit []byte) iter.Seq2[codec.Row, error] {
	return func(yield func(codec.Row, error) bool) {
		period, _ := p.ready.enter()
		s, err := p.flushed()
		if err != nil {
			yield(codec.Row{}, err)
			return
		}
		for stored, err := range s.Rows(start, limit) {
			row, err := decodeStored(stored, err)
			if err != nil {
				err = p.readError(err)
			} else if !p.ready.within(period) {
				err = p.notReady()
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func decodeStored(stored store.Row, err error) (codec.Row, error) {
	if err != nil {
		return codec.Row{}, err
	}
	return table.DecodeRow(string(stored.Key), stored.Value)
}

// flushed returns the store with all that reads may see on disk.
func (p *partition) flushed() (*store.Store, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.store == nil || !p.ready.isOpen() {
		return nil, p.notReady()
	}
	if err := p.store.Flush(); err != nil {
		return nil, p.readError(err)
	}
	return p.store, nil
}

// readError is a failed read of the store. One that was closed meanwhile is unassigned,
// or being rebuilt.
func (p *partition) readError(err error) error {
	if errors.Is(err, leveldb.ErrClosed) {
		return p.notReady()
	}
	return &api.IOError{Op: "read the local store", Err: err}
}
