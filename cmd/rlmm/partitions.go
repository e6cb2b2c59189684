package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/source"
	"github.com/tieredlog/rlmm/views/index"
)

func newPartitions() *cobra.Command {
	var f sourceFlags
	var o outputFlags
	cmd := &cobra.Command{
		Use:   "partitions [TOPIC]",
		Short: "List the partitions that have remote segments",
		Long: lines("List the partitions of a topic, or of all: the metadata partition that holds their events,",
			"segments, bytes, and the offsets from the first to the last finished segment, which may have",
			"gaps between (rlmm epochs). A partition whose segments are all deleted is shown with 0.", sourceHelp),
		Example: lines("  rlmm partitions orders --bootstrap localhost:9092", "  rlmm partitions --offline /var/lib/rlmm -o json"),
		Args:    usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return printFound(cmd, args, &f, o, partitionColumns, partitionsOf)
		},
	}
	f.add(cmd)
	o.add(cmd)
	return cmd
}

// partitionRow is a user partition in the output.
type partitionRow struct {
	Topic             string   `json:"topic"`
	TopicID           api.UUID `json:"topicId"`
	Partition         int32    `json:"partition"`
	MetadataPartition int32    `json:"metadataPartition"`
	counts
	// StartOffset and EndOffset are of the finished segments, nil without one.
	StartOffset *int64 `json:"startOffset"`
	EndOffset   *int64 `json:"endOffset"`
	// DeleteState is NONE when the partition isn't being deleted.
	DeleteState string `json:"deleteState"`
}

var partitionColumns = []column[partitionRow]{
	{name: "TOPIC", text: func(r partitionRow) string { return r.Topic }},
	{name: "TOPIC ID", text: func(r partitionRow) string { return r.TopicID.String() }},
	{name: "PARTITION", text: func(r partitionRow) string { return fmt.Sprint(r.Partition) }},
	{name: "METADATA PARTITION", text: func(r partitionRow) string { return fmt.Sprint(r.MetadataPartition) }},
	{name: "SEGMENTS", text: func(r partitionRow) string { return fmt.Sprint(r.Segments) }},
	{name: "BYTES", text: func(r partitionRow) string { return fmt.Sprint(r.Bytes) }},
	{name: "START OFFSET", text: func(r partitionRow) string { return orDash(r.StartOffset) }},
	{name: "END OFFSET", text: func(r partitionRow) string { return orDash(r.EndOffset) }},
	{name: "COPYING", wide: true, text: func(r partitionRow) string { return fmt.Sprint(r.CopySegmentStarted) }},
	{name: "FINISHED", wide: true, text: func(r partitionRow) string { return fmt.Sprint(r.CopySegmentFinished) }},
	{name: "DELETING", wide: true, text: func(r partitionRow) string { return fmt.Sprint(r.DeleteSegmentStarted) }},
	{name: "DELETE STATE", wide: true, text: func(r partitionRow) string { return r.DeleteState }},
}

func partitionsOf(found []source.Partition) []partitionRow {
	rows := []partitionRow{}
	for _, p := range found {
		rows = append(rows, partitionOf(p))
	}
	return rows
}

func partitionOf(p source.Partition) partitionRow {
	s := p.Snapshot()
	row := partitionRow{
		Topic: p.Topic, TopicID: p.TopicID, Partition: p.Partition, MetadataPartition: p.MetadataPartition,
		counts: countsOf(s), DeleteState: s.Deletion().String(),
	}
	for segment := range s.ListRemoteLogSegments().All {
		if segment.State() == api.CopySegmentFinished {
			start, end := segment.StartOffset(), segment.EndOffset()
			if row.StartOffset == nil {
				row.StartOffset, row.EndOffset = &start, &end
			}
			*row.EndOffset = max(*row.EndOffset, end)
		}
	}
	return row
}

func countsOf(s *index.Snapshot) counts {
	started, finished, deleting := s.Totals(api.CopySegmentStarted), s.Totals(api.CopySegmentFinished), s.Totals(api.DeleteSegmentStarted)
	return counts{
		Segments:           started.Segments + finished.Segments + deleting.Segments,
		CopySegmentStarted: started.Segments, CopySegmentFinished: finished.Segments, DeleteSegmentStarted: deleting.Segments,
		Bytes: finished.Bytes,
	}
}
