// Package source is where the commands that read get the state from: the metadata topic
// itself, a running server, or the data folder of one that is stopped. All three give the
// same rows; the topic is the truth, and the others are as old as what they have applied.
//
// A table forgets markers that nothing needs a day after a deletion, and so do a server
// and a data folder; the topic never does.
package source

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/views"
	"github.com/tieredlog/rlmm/views/index"
)

// Row is a row of the table, and the metadata partition that its events are on.
type Row = views.Row

// Source is a way to the state.
type Source interface {
	// Rows iterates over the rows that the selector takes, by metadata partition, each in
	// the order of keys; a server may give a row twice. An error is the last step.
	Rows(ctx context.Context, selected Selector) iter.Seq2[Row, error]
	// Covers returns how many metadata partitions it tells of.
	Covers(ctx context.Context) (int, error)
	// Close frees what the source holds.
	Close() error
}

// Progress is told how much of a long work is done.
type Progress func(done, total int64)

// Partition is the rows of a user partition.
type Partition struct {
	// TopicIdPartition has the name that its rows have.
	api.TopicIdPartition
	MetadataPartition int32
	// Rows are in the order of keys, and at least one.
	Rows []codec.Row
}

// Collect reads the rows that the selector takes, as user partitions by topic name, topic
// id and partition.
func Collect(ctx context.Context, from Source, selected Selector) ([]Partition, error) {
	byPartition := map[api.TopicIdPartition]*Partition{}
	for row, err := range from.Rows(ctx, selected) {
		if err != nil {
			return nil, err
		}
		id := row.Partition()
		id.Topic = ""
		p, ok := byPartition[id]
		if !ok {
			p = &Partition{TopicIdPartition: id, MetadataPartition: row.MetadataPartition}
			byPartition[id] = p
		}
		p.Topic = cmp.Or(p.Topic, row.Partition().Topic)
		p.Rows = append(p.Rows, row.Row)
	}
	return inOrder(byPartition), nil
}

// Partitions iterates over the user partitions that the selector takes, as their rows lie
// together in the source: memory is needed for one at a time. An error is the last step.
func Partitions(ctx context.Context, from Source, selected Selector) iter.Seq2[Partition, error] {
	return func(yield func(Partition, error) bool) {
		var at *Partition
		for row, err := range from.Rows(ctx, selected) {
			if err != nil {
				yield(Partition{}, err)
				return
			}
			id := row.Partition()
			if at != nil && (at.TopicID != id.TopicID || at.Partition != id.Partition) {
				if !yield(*at, nil) {
					return
				}
				at = nil
			}
			if at == nil {
				at = &Partition{TopicIdPartition: id, MetadataPartition: row.MetadataPartition}
			}
			at.Topic = cmp.Or(at.Topic, id.Topic)
			at.Rows = append(at.Rows, row.Row)
		}
		if at != nil {
			yield(*at, nil)
		}
	}
}

func inOrder(found map[api.TopicIdPartition]*Partition) []Partition {
	all := make([]Partition, 0, len(found))
	for _, p := range found {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), a.TopicID.Compare(b.TopicID), cmp.Compare(a.Partition, b.Partition))
	})
	return all
}

// Snapshot answers a manager's queries of the partition.
func (p Partition) Snapshot() *index.Snapshot {
	return index.Build(slices.Values(p.Rows)).Snapshot()
}

// Selector chooses user partitions: those that one of the filters takes, all when there is
// none.
type Selector []rest.RowFilter

// Matches tells whether the partition is chosen.
func (s Selector) Matches(tip api.TopicIdPartition) bool {
	return len(s) == 0 || slices.ContainsFunc(s, func(f rest.RowFilter) bool { return f.Matches(tip) })
}
