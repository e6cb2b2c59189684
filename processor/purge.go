package processor

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

// purgeable maps the keys of markers that may go to their rows' offset fields.
type purgeable map[string]int64

// findPurgeable scans a store for markers older than the limit that nothing needs any
// more. The highest offset of an epoch never goes down, so of the rows that hold an
// epoch's highest one must stay, until the partition's deletion is finished.
func findPurgeable(ctx context.Context, s *store.Store, limit time.Time) (purgeable, error) {
	found := purgeable{}
	var group purgeGroup
	for row, err := range s.Rows(nil, nil) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		key := string(row.Key)
		r, err := table.DecodeRow(key, row.Value)
		if err != nil {
			return nil, err
		}
		if tip := r.Partition(); !group.is(tip) {
			group.collect(found)
			group = newPurgeGroup(tip, limit)
		}
		group.add(key, r)
	}
	group.collect(found)
	return found, nil
}

// holder is the row that holds an epoch's highest offset.
type holder struct {
	key     string
	highest int64
}

// purgeGroup is the rows of one TopicIdPartition, which lie together.
type purgeGroup struct {
	tip      api.TopicIdPartition
	limit    int64
	finished bool // its deletion
	markers  purgeable
	holders  map[int32]holder
}

func newPurgeGroup(tip api.TopicIdPartition, limit time.Time) purgeGroup {
	return purgeGroup{tip: tip, limit: limit.UnixMilli(), markers: purgeable{}, holders: map[int32]holder{}}
}

func (g *purgeGroup) is(tip api.TopicIdPartition) bool {
	return g.tip.TopicID == tip.TopicID && g.tip.Partition == tip.Partition
}

func (g *purgeGroup) add(key string, r codec.Row) {
	for epoch, offset := range r.Highest.All() {
		g.hold(key, epoch, offset)
	}
	switch {
	case r.Kind == codec.RowPartition:
		g.finished = r.Delete.State == api.DeletePartitionFinished
	case r.Kind == codec.RowMarker:
		if r.Segment.EventTimestampMs < g.limit {
			g.markers[key] = r.Offset
		}
	case r.Kind == codec.RowSegment && r.FinishedOffset >= 0:
		for epoch := range r.Segment.LeaderEpochs.All() {
			_, last, _ := r.Segment.EpochRange(epoch)
			g.hold(key, epoch, last)
		}
	}
}

func (g *purgeGroup) hold(key string, epoch int32, offset int64) {
	if h, ok := g.holders[epoch]; !ok || offset > h.highest {
		g.holders[epoch] = holder{key, offset}
	}
}

func (g *purgeGroup) collect(into purgeable) {
	if !g.finished {
		for _, h := range g.holders {
			delete(g.markers, h.key)
		}
	}
	maps.Copy(into, g.markers)
}

// purge removes the rows that findPurgeable named, unless they have changed since, and
// waits for the acknowledgements. goka's visitor would look at every row for that, and
// one that ends with its session races with those it has left.
func (i *instance) purge(ctx context.Context, partition int32, markers purgeable) error {
	st, err := i.recovered(partition)
	if err != nil {
		return err
	}
	acks := make(chan error, len(markers))
	for key, offset := range markers {
		if err := i.purgeRow(partition, st.Store, key, offset, acks); err != nil {
			return err
		}
	}
	return await(ctx, acks, len(markers))
}

// purgeRow sends the tombstone of one row, in one step with the look at the row.
func (i *instance) purgeRow(partition int32, st *store.Store, key string, offset int64, acks chan<- error) error {
	i.rowLocks[partition].Lock()
	defer i.rowLocks[partition].Unlock()
	value, err := st.Get(key)
	if err != nil {
		return err
	}
	if row, err := table.DecodeRow(key, value); err != nil || row.Offset != offset {
		acks <- nil // it is gone or was changed
		return nil
	}
	promise := i.writer.Write(table.Record{Kind: table.Purge, Key: key, Source: offset, Outcome: codec.OutcomePurge})
	promise.Then(func(err error) { acks <- err })
	return nil
}
