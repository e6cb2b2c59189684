package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/source"
	"github.com/tieredlog/rlmm/views/check"
)

type orphansFlags struct {
	source        sourceFlags
	output        outputFlags
	olderThan     time.Duration
	deletedTopics bool
}

func newOrphans() *cobra.Command {
	var f orphansFlags
	cmd := &cobra.Command{
		Use:   "orphans [TOPIC[-P]]",
		Short: "List the segments whose remote objects may be left for good",
		Long: lines("List the segments whose remote objects may be left for good:",
			"",
			"  copy_unfinished    a copy that began and never ended",
			"  delete_unfinished  a deletion that began and never ended",
			"  headless           a deletion that began of a segment that was never added",
			"  partition_deleted  left when its partition's deletion was finished",
			"  topic_deleted      with --deleted-topics: of a topic id that the cluster doesn't have. Kafka's",
			"                     brokers delete such segments without a word on the partition's deletion",
			"",
			"The first two may still end by themselves and are told once their last event is --older-than",
			"ago. The exit code is 3 when there are any.", sourceHelp),
		Example: lines("  rlmm orphans --bootstrap localhost:9092 --deleted-topics",
			"  rlmm orphans orders --server http://127.0.0.1:8083 --older-than 1h -o json"),
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return orphans(cmd, f, args) },
	}
	f.source.add(cmd)
	f.output.add(cmd)
	cmd.Flags().DurationVar(&f.olderThan, "older-than", 24*time.Hour, "how long ago a copy or deletion that didn't end must have begun")
	cmd.Flags().BoolVar(&f.deletedTopics, "deleted-topics", false, "segments of deleted topics too; needs --bootstrap")
	return cmd
}

func (f orphansFlags) validate() error {
	switch {
	case f.olderThan < 0:
		return &usageError{fmt.Errorf("--older-than: must not be negative: %s", f.olderThan)}
	case f.deletedTopics && (f.source.server != "" || f.source.offline != ""):
		return &usageError{errors.New("--deleted-topics needs --bootstrap: only the cluster knows its topics")}
	}
	return f.output.validate()
}

func orphans(cmd *cobra.Command, f orphansFlags, args []string) error {
	if err := f.validate(); err != nil {
		return err
	}
	partitions, err := f.source.collectTopic(cmd, args)
	if err != nil {
		return err
	}
	gone, err := f.gone(cmd)
	if err != nil {
		return err
	}
	rows := []orphan{}
	for _, p := range partitions {
		rows = append(rows, orphansOf(p, gone, time.Now().Add(-f.olderThan))...)
	}
	if err := printRows(cmd.OutOrStdout(), f.output, orphanColumns, rows); err != nil {
		return err
	}
	if len(rows) > 0 {
		return &findingsError{fmt.Sprintf("%d orphans", len(rows))}
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "no orphans")
	return nil
}

// gone tells of a topic id whether the cluster doesn't have it.
func (f orphansFlags) gone(cmd *cobra.Command) (func(api.UUID) bool, error) {
	if !f.deletedTopics {
		return func(api.UUID) bool { return false }, nil
	}
	t, err := f.source.topic(cmd)
	if err != nil {
		return nil, err
	}
	defer t.Close() //nolint:errcheck // nothing is lost
	there, err := topicIDs(cmd.Context(), t)
	return func(id api.UUID) bool { return !there[id] }, err
}

func topicIDs(ctx context.Context, t *source.Topic) (map[api.UUID]bool, error) {
	topics, err := t.Topics(ctx)
	ids := make(map[api.UUID]bool, len(topics))
	for _, topic := range topics {
		ids[topic.ID] = true
	}
	return ids, err
}

// topicDeleted is beside the reasons of package check, which knows no cluster.
const topicDeleted check.Why = "topic_deleted"

// orphan is one in the output.
type orphan struct {
	Why     check.Why `json:"why"`
	Message string    `json:"message"`
	Row     rest.Row  `json:"row"`
}

func orphansOf(p source.Partition, gone func(api.UUID) bool, before time.Time) (found []orphan) {
	deleted := p.Snapshot().Deletion() == api.DeletePartitionFinished
	for i := range p.Rows {
		row := &p.Rows[i]
		why := check.WhyOrphan(row, deleted, row.Segment.EventTimestampMs <= before.UnixMilli())
		message := why.Text(row)
		if why == check.NoOrphan && row.Kind == codec.RowSegment && gone(p.TopicID) {
			why, message = topicDeleted, "the cluster has no topic of this id"
		}
		if why != check.NoOrphan {
			found = append(found, orphan{why, message, source.Shape(source.Row{MetadataPartition: p.MetadataPartition, Row: *row})})
		}
	}
	return found
}

var orphanColumns = []column[orphan]{
	{name: "WHY", text: func(o orphan) string { return string(o.Why) }},
	{name: "TOPIC", text: func(o orphan) string { return o.Row.Partition().Topic }},
	{name: "TOPIC ID", text: func(o orphan) string { return o.Row.Partition().TopicID.String() }},
	{name: "PARTITION", text: func(o orphan) string { return fmt.Sprint(o.Row.Partition().Partition) }},
	{name: "SEGMENT ID", text: func(o orphan) string { return o.Row.Segment.ID.ID.String() }},
	{name: "STATE", text: func(o orphan) string { return o.Row.Segment.State.String() }},
	{name: "LAST EVENT", text: func(o orphan) string { return moment(o.Row.Segment.EventTimestampMs) }},
	{name: "OFFSETS", wide: true, text: ofOrphan(func(s rest.Segment) string { return fmt.Sprintf("%d-%d", s.StartOffset, s.EndOffset) })},
	{name: "BYTES", wide: true, text: ofOrphan(func(s rest.Segment) string { return fmt.Sprint(s.SegmentSizeInBytes) })},
	{name: "BROKER", wide: true, text: func(o orphan) string { return fmt.Sprint(o.Row.Segment.BrokerID) }},
}

func ofOrphan(text func(rest.Segment) string) func(orphan) string {
	return func(o orphan) string { return ifBody(text)(o.Row) }
}
