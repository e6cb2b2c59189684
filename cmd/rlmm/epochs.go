package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/source"
	"github.com/tieredlog/rlmm/views/check"
)

func newEpochs() *cobra.Command {
	var f sourceFlags
	var o outputFlags
	cmd := &cobra.Command{
		Use:   "epochs TOPIC-P",
		Short: "Show what each leader epoch of a partition has",
		Long: lines("Show, for each leader epoch that a segment of the partition carries: the finished segments,",
			"their bytes, the ranges of offsets that they hold for the epoch, the gaps between, and the",
			"highest offset: HIGHEST as the contract has it, the end of a finished segment, and BOUNDED",
			"by the epoch as Kafka's manager has it, which never goes down when segments are deleted.", sourceHelp),
		Example: "  rlmm epochs orders-0 --bootstrap localhost:9092",
		Args:    usage(exactly(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			selected, err := source.ParsePartition(args[0])
			if err != nil {
				return &usageError{err}
			}
			if err := o.validate(); err != nil {
				return err
			}
			found, err := f.collect(cmd, selected)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return fmt.Errorf("nothing is known of %s", args[0])
			}
			return printRows(cmd.OutOrStdout(), o, epochColumns, epochsOf(found))
		},
	}
	f.add(cmd)
	o.add(cmd)
	return cmd
}

// epochRow is a leader epoch in the output.
type epochRow struct {
	Topic       string   `json:"topic"`
	TopicID     api.UUID `json:"topicId"`
	Partition   int32    `json:"partition"`
	LeaderEpoch int32    `json:"leaderEpoch"`
	Segments    int      `json:"segments"`
	Bytes       int64    `json:"bytes"`
	// HighestOffset and BoundedHighestOffset are nil when there is none.
	HighestOffset        *int64       `json:"highestOffset"`
	BoundedHighestOffset *int64       `json:"boundedHighestOffset"`
	Ranges               []rangeShape `json:"ranges"`
	Gaps                 []rangeShape `json:"gaps"`
}

// rangeShape is offsets, both inclusive.
type rangeShape struct {
	FirstOffset int64 `json:"firstOffset"`
	LastOffset  int64 `json:"lastOffset"`
}

var epochColumns = []column[epochRow]{
	{name: "TOPIC", text: func(r epochRow) string { return r.Topic }},
	{name: "TOPIC ID", text: func(r epochRow) string { return r.TopicID.String() }},
	{name: "EPOCH", text: func(r epochRow) string { return fmt.Sprint(r.LeaderEpoch) }},
	{name: "SEGMENTS", text: func(r epochRow) string { return fmt.Sprint(r.Segments) }},
	{name: "BYTES", text: func(r epochRow) string { return fmt.Sprint(r.Bytes) }},
	{name: "HIGHEST", text: func(r epochRow) string { return orDash(r.HighestOffset) }},
	{name: "BOUNDED", text: func(r epochRow) string { return orDash(r.BoundedHighestOffset) }},
	{name: "RANGES", text: func(r epochRow) string { return rangesText(r.Ranges) }},
	{name: "GAPS", text: func(r epochRow) string { return rangesText(r.Gaps) }},
}

func rangesText(all []rangeShape) string {
	var texts []string
	for _, r := range all {
		texts = append(texts, fmt.Sprintf("%d-%d", r.FirstOffset, r.LastOffset))
	}
	return cmp.Or(strings.Join(texts, ","), "-")
}

func epochsOf(found []source.Partition) []epochRow {
	rows := []epochRow{}
	for _, p := range found {
		s := p.Snapshot()
		for _, number := range s.Epochs() {
			row := epochRow{
				Topic: p.Topic, TopicID: p.TopicID, Partition: p.Partition, LeaderEpoch: number, Bytes: s.RemoteLogSize(number),
			}
			for segment := range s.ListRemoteLogSegmentsByEpoch(number).All {
				if segment.State() == api.CopySegmentFinished {
					row.Segments++
				}
			}
			row.HighestOffset = ifKnown(s.HighestOffsetForEpoch(number))
			row.BoundedHighestOffset = ifKnown(s.BoundedHighestOffsetForEpoch(number))
			held := check.Held(s.ListRemoteLogSegmentsByEpoch(number).All, number)
			row.Ranges, row.Gaps = rangeShapes(held), rangeShapes(check.Between(held))
			rows = append(rows, row)
		}
	}
	return rows
}

func ifKnown(offset int64, ok bool) *int64 {
	if !ok {
		return nil
	}
	return &offset
}

func rangeShapes(spans []check.Span) []rangeShape {
	shapes := make([]rangeShape, len(spans))
	for i, s := range spans {
		shapes[i] = rangeShape{s.First, s.Last}
	}
	return shapes
}
