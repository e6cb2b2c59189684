package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/recording"
	"github.com/tieredlog/rlmm/internal/source"
	"github.com/tieredlog/rlmm/internal/source/repair"
)

type repairFlags struct {
	cluster clusterFlags
	output  outputFlags
	execute bool
}

func newRepair() *cobra.Command {
	var f repairFlags
	cmd := &cobra.Command{
		Use:   "repair PLAN",
		Short: "Publish the events of a reviewed plan, to end what would stay for good",
		Long: lines("Read a plan (PLAN - is standard input) and publish its events: ordinary lifecycle events, by",
			"Kafka's rules, on the metadata topic. rlmm orphans --plan writes plans, an action a line;",
			"review it, and leave out what is to stay. The actions:",
			"",
			"  delete_segment  DELETE_SEGMENT_STARTED, unless it has begun, and DELETE_SEGMENT_FINISHED",
			"  end_partition   DELETE_PARTITION_MARKED, _STARTED and _FINISHED, as far as they are missing;",
			"                  all segments must be deleted, by this plan or before",
			"",
			"Remote objects aren't touched: delete those of the segments first, since afterwards nothing",
			"tells of them. An action does nothing when what it names has changed since the plan was made.",
			"No fleet is needed: what becomes of each event is read from the topic, as any fleet will.",
			"Events can't be taken back; rlmm export first.",
			"",
			"Without --execute nothing is published, and what would be is printed.",
			"",
			"Exit codes: 0 all was done, or would be; 3 an action was refused, or an event rejected;",
			"1 failure, 2 usage."),
		Example: lines("  rlmm orphans --bootstrap localhost:9092 --deleted-topics --plan >plan.jsonl",
			"  rlmm repair plan.jsonl --bootstrap localhost:9092", "  rlmm repair plan.jsonl --bootstrap localhost:9092 --execute"),
		Args: usage(exactly(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return repairState(cmd, f, args[0]) },
	}
	f.cluster.add(cmd)
	f.output.add(cmd)
	cmd.Flags().BoolVar(&f.execute, "execute", false, "do it")
	return cmd
}

func repairState(cmd *cobra.Command, f repairFlags, file string) error {
	if err := f.output.validate(); err != nil {
		return err
	}
	settings, err := f.cluster.settings()
	if err != nil {
		return err
	}
	plan, err := readActions(cmd, file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	t, err := source.OpenTopic(cmd.Context(), settings, f.cluster.topic, progress(cmd.ErrOrStderr(), "records"))
	if err != nil {
		return err
	}
	defer t.Close() //nolint:errcheck // nothing is lost
	r := repairer{topic: t, settings: settings, rows: source.Folded{}}
	if err := r.look(cmd.Context(), plan); err != nil {
		return err
	}
	r.judge(plan)
	if f.execute {
		err = r.execute(cmd.Context())
	}
	if printed := printRows(cmd.OutOrStdout(), f.output, repairColumns, r.lines); err == nil {
		err = printed
	}
	if err == nil {
		err = r.end(cmd, f)
	}
	return err
}

func readActions(cmd *cobra.Command, file string) ([]repair.Action, error) {
	in, err := openInput(cmd, file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return repair.Read(in)
}

// repairer carries out a plan on a topic.
type repairer struct {
	topic    *source.Topic
	settings kafka.Settings
	rows     source.Folded
	ends     map[int32]int64 // how far the rows are, by metadata partition
	lines    []repairLine
	refused  int
	rejected int
}

// look folds what the topic says of the partitions that the plan names, up to its end.
func (r *repairer) look(ctx context.Context, plan []repair.Action) error {
	r.ends = map[int32]int64{}
	if len(plan) == 0 {
		return nil
	}
	wanted := map[string]bool{}
	for i, a := range plan {
		home := codec.MetadataPartition(a.Tip(), r.topic.Partitions)
		if home != a.MetadataPartition {
			return fmt.Errorf("action %d: the events of %s are on metadata partition %d of %d, and the plan says %d: it is of another topic",
				i+1, a.Tip(), home, r.topic.Partitions, a.MetadataPartition)
		}
		r.ends[home] = 0
		wanted[codec.PartitionKey(a.Tip())] = true
	}
	return r.fold(ctx, func(e source.Event) {
		if wanted[codec.PartitionKey(e.Metadata.Partition())] {
			r.rows.Add(e)
		}
	})
}

// fold hands over the events from where the rows are to where the topic ends now.
func (r *repairer) fold(ctx context.Context, take func(source.Event)) error {
	spans, err := r.topic.Whole(ctx, slices.Sorted(maps.Keys(r.ends))...)
	if err != nil {
		return err
	}
	for p, s := range spans {
		spans[p] = source.Span{From: max(s.From, r.ends[p]), End: s.End}
		r.ends[p] = s.End
	}
	for e, err := range r.topic.Events(ctx, spans) {
		if err != nil {
			return err
		}
		if e.Err == nil {
			take(e)
		}
	}
	return nil
}

// repairLine is an event of an action, or an action that was refused.
type repairLine struct {
	Action            repair.Kind `json:"action"`
	Why               string      `json:"why,omitempty"`
	TopicID           api.UUID    `json:"topicId"`
	Topic             string      `json:"topic"`
	Partition         int32       `json:"partition"`
	SegmentID         *api.UUID   `json:"segmentId,omitempty"`
	State             string      `json:"state,omitempty"`
	MetadataPartition int32       `json:"metadataPartition"`
	// Offset is where the event was published.
	Offset *int64 `json:"offset,omitempty"`
	// Outcome is what became of the event.
	Outcome string `json:"outcome,omitempty"`
	// Note is why the action was refused, or what came between.
	Note string `json:"note,omitempty"`

	key   string
	event api.RemoteLogMetadata
}

// judge makes the lines of the plan.
func (r *repairer) judge(plan []repair.Action) {
	for _, step := range repair.Steps(plan, r.rows, time.Now()) {
		a := step.Action
		line := repairLine{
			Action: a.Action, Why: a.Why, TopicID: a.TopicID, Topic: a.Topic, Partition: a.Partition, SegmentID: a.SegmentID,
			MetadataPartition: a.MetadataPartition, key: a.Key(),
		}
		if step.Refused != nil {
			r.refused++
			line.Note = "refused: " + step.Refused.Error()
			r.lines = append(r.lines, line)
		}
		for _, e := range step.Events {
			line.event, line.State = e, stateOf(e)
			r.lines = append(r.lines, line)
		}
	}
}

func stateOf(e api.RemoteLogMetadata) string {
	switch e := e.(type) {
	case api.RemoteLogSegmentMetadataUpdate:
		return e.State.String()
	case api.RemotePartitionDeleteMetadata:
		return e.State.String()
	}
	return ""
}

// place is where a record lies.
type place struct {
	partition int32
	offset    int64
}

// execute publishes the events, and reads from the topic what became of them.
func (r *repairer) execute(ctx context.Context) error {
	waiting := map[int32][]*repairLine{} // by metadata partition, in the order of publishing
	var events []api.RemoteLogMetadata
	for i := range r.lines {
		if line := &r.lines[i]; line.event != nil {
			events = append(events, line.event)
			waiting[line.MetadataPartition] = append(waiting[line.MetadataPartition], line)
		}
	}
	if len(events) == 0 {
		return nil
	}
	ours := map[place]*repairLine{}
	told := func(int64, int64) {}
	_, err := recording.PublishEach(ctx, r.settings, r.topic.Name, records(events, r.topic.Partitions, told), func(e recording.Event) {
		line := waiting[e.Partition][0]
		waiting[e.Partition] = waiting[e.Partition][1:]
		line.Offset = &e.Offset
		ours[place{e.Partition, e.Offset}] = line
	})
	if err != nil {
		return fmt.Errorf("after %d published events: %w", len(ours), err)
	}
	return r.outcomes(ctx, ours)
}

// outcomes folds on. The events of others that came between are told, since they may have
// changed what the plan was for.
func (r *repairer) outcomes(ctx context.Context, ours map[place]*repairLine) error {
	keys, between := map[string]bool{}, map[string]int64{}
	for _, line := range ours {
		keys[line.key] = true
	}
	return r.fold(ctx, func(e source.Event) {
		key := codec.EventKey(e.Metadata)
		if !keys[key] {
			return
		}
		before := r.rows[key]
		outcome := r.rows.Add(e)
		line, mine := ours[place{e.Partition, e.Offset}]
		if !mine {
			between[key] = e.Offset
			return
		}
		line.Outcome = outcome.String()
		if at, ok := between[key]; ok {
			line.Note = fmt.Sprintf("another's event came between, at offset %d", at)
		}
		// The last event of a headless row removes it, though the segment is unknown.
		if outcome.Rejected() && (before == nil || before.Kind != codec.RowHeadless) {
			r.rejected++
		}
	})
}

// end says what was done.
func (r *repairer) end(cmd *cobra.Command, f repairFlags) error {
	events := len(r.lines) - r.refused
	did := fmt.Sprintf("would publish %d events to %s; add --execute to do it", events, r.topic.Name)
	if f.execute {
		did = fmt.Sprintf("published %d events to %s, %d were rejected", events, r.topic.Name, r.rejected)
	}
	if r.refused > 0 {
		did += fmt.Sprintf("; %d actions were refused", r.refused)
	}
	if r.refused+r.rejected > 0 {
		return &findingsError{did}
	}
	fmt.Fprintln(cmd.ErrOrStderr(), did)
	return nil
}

var repairColumns = []column[repairLine]{
	{name: "ACTION", text: func(l repairLine) string { return string(l.Action) }},
	{name: "WHY", wide: true, text: func(l repairLine) string { return l.Why }},
	{name: "TOPIC", text: func(l repairLine) string { return l.Topic }},
	{name: "TOPIC ID", wide: true, text: func(l repairLine) string { return l.TopicID.String() }},
	{name: "PARTITION", text: func(l repairLine) string { return fmt.Sprint(l.Partition) }},
	{name: "SEGMENT ID", text: func(l repairLine) string { return orDash(l.SegmentID) }},
	{name: "STATE", text: func(l repairLine) string { return cmp.Or(l.State, "-") }},
	{name: "METADATA PARTITION", text: func(l repairLine) string { return fmt.Sprint(l.MetadataPartition) }},
	{name: "OFFSET", text: func(l repairLine) string { return orDash(l.Offset) }},
	{name: "OUTCOME", text: func(l repairLine) string { return cmp.Or(l.Outcome, "-") }},
	{name: "NOTE", text: func(l repairLine) string { return cmp.Or(l.Note, "-") }},
}
