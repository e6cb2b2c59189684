package main

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/source"
	"github.com/tieredlog/rlmm/internal/source/repair"
	"github.com/tieredlog/rlmm/views/check"
)

type orphansFlags struct {
	source        sourceFlags
	output        outputFlags
	against       againstFlag
	partitions    int32
	olderThan     time.Duration
	deletedTopics bool
	plan          bool
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
			"  unknown_object     with --against: an object of a segment that no event tells of",
			"  deleted_object     with --against: an object of a segment that is deleted",
			"",
			"The first two may still end by themselves and are told once their last event is --older-than",
			"ago. The exit code is 3 when there are any.",
			"", againstHelp,
			"",
			"--plan writes, instead of the list, a plan for rlmm repair that would end what events tell",
			"of; with --deleted-topics also the partitions of deleted topics, so that the table forgets",
			"them. Wait until the brokers are done with a topic's deletion.", sourceHelp),
		Example: lines("  rlmm orphans --bootstrap localhost:9092 --deleted-topics",
			"  rlmm orphans orders --server http://127.0.0.1:8083 --older-than 1h -o json",
			"  rlmm orphans --bootstrap localhost:9092 --plan >plan.jsonl"),
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return orphans(cmd, f, args) },
	}
	f.source.add(cmd)
	f.output.add(cmd)
	f.against.add(cmd)
	flags := cmd.Flags()
	flags.Int32Var(&f.partitions, "partitions", 50, "partition count of the metadata topic, for --against; --bootstrap asks for it")
	flags.DurationVar(&f.olderThan, "older-than", 24*time.Hour, "how long ago a copy or deletion that didn't end must have begun")
	flags.BoolVar(&f.deletedTopics, "deleted-topics", false, "segments of deleted topics too; needs --bootstrap")
	flags.BoolVar(&f.plan, "plan", false, "write a plan for rlmm repair, JSON lines")
	return cmd
}

func (f orphansFlags) validate(args []string) error {
	switch {
	case f.olderThan < 0:
		return &usageError{fmt.Errorf("--older-than: must not be negative: %s", f.olderThan)}
	case f.partitions < 1:
		return &usageError{fmt.Errorf("--partitions: must be positive: %d", f.partitions)}
	case f.deletedTopics && (f.source.server != "" || f.source.offline != ""):
		return &usageError{errors.New("--deleted-topics needs --bootstrap: only the cluster knows its topics")}
	case f.against.file != "" && len(args) > 0:
		return &usageError{errors.New("--against needs all topics")}
	case f.against.file != "" && f.plan:
		return &usageError{errors.New("--against and --plan don't go together: no event deletes an object")}
	}
	return f.output.validate()
}

func orphans(cmd *cobra.Command, f orphansFlags, args []string) error {
	if err := f.validate(args); err != nil {
		return err
	}
	partitions, err := f.source.collectTopic(cmd, args)
	if err != nil {
		return err
	}
	gone, err := f.gone(cmd, partitions)
	if err != nil {
		return err
	}
	before := time.Now().Add(-f.olderThan)
	if f.plan {
		return writePlan(cmd, partitions, gone, before)
	}
	rows := []orphan{}
	for _, p := range partitions {
		rows = append(rows, orphansOf(p, gone, before)...)
	}
	objects, err := f.objects(cmd, partitions)
	if err != nil {
		return err
	}
	rows = append(rows, objects...)
	if err := printRows(cmd.OutOrStdout(), f.output, orphanColumns, rows); err != nil {
		return err
	}
	if len(rows) > 0 {
		return &findingsError{fmt.Sprintf("%d orphans", len(rows))}
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "no orphans")
	return nil
}

// writePlan writes the actions that end the orphans, by partition: its segments, and then
// the partition itself when its topic is gone.
func writePlan(cmd *cobra.Command, partitions []source.Partition, gone topicGone, before time.Time) error {
	plan := []repair.Action{}
	for _, p := range partitions {
		for _, o := range orphansOf(p, gone, before) {
			plan = append(plan, repair.Delete(o.row, p.MetadataPartition, string(o.Why), o.Message))
		}
		if gone(p.TopicIdPartition) && p.Snapshot().Deletion() != api.DeletePartitionFinished {
			plan = append(plan, repair.End(p.TopicIdPartition, deletionOf(p), p.MetadataPartition, string(topicDeleted), noTopic))
		}
	}
	if err := writeLines(cmd.OutOrStdout(), plan); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%d actions; review them, and see rlmm repair\n", len(plan))
	return nil
}

// deletionOf is the row of the partition's deletion, nil when none has begun.
func deletionOf(p source.Partition) *codec.Row {
	for i := range p.Rows {
		if p.Rows[i].Kind == codec.RowPartition {
			return &p.Rows[i]
		}
	}
	return nil
}

