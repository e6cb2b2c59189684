package views

import (
	"context"
	"iter"

	"github.com/tieredlog/rlmm/codec"
)

// Row is a row of the table, and where its events lie.
type Row struct {
	MetadataPartition int32
	codec.Row
}

// Rows iterates over the rows of all assigned metadata partitions, ascending, each in the
// order of keys, for tools that need more than the contract tells. An error, ErrNotReady
// when one of the partitions is not ready, is the last step.
func (m *Manager) Rows(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, number := range m.AssignedMetadataPartitions() {
			for row, err := range m.rowsOf(number) {
				if err == nil {
					err = ctx.Err()
				}
				if !yield(Row{number, row}, err) || err != nil {
					return
				}
			}
		}
	}
}

func (m *Manager) rowsOf(number int32) iter.Seq2[codec.Row, error] {
	return func(yield func(codec.Row, error) bool) {
		p, ok := m.assigned(number)
		if !ok {
			yield(codec.Row{}, notAssigned(number))
			return
		}
		for row, err := range p.rows(nil, nil) {
			if !yield(row, err) {
				return
			}
		}
	}
}
