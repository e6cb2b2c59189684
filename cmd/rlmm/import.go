package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/recording"
	"github.com/tieredlog/rlmm/internal/source"
	"github.com/tieredlog/rlmm/internal/source/transfer"
)

type importFlags struct {
	cluster           clusterFlags
	execute, nonempty bool
}

func newImport() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Publish events that make an exported state again",
		Long: lines("Read an export (FILE - is standard input) and publish ordinary lifecycle events that make",
			"its state again, each on the metadata partition that Kafka's partitioner chooses. Without",
			"--execute nothing is published: the events are printed, as JSON lines with the metadata",
			"partition that they would be on.",
			"",
			"The topic must exist. One that ever held a record is refused unless --into-nonempty is",
			"given: events of what it already knows are rejected. When it is cut short, start anew with",
			"an empty topic."),
		Example: lines("  rlmm import state.jsonl --bootstrap other:9092", "  rlmm import state.jsonl --bootstrap other:9092 --execute"),
		Args:    usage(exactly(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return importState(cmd, f, args[0]) },
	}
	f.cluster.add(cmd)
	cmd.Flags().BoolVar(&f.execute, "execute", false, "do it")
	cmd.Flags().BoolVar(&f.nonempty, "into-nonempty", false, "publish to a topic that isn't empty")
	return cmd
}

func importState(cmd *cobra.Command, f importFlags, file string) error {
	settings, err := f.cluster.settings()
	if err != nil {
		return err
	}
	events, err := readPlan(cmd, file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	partitions, err := f.target(cmd.Context(), settings)
	if err != nil {
		return err
	}
	if !f.execute {
		if err := writeLines(cmd.OutOrStdout(), planShapes(events, partitions)); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "would publish %d events to %s; add --execute to do it\n", len(events), f.cluster.topic)
		return nil
	}
	told := progress(cmd.ErrOrStderr(), "events")
	n, err := recording.Publish(cmd.Context(), settings, f.cluster.topic, records(events, partitions, told))
	if err != nil {
		return fmt.Errorf("after %d published events: %w", n, err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "published %d events to %s\n", n, f.cluster.topic)
	return nil
}

func readPlan(cmd *cobra.Command, file string) ([]api.RemoteLogMetadata, error) {
	in, err := openInput(cmd, file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	rows, err := transfer.Read(in)
	if err != nil {
		return nil, err
	}
	return transfer.Plan(rows), nil
}

// target returns the partition count of the topic, once it may be published to.
func (f importFlags) target(ctx context.Context, settings kafka.Settings) (int32, error) {
	cluster, err := kafka.Connect(ctx, settings)
	if err != nil {
		return 0, err
	}
	defer cluster.Close() //nolint:errcheck // nothing is lost
	topic, err := cluster.Topic(ctx, f.cluster.topic)
	if err != nil {
		return 0, err
	}
	empty, err := cluster.IsEmpty(ctx, f.cluster.topic)
	if err == nil && !empty && !f.nonempty {
		err = fmt.Errorf("topic %s isn't empty; --into-nonempty publishes to it all the same", f.cluster.topic)
	}
	return topic.Partitions, err
}

func planShapes(events []api.RemoteLogMetadata, partitions int32) []rest.Event {
	shapes := make([]rest.Event, len(events))
	for i, e := range events {
		shapes[i] = rest.Event{MetadataPartition: codec.MetadataPartition(e.Partition(), partitions), Offset: -1, Metadata: e}
	}
	return shapes
}

// records encodes the events as they are published.
func records(events []api.RemoteLogMetadata, partitions int32, told source.Progress) iter.Seq2[recording.Event, error] {
	return func(yield func(recording.Event, error) bool) {
		for i, e := range events {
			value, err := codec.EncodeRecord(e)
			if err != nil {
				err = fmt.Errorf("event %d, of %s: %w", i+1, e.Partition(), err)
			}
			record := recording.Event{Partition: codec.MetadataPartition(e.Partition(), partitions), Value: value}
			if !yield(record, err) || err != nil {
				return
			}
			told(int64(i)+1, int64(len(events)))
		}
	}
}
