package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/table"
)

func newReset() *cobra.Command {
	var f clusterFlags
	var execute bool
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Delete the fleet's table and group, so that it starts anew",
		Long: lines("Delete the table topic and the consumer group. The fleet then folds the metadata topic",
			"again from its beginning. The metadata topic itself isn't touched.",
			"",
			"Needed after the metadata topic was deleted and created again, or truncated: what the",
			"table says is of a topic that is no more. Stop every processor first, and start them",
			"with --create-topics. Without --execute it only says what it would do."),
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return reset(cmd, f, execute)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&execute, "execute", false, "do it")
	return cmd
}

func reset(cmd *cobra.Command, f clusterFlags, execute bool) error {
	settings, err := f.settings()
	if err != nil {
		return err
	}
	rows := table.TopicOf(f.group)
	if !execute {
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "would delete the topic %s and the group %s; add --execute to do it\n", rows, f.group)
		return err
	}
	cluster, err := kafka.Connect(cmd.Context(), settings)
	if err != nil {
		return err
	}
	defer cluster.Close() //nolint:errcheck // nothing is lost
	if err := cluster.DeleteGroup(cmd.Context(), f.group); err != nil {
		return err
	}
	if err := cluster.DeleteTopic(cmd.Context(), rows); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "deleted the topic %s and the group %s\n", rows, f.group)
	return err
}
