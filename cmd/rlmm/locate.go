package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/internal/source"
	"github.com/tieredlog/rlmm/internal/source/locate"
)

type locateFlags struct {
	source    sourceFlags
	output    outputFlags
	offset    int64
	epoch     int32
	timestamp string
}

func newLocate() *cobra.Command {
	var f locateFlags
	cmd := &cobra.Command{
		Use:   "locate TOPIC-P --offset N",
		Short: "Find the segment that holds an offset, or say why none does",
		Long: lines("Find the finished segment of a partition that holds an offset, as a broker's look-up does:",
			"for a leader epoch, or without --epoch for each that has it, the highest first. With",
			"--timestamp it is the first segment that may hold a record of that time or later, at the",
			"offset (0 unless given) or behind it, in the log of the highest epoch's leader.",
			"",
			"When none does, it says why: no_partition, partition_deleted, only_deleted, state (the",
			"segment that holds it is still being copied or being deleted), none_finished, no_epoch,",
			"other_epoch, before_first, after_last, gap, none_so_late. The exit code is 1 then.", sourceHelp),
		Example: lines("  rlmm locate orders-0 --offset 4711 --bootstrap localhost:9092",
			"  rlmm locate orders-0 --timestamp 2026-11-30T12:00:00Z --server http://127.0.0.1:8083"),
		Args: usage(exactly(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			query, selected, err := f.parse(cmd, args[0])
			if err != nil {
				return &usageError{err}
			}
			return find(cmd, f, args[0], query, selected)
		},
	}
	f.source.add(cmd)
	f.output.add(cmd)
	flags := cmd.Flags()
	flags.Int64Var(&f.offset, "offset", 0, "offset to look for")
	flags.Int32Var(&f.epoch, "epoch", 0, "leader epoch of the record there")
	flags.StringVar(&f.timestamp, "timestamp", "", "time to look for: RFC 3339, milliseconds since 1970, or how long ago")
	return cmd
}

func (f locateFlags) parse(cmd *cobra.Command, arg string) (query locate.Query, selected source.Selector, err error) {
	query.Offset = f.offset
	switch flags := cmd.Flags(); {
	case f.offset < 0:
		return query, nil, fmt.Errorf("--offset: must not be negative: %d", f.offset)
	case !flags.Changed("offset") && !flags.Changed("timestamp"):
		return query, nil, errors.New("--offset or --timestamp is needed")
	}
	if err := atMostOne(cmd, "epoch", "timestamp"); err != nil {
		return query, nil, err
	}
	if cmd.Flags().Changed("epoch") {
		query.Epoch = &f.epoch
	}
	if f.timestamp != "" {
		at, err := parseTime(f.timestamp, time.Now())
		if err != nil {
			return query, nil, fmt.Errorf("--timestamp: %w", err)
		}
		ms := at.UnixMilli()
		query.TimestampMs = &ms
	}
	if err := f.output.validate(); err != nil {
		return query, nil, err
	}
	selected, err = source.ParsePartition(arg)
	return query, selected, err
}

// location is an answer and its partition, in the output.
type location struct {
	Topic     string    `json:"topic"`
	TopicID   *api.UUID `json:"topicId,omitempty"`
	Partition int32     `json:"partition"`
	// LeaderEpoch is the epoch for which the segment holds the offset.
	LeaderEpoch *int32 `json:"leaderEpoch,omitempty"`
	// Segment is nil when there is none; reason and message then say why.
	Segment *rest.Segment `json:"segment"`
	Reason  locate.Reason `json:"reason,omitempty"`
	Message string        `json:"message,omitempty"`
}

func find(cmd *cobra.Command, f locateFlags, arg string, query locate.Query, selected source.Selector) error {
	partitions, err := f.source.collect(cmd, selected)
	if err != nil {
		return err
	}
	rows := answersOf(partitions, query)
	if len(partitions) == 0 {
		of := selected[0]
		for _, a := range locate.Find(source.Partition{}, query) {
			rows = append(rows, location{Topic: of.Topic, Partition: *of.Partition, Reason: a.Reason, Message: a.Message})
		}
	}
	if err := printRows(cmd.OutOrStdout(), f.output, locationColumns, rows); err != nil {
		return err
	}
	for _, row := range rows {
		if row.Segment != nil {
			return nil
		}
	}
	return fmt.Errorf("%s: no segment found", arg)
}

func answersOf(partitions []source.Partition, query locate.Query) []location {
	rows := []location{}
	for _, p := range partitions {
		for _, a := range locate.Find(p, query) {
			row := location{Topic: p.Topic, TopicID: &p.TopicID, Partition: p.Partition, LeaderEpoch: a.Epoch, Reason: a.Reason, Message: a.Message}
			if a.Segment != nil {
				shape := rest.NewSegment(*a.Segment)
				row.Segment = &shape
			}
			rows = append(rows, row)
		}
	}
	return rows
}

var locationColumns = []column[location]{
	{name: "TOPIC", text: func(r location) string { return r.Topic }},
	{name: "TOPIC ID", text: func(r location) string { return orDash(r.TopicID) }},
	{name: "PARTITION", text: func(r location) string { return fmt.Sprint(r.Partition) }},
	{name: "EPOCH", text: func(r location) string { return orDash(r.LeaderEpoch) }},
	{name: "SEGMENT ID", text: ofSegment(func(s rest.Segment) string { return s.SegmentID.String() })},
	{name: "OFFSETS", text: ofSegment(func(s rest.Segment) string { return fmt.Sprintf("%d-%d", s.StartOffset, s.EndOffset) })},
	{name: "WHY NOT", text: whyNotText},
	{name: "EPOCHS", wide: true, text: ofSegment(func(s rest.Segment) string { return epochsText(s.SegmentLeaderEpochs) })},
	{name: "BYTES", wide: true, text: ofSegment(func(s rest.Segment) string { return fmt.Sprint(s.SegmentSizeInBytes) })},
	{name: "MAX TIMESTAMP", wide: true, text: ofSegment(func(s rest.Segment) string { return moment(s.MaxTimestampMs) })},
	{name: "BROKER", wide: true, text: ofSegment(func(s rest.Segment) string { return fmt.Sprint(s.BrokerID) })},
}

func ofSegment(text func(rest.Segment) string) func(location) string {
	return func(r location) string {
		if r.Segment == nil {
			return "-"
		}
		return text(*r.Segment)
	}
}

func whyNotText(r location) string {
	if r.Segment != nil {
		return "-"
	}
	return fmt.Sprintf("%s: %s", r.Reason, r.Message)
}
