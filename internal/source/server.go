package source

import (
	"context"
	"fmt"
	"iter"

	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/views"
)

// Server asks a running one over HTTP. What it says is of the metadata partitions that are
// assigned there; while one of them isn't ready, reads fail with api.ErrNotReady.
type Server struct {
	// Client is the connection.
	*rest.Client
}

// Close does nothing.
func (Server) Close() error { return nil }

// Covers implements [Source].
func (s Server) Covers(ctx context.Context) (int, error) {
	status, err := s.Status(ctx)
	if err != nil || status.Views == nil {
		return 0, err
	}
	return len(status.Views.Tasks), nil
}

// Rows implements [Source].
func (s Server) Rows(ctx context.Context, selected Selector) iter.Seq2[Row, error] {
	if len(selected) == 0 {
		selected = Selector{{}}
	}
	return func(yield func(Row, error) bool) {
		for _, filter := range selected {
			for told, err := range s.Client.Rows(ctx, filter) {
				row, err := rowOf(told, err)
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

// kinds are the names of the kinds of rows.
var kinds = map[codec.RowKind]rest.RowKind{
	codec.RowSegment: rest.RowSegment, codec.RowHeadless: rest.RowHeadless,
	codec.RowMarker: rest.RowMarker, codec.RowPartition: rest.RowPartitionDelete,
}

// Shape is the row as the HTTP API shows it.
func Shape(row Row) rest.Row {
	shape := rest.Row{
		Kind: kinds[row.Kind], MetadataPartition: row.MetadataPartition, Offset: row.Offset, FinishedOffset: -1,
		HighestOffsets: row.Highest, Segment: row.Segment, Delete: row.Delete,
	}
	if row.Kind == codec.RowSegment || row.Kind == codec.RowMarker {
		shape.FinishedOffset = row.FinishedOffset
	}
	return shape
}

// rowOf is the way back from Shape.
func rowOf(told rest.Row, err error) (Row, error) {
	if err != nil {
		return Row{}, err
	}
	row := Row{MetadataPartition: told.MetadataPartition, Row: codec.Row{
		Offset: told.Offset, Highest: told.HighestOffsets, Segment: told.Segment, Delete: told.Delete,
	}}
	for kind, name := range kinds {
		if name == told.Kind {
			row.Kind = kind
		}
	}
	if row.Kind == 0 {
		return Row{}, fmt.Errorf("%q is not a kind of row", told.Kind)
	}
	if row.Kind == codec.RowSegment || row.Kind == codec.RowMarker {
		row.FinishedOffset = told.FinishedOffset
	}
	return row, nil
}

// Serve is GET /v1/rows of a manager, for [rest.Config].
func Serve(m *views.Manager) func(context.Context, rest.RowFilter) iter.Seq2[rest.Row, error] {
	return func(ctx context.Context, filter rest.RowFilter) iter.Seq2[rest.Row, error] {
		return func(yield func(rest.Row, error) bool) {
			for row, err := range m.Rows(ctx) {
				switch {
				case err != nil:
					yield(rest.Row{}, err)
					return
				case filter.Matches(row.Partition()) && !yield(Shape(row), nil):
					return
				}
			}
		}
	}
}
