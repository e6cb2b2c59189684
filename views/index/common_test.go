package index_test

import (
	"slices"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/processor/fold"
	"github.com/tieredlog/rlmm/views/index"
)

var tip = api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 1), Topic: "orders", Partition: 3}

// followed is an index, beside the rows that it was told of, as a view keeps both.
type followed struct {
	*index.Partition
	rows map[api.UUID]*codec.Row
}

func newFollowed() followed { return followed{index.New(), map[api.UUID]*codec.Row{}} }

// put tells what is under the key now.
func (f followed) put(key api.UUID, row *codec.Row) {
	f.Put(f.rows[key], row)
	f.rows[key] = row
}

// table stands for the processor and a view: it folds events into rows and keeps the
// index of one partition up to date.
type table struct {
	rows   map[api.UUID]*codec.Row // nil after a tombstone; the partition's own under the zero id
	index  followed
	offset int64
}

func newTable() *table {
	return &table{rows: map[api.UUID]*codec.Row{}, index: newFollowed()}
}

// apply folds the event and puts the row that follows into the index.
func (t *table) apply(event api.RemoteLogMetadata) codec.Outcome {
	key := keyOf(event)
	row, outcome := fold.Fold(t.rows[key], event, t.offset)
	t.offset++
	t.rows[key] = row
	t.show(key, t.index)
	return outcome
}

// show tells an index what is under the key now.
func (t *table) show(key api.UUID, f followed) { f.put(key, t.rows[key]) }

// record is the table's record of what is under the key now: it tells an index.
func (t *table) record(key api.UUID) func(followed) {
	row := t.rows[key]
	return func(f followed) { f.put(key, row) }
}

// rebuilt returns an index made of the rows.
func (t *table) rebuilt() followed { return followed{index.Build(slices.Values(t.allRows())), t.rows} }

func (t *table) allRows() []codec.Row {
	var rows []codec.Row
	for _, row := range t.rows {
		if row != nil {
			rows = append(rows, *row)
		}
	}
	return rows
}

func keyOf(event api.RemoteLogMetadata) api.UUID {
	switch e := event.(type) {
	case api.RemoteLogSegmentMetadata:
		return e.ID.ID
	case api.RemoteLogSegmentMetadataUpdate:
		return e.ID.ID
	}
	return api.UUID{}
}

func segmentID(n uint64) api.RemoteLogSegmentID {
	return api.RemoteLogSegmentID{TopicIdPartition: tip, ID: api.UUIDFromBits(n, n)}
}

func epochsOf(entries map[int32]int64) api.LeaderEpochs {
	var all []api.EpochOffset
	for epoch, offset := range entries {
		all = append(all, api.EpochOffset{LeaderEpoch: epoch, Offset: offset})
	}
	return api.NewLeaderEpochs(all...)
}
