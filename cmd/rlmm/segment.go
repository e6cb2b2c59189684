package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/source"
)

func newSegment() *cobra.Command {
	var f sourceFlags
	var o outputFlags
	cmd := &cobra.Command{
		Use:   "segment ID",
		Short: "Show one segment and its history",
		Long: lines("Show what is known of a segment by its id (Kafka's base64 or a UUID): its row, and with",
			"--bootstrap the events that made it, each with what became of it. A segment that was",
			"deleted, or whose deletion began without it being added, is shown too. With -o json the",
			"row comes first and an event a line behind it, with its outcome.", sourceHelp),
		Example: "  rlmm segment JOw6TysnTbyDuWAbi74FZQ --bootstrap localhost:9092",
		Args:    usage(exactly(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := api.ParseUUID(args[0])
			if err != nil {
				return &usageError{err}
			}
			if err := o.validate(); err != nil {
				return err
			}
			return segment(cmd, f, o, id)
		},
	}
	f.add(cmd)
	o.add(cmd)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

func segment(cmd *cobra.Command, f sourceFlags, o outputFlags, id api.UUID) error {
	from, err := f.open(cmd)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // nothing is lost
	rows, history, err := lookUp(cmd, from, id)
	if err != nil {
		return err
	}
	if len(rows)+len(history) == 0 {
		return fmt.Errorf("nothing is known of a segment %s", id)
	}
	if o.form == "json" {
		if err := writeLines(cmd.OutOrStdout(), rows); err != nil {
			return err
		}
		return writeLines(cmd.OutOrStdout(), history)
	}
	if err := printRows(cmd.OutOrStdout(), o, rowColumns, rows); err != nil || len(history) == 0 {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout())
	return printRows(cmd.OutOrStdout(), o, eventColumns, history)
}

// lookUp finds the segment's rows, one unless two partitions have the id, and where the
// source has events its history.
func lookUp(cmd *cobra.Command, from source.Source, id api.UUID) (rows []rest.Row, history []rest.Event, err error) {
	if t, ok := from.(*source.Topic); ok {
		return historyOf(cmd, t, id)
	}
	for row, err := range from.Rows(cmd.Context(), nil) {
		if err != nil {
			return nil, nil, err
		}
		if row.Kind != codec.RowPartition && row.Segment.ID.ID == id {
			rows = append(rows, source.Shape(row))
		}
	}
	return rows, nil, nil
}

func historyOf(cmd *cobra.Command, t *source.Topic, id api.UUID) (rows []rest.Row, history []rest.Event, err error) {
	spans, err := t.Whole(cmd.Context())
	if err != nil {
		return nil, nil, err
	}
	folded, places := source.Folded{}, map[api.TopicIdPartition]int32{}
	for e, err := range t.Events(cmd.Context(), spans) {
		if err != nil {
			return nil, nil, err
		}
		if segmentOf(e.Metadata) != id {
			continue
		}
		shape := eventShape(e)
		if e.Err == nil {
			shape.Outcome = folded.Add(e).String()
			places[e.Metadata.Partition()] = e.Partition
		}
		history = append(history, shape)
	}
	for row := range folded.InOrder {
		rows = append(rows, source.Shape(source.Row{MetadataPartition: places[row.Partition()], Row: *row}))
	}
	return rows, history, nil
}

// segmentOf is the segment that an event is about, the zero id for none.
func segmentOf(m api.RemoteLogMetadata) api.UUID {
	switch m := m.(type) {
	case api.RemoteLogSegmentMetadata:
		return m.ID.ID
	case api.RemoteLogSegmentMetadataUpdate:
		return m.ID.ID
	}
	return api.UUID{}
}

var rowColumns = []column[rest.Row]{
	{name: "TOPIC", text: func(r rest.Row) string { return r.Partition().Topic }},
	{name: "TOPIC ID", text: func(r rest.Row) string { return r.Partition().TopicID.String() }},
	{name: "PARTITION", text: func(r rest.Row) string { return fmt.Sprint(r.Partition().Partition) }},
	{name: "KIND", text: func(r rest.Row) string { return string(r.Kind) }},
	{name: "STATE", text: func(r rest.Row) string { return r.Segment.State.String() }},
	{name: "OFFSETS", text: ifBody(func(s rest.Segment) string { return fmt.Sprintf("%d-%d", s.StartOffset, s.EndOffset) })},
	{name: "EPOCHS", text: ifBody(func(s rest.Segment) string { return epochsText(s.SegmentLeaderEpochs) })},
	{name: "BYTES", text: ifBody(func(s rest.Segment) string { return fmt.Sprint(s.SegmentSizeInBytes) })},
	{name: "LAST EVENT", text: func(r rest.Row) string { return fmt.Sprintf("%d/%d", r.MetadataPartition, r.Offset) }},
	{name: "EVENT TIME", text: func(r rest.Row) string { return moment(r.Segment.EventTimestampMs) }},
	{name: "BROKER", wide: true, text: func(r rest.Row) string { return fmt.Sprint(r.Segment.BrokerID) }},
	{name: "MAX TIMESTAMP", wide: true, text: ifBody(func(s rest.Segment) string { return moment(s.MaxTimestampMs) })},
	{name: "TXN INDEX", wide: true, text: ifBody(txnIndexText)},
	{name: "CUSTOM METADATA", wide: true, text: func(r rest.Row) string { return customText(rest.NewSegment(r.Segment)) }},
}

// ifBody is for what only a segment that isn't deleted has.
func ifBody(text func(rest.Segment) string) func(rest.Row) string {
	return func(r rest.Row) string {
		if r.Kind != rest.RowSegment {
			return "-"
		}
		return text(rest.NewSegment(r.Segment))
	}
}

var eventColumns = []column[rest.Event]{
	{name: "EVENT", text: func(e rest.Event) string { return fmt.Sprintf("%d/%d", e.MetadataPartition, e.Offset) }},
	{name: "STATE", text: func(e rest.Event) string { return eventOf(e).State.String() }},
	{name: "BROKER", text: func(e rest.Event) string { return fmt.Sprint(eventOf(e).BrokerID) }},
	{name: "EVENT TIME", text: func(e rest.Event) string { return moment(eventOf(e).EventTimestampMs) }},
	{name: "OUTCOME", text: outcomeText},
}

func outcomeText(e rest.Event) string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return e.Outcome
}

// eventOf is what an event of a segment says of every kind.
func eventOf(e rest.Event) api.RemoteLogSegmentMetadataUpdate {
	switch m := e.Metadata.(type) {
	case api.RemoteLogSegmentMetadata:
		return api.RemoteLogSegmentMetadataUpdate{State: m.State, BrokerID: m.BrokerID, EventTimestampMs: m.EventTimestampMs}
	case api.RemoteLogSegmentMetadataUpdate:
		return m
	}
	return api.RemoteLogSegmentMetadataUpdate{}
}