// objects are the objects of a listing that nothing needs.
func (f orphansFlags) objects(cmd *cobra.Command, partitions []source.Partition) (found []orphan, err error) {
	if f.against.file == "" {
		return nil, nil
	}
	from, err := f.source.open(cmd)
	if err != nil {
		return nil, err
	}
	defer from.Close() //nolint:errcheck // nothing is lost
	objects, err := f.against.read(cmd, from, f.partitions, f.olderThan)
	if err != nil {
		return nil, err
	}
	var all []check.Finding
	for _, p := range partitions {
		all = append(all, objects.Partition(p.TopicIdPartition, p.Rows)...)
	}
	for _, finding := range append(all, objects.Unknown()...) {
		if finding.Kind != check.MissingObject {
			found = append(found, objectOrphan(finding))
		}
	}
	return found, nil
}

func objectOrphan(f check.Finding) orphan {
	return orphan{Why: check.Why(f.Kind), Message: f.Message, Object: f.Key, SegmentID: &f.Segments[0], tip: f.Partition}
}

// topicGone tells whether the cluster doesn't have the partition's topic.
type topicGone func(api.TopicIdPartition) bool

// gone asks the cluster for each topic by name: a list of all would leave out those that
// this client may not describe.
func (f orphansFlags) gone(cmd *cobra.Command, partitions []source.Partition) (topicGone, error) {
	if !f.deletedTopics {
		return func(api.TopicIdPartition) bool { return false }, nil
	}
	t, err := f.source.topic(cmd)
	if err != nil {
		return nil, err
	}
	defer t.Close() //nolint:errcheck // nothing is lost
	ids := map[string]api.UUID{}
	for _, p := range partitions {
		if _, asked := ids[p.Topic]; asked {
			continue
		}
		there, err := t.Topic(cmd.Context(), p.Topic)
		if err != nil && !errors.Is(err, kafka.ErrNoTopic) {
			return nil, err
		}
		ids[p.Topic] = there.ID
	}
	return func(tip api.TopicIdPartition) bool { return ids[tip.Topic] != tip.TopicID }, nil
}

// topicDeleted is beside the reasons of package check, which knows no cluster.
const topicDeleted check.Why = "topic_deleted"

// noTopic is topicDeleted in words.
const noTopic = "the cluster has no topic of this id"

// orphan is one in the output.
type orphan struct {
	Why     check.Why `json:"why"`
	Message string    `json:"message"`
	// Row is of a segment that events tell of, Object and SegmentID of an object.
	Row       *rest.Row `json:"row,omitempty"`
	Object    string    `json:"object,omitempty"`
	SegmentID *api.UUID `json:"segmentId,omitempty"`

	tip api.TopicIdPartition
	row codec.Row
}

func orphansOf(p source.Partition, gone topicGone, before time.Time) (found []orphan) {
	deleted := p.Snapshot().Deletion() == api.DeletePartitionFinished
	for i := range p.Rows {
		row := &p.Rows[i]
		why := check.WhyOrphan(row, deleted, row.Segment.EventTimestampMs <= before.UnixMilli())
		message := why.Text(row)
		if why == check.NoOrphan && row.Kind == codec.RowSegment && gone(p.TopicIdPartition) {
			why, message = topicDeleted, noTopic
		}
		if why != check.NoOrphan {
			shape := source.Shape(source.Row{MetadataPartition: p.MetadataPartition, Row: *row})
			found = append(found, orphan{Why: why, Message: message, Row: &shape, tip: p.TopicIdPartition, row: *row})
		}
	}
	return found
}

var orphanColumns = []column[orphan]{
	{name: "WHY", text: func(o orphan) string { return string(o.Why) }},
	{name: "TOPIC", text: func(o orphan) string { return o.tip.Topic }},
	{name: "TOPIC ID", text: ofRow(func(r rest.Row) string { return r.Partition().TopicID.String() })},
	{name: "PARTITION", text: ofRow(func(r rest.Row) string { return fmt.Sprint(r.Partition().Partition) })},
	{name: "SEGMENT ID", text: func(o orphan) string { return o.segment().String() }},
	{name: "STATE", text: ofRow(func(r rest.Row) string { return r.Segment.State.String() })},
	{name: "LAST EVENT", text: ofRow(func(r rest.Row) string { return moment(r.Segment.EventTimestampMs) })},
	{name: "OBJECT", text: func(o orphan) string { return cmp.Or(o.Object, "-") }},
	{name: "OFFSETS", wide: true, text: ofRow(ifBody(func(s rest.Segment) string { return fmt.Sprintf("%d-%d", s.StartOffset, s.EndOffset) }))},
	{name: "BYTES", wide: true, text: ofRow(ifBody(func(s rest.Segment) string { return fmt.Sprint(s.SegmentSizeInBytes) }))},
	{name: "BROKER", wide: true, text: ofRow(func(r rest.Row) string { return fmt.Sprint(r.Segment.BrokerID) })},
}

// ofRow is for what an object alone doesn't tell.
func ofRow(text func(rest.Row) string) func(orphan) string {
	return func(o orphan) string {
		if o.Row == nil {
			return "-"
		}
		return text(*o.Row)
	}
}

func (o orphan) segment() api.UUID {
	if o.SegmentID != nil {
		return *o.SegmentID
	}
	return o.row.Segment.ID.ID
}
