package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

func newPartitionFor() *cobra.Command {
	var f sourceFlags
	var partitions int32
	cmd := &cobra.Command{
		Use:   "partition-for TOPICID:P",
		Short: "Print the metadata partition of a user partition",
		Long: lines("Print the metadata partition that carries the events of a user partition, as Kafka's",
			"RemoteLogMetadataTopicPartitioner has it. The topic's id is Kafka's base64 or a UUID; its",
			"name plays no part. The count of metadata partitions comes from --partitions, or with",
			"--bootstrap from the topic."),
		Example: lines("  rlmm partition-for UpZHhnEzQuGqT8T9QFvE9w:0 --partitions 50",
			"  rlmm partition-for UpZHhnEzQuGqT8T9QFvE9w:0 --bootstrap localhost:9092"),
		Args: usage(exactly(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			tip, err := parseTopicIDPartition(args[0])
			if err != nil {
				return &usageError{err}
			}
			count, err := countOf(cmd, f, partitions)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), codec.MetadataPartition(tip, count))
			return err
		},
	}
	f.cluster.add(cmd)
	cmd.Flags().Int32Var(&partitions, "partitions", 0, "partition count of the metadata topic")
	return cmd
}

func parseTopicIDPartition(text string) (api.TopicIdPartition, error) {
	id, number, found := strings.Cut(text, ":")
	if !found {
		return api.TopicIdPartition{}, fmt.Errorf("%.80q is not TOPICID:P", text)
	}
	topicID, err := api.ParseUUID(id)
	if err != nil {
		return api.TopicIdPartition{}, err
	}
	partition, err := strconv.ParseUint(number, 10, 31)
	if err != nil {
		return api.TopicIdPartition{}, fmt.Errorf("%.40q is not a partition", number)
	}
	tip := api.TopicIdPartition{TopicID: topicID, Partition: int32(partition)}
	return tip, tip.Validate()
}

func countOf(cmd *cobra.Command, f sourceFlags, partitions int32) (int32, error) {
	switch {
	case partitions > 0:
		return partitions, nil
	case cmd.Flags().Changed("partitions"):
		return 0, &usageError{fmt.Errorf("--partitions: must be positive: %d", partitions)}
	case len(f.cluster.bootstrap) == 0:
		return 0, &usageError{errors.New("--partitions or --bootstrap is needed")}
	}
	t, err := f.topic(cmd)
	if err != nil {
		return 0, err
	}
	return t.Partitions, t.Close()
}
