package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/internal/source"
)

// segmentFilter chooses among the segments of a list.
type segmentFilter struct {
	epoch    int32
	hasEpoch bool
	state    string
	from, to int64
}

func newSegments() *cobra.Command {
	var f sourceFlags
	var o outputFlags
	var filter segmentFilter
	cmd := &cobra.Command{
		Use:   "segments TOPIC[-P]",
		Short: "List the segments of a topic or a partition",
		Long: lines("List the segments that aren't deleted, by partition, start offset and id. --from and --to",
			"keep the segments that hold an offset between them, both inclusive.", sourceHelp),
		Example: lines("  rlmm segments orders-0 --bootstrap localhost:9092 --from 1000 --to 1999",
			"  rlmm segments orders --server http://127.0.0.1:8083 --state COPY_SEGMENT_STARTED -o json"),
		Args: usage(exactly(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			filter.hasEpoch = cmd.Flags().Changed("epoch")
			if err := errors.Join(o.validate(), filter.validate()); err != nil {
				return err
			}
			return printFound(cmd, args, &f, o, segmentColumns, filter.segmentsOf)
		},
	}
	f.add(cmd)
	o.add(cmd)
	filter.add(cmd)
	return cmd
}

func (f *segmentFilter) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Int32Var(&f.epoch, "epoch", 0, "only segments that carry the leader epoch")
	flags.StringVar(&f.state, "state", "", "only segments in the state, COPY_SEGMENT_FINISHED for one")
	flags.Int64Var(&f.from, "from", 0, "only segments that end at the offset or behind it")
	flags.Int64Var(&f.to, "to", 1<<63-1, "only segments that begin at the offset or before it")
	completeWith(cmd, "state", api.CopySegmentStarted.String(), api.CopySegmentFinished.String(), api.DeleteSegmentStarted.String())
}

func (f segmentFilter) validate() error {
	var state api.RemoteLogSegmentState
	if f.state != "" {
		if err := state.UnmarshalText([]byte(f.state)); err != nil {
			return &usageError{fmt.Errorf("--state: %w", err)}
		}
	}
	if f.from > f.to {
		return &usageError{fmt.Errorf("--from %d is above --to %d", f.from, f.to)}
	}
	return nil
}

func (f segmentFilter) matches(m api.RemoteLogSegmentMetadata) bool {
	_, carries := m.LeaderEpochs.Find(f.epoch)
	return (carries || !f.hasEpoch) && (f.state == "" || f.state == m.State.String()) && m.EndOffset >= f.from && m.StartOffset <= f.to
}

func (f segmentFilter) segmentsOf(found []source.Partition) []rest.Segment {
	rows := []rest.Segment{}
	for _, p := range found {
		for segment := range p.Snapshot().ListRemoteLogSegments().All {
			if m := segment.Metadata(); f.matches(m) {
				rows = append(rows, rest.NewSegment(m))
			}
		}
	}
	return rows
}

var segmentColumns = []column[rest.Segment]{
	{name: "TOPIC", text: func(s rest.Segment) string { return s.Topic }},
	{name: "TOPIC ID", text: func(s rest.Segment) string { return s.TopicID.String() }},
	{name: "PARTITION", text: func(s rest.Segment) string { return fmt.Sprint(s.Partition) }},
	{name: "START OFFSET", text: func(s rest.Segment) string { return fmt.Sprint(s.StartOffset) }},
	{name: "END OFFSET", text: func(s rest.Segment) string { return fmt.Sprint(s.EndOffset) }},
	{name: "EPOCHS", text: func(s rest.Segment) string { return epochsText(s.SegmentLeaderEpochs) }},
	{name: "BYTES", text: func(s rest.Segment) string { return fmt.Sprint(s.SegmentSizeInBytes) }},
	{name: "STATE", text: func(s rest.Segment) string { return s.State.String() }},
	{name: "SEGMENT ID", text: func(s rest.Segment) string { return s.SegmentID.String() }},
	{name: "BROKER", wide: true, text: func(s rest.Segment) string { return fmt.Sprint(s.BrokerID) }},
	{name: "MAX TIMESTAMP", wide: true, text: func(s rest.Segment) string { return moment(s.MaxTimestampMs) }},
	{name: "EVENT TIME", wide: true, text: func(s rest.Segment) string { return moment(s.EventTimestampMs) }},
	{name: "TXN INDEX", wide: true, text: txnIndexText},
	{name: "CUSTOM METADATA", wide: true, text: customText},
}

// epochsText is 0@0,1@50: each epoch and where it begins.
func epochsText(epochs []rest.LeaderEpoch) string {
	var all []string
	for _, e := range epochs {
		all = append(all, fmt.Sprintf("%d@%d", e.LeaderEpoch, e.Offset))
	}
	return strings.Join(all, ",")
}

func txnIndexText(s rest.Segment) string {
	if s.TxnIndexEmpty {
		return "none"
	}
	return "possible"
}

func customText(s rest.Segment) string {
	if s.CustomMetadata == nil {
		return "-"
	}
	return fmt.Sprintf("%q", base64.StdEncoding.EncodeToString(s.CustomMetadata))
}
