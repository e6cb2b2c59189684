package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/source"
)

func newTopics() *cobra.Command {
	var f sourceFlags
	var o outputFlags
	cmd := &cobra.Command{
		Use:   "topics [TOPIC]",
		Short: "List the topics that have remote segments",
		Long: lines("List the topics that the metadata knows, one line for each topic id: partitions,",
			"segments that aren't deleted, and the bytes of those that are finished.", sourceHelp),
		Example: lines("  rlmm topics --bootstrap localhost:9092", "  rlmm topics --server http://127.0.0.1:8083 -o wide"),
		Args:    usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return printFound(cmd, args, &f, o, topicColumns, topicsOf)
		},
	}
	f.add(cmd)
	o.add(cmd)
	return cmd
}

// topicRow is a topic id in the output.
type topicRow struct {
	Topic      string   `json:"topic"`
	TopicID    api.UUID `json:"topicId"`
	Partitions int      `json:"partitions"`
	// DeletedPartitions are those whose deletion is finished.
	DeletedPartitions int `json:"deletedPartitions"`
	counts
}

// counts are segments, and the bytes of the finished ones.
type counts struct {
	Segments             int   `json:"segments"`
	CopySegmentStarted   int   `json:"copySegmentStarted"`
	CopySegmentFinished  int   `json:"copySegmentFinished"`
	DeleteSegmentStarted int   `json:"deleteSegmentStarted"`
	Bytes                int64 `json:"bytes"`
}

func (c *counts) add(o counts) {
	c.Segments += o.Segments
	c.CopySegmentStarted += o.CopySegmentStarted
	c.CopySegmentFinished += o.CopySegmentFinished
	c.DeleteSegmentStarted += o.DeleteSegmentStarted
	c.Bytes += o.Bytes
}

var topicColumns = []column[topicRow]{
	{name: "TOPIC", text: func(r topicRow) string { return r.Topic }},
	{name: "TOPIC ID", text: func(r topicRow) string { return r.TopicID.String() }},
	{name: "PARTITIONS", text: func(r topicRow) string { return fmt.Sprint(r.Partitions) }},
	{name: "SEGMENTS", text: func(r topicRow) string { return fmt.Sprint(r.Segments) }},
	{name: "BYTES", text: func(r topicRow) string { return fmt.Sprint(r.Bytes) }},
	{name: "COPYING", wide: true, text: func(r topicRow) string { return fmt.Sprint(r.CopySegmentStarted) }},
	{name: "FINISHED", wide: true, text: func(r topicRow) string { return fmt.Sprint(r.CopySegmentFinished) }},
	{name: "DELETING", wide: true, text: func(r topicRow) string { return fmt.Sprint(r.DeleteSegmentStarted) }},
	{name: "DELETED PARTITIONS", wide: true, text: func(r topicRow) string { return fmt.Sprint(r.DeletedPartitions) }},
}

// topicsOf joins partitions that follow each other to topics.
func topicsOf(partitions []source.Partition) []topicRow {
	rows := []topicRow{}
	for _, p := range partitions {
		if n := len(rows); n == 0 || rows[n-1].TopicID != p.TopicID {
			rows = append(rows, topicRow{Topic: p.Topic, TopicID: p.TopicID})
		}
		row, one := &rows[len(rows)-1], partitionOf(p)
		row.Partitions++
		row.add(one.counts)
		if one.DeleteState == api.DeletePartitionFinished.String() {
			row.DeletedPartitions++
		}
	}
	return rows
}
