package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/internal/source/transfer"
)

func newExport() *cobra.Command {
	var f sourceFlags
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the state as JSON lines, to be imported elsewhere",
		Long: lines("Write the state as JSON lines: segments and the order in which their copies were finished,",
			"headless deletions, partitions' deletions, and of deleted segments what keeps an epoch's",
			"highest offset. There are no offsets of the metadata topic in it. The same state gives the",
			"same bytes; rlmm import makes it again on an empty topic.", sourceHelp,
			"",
			"For a whole copy stop the brokers' copying, or take --bootstrap: that is one moment of each",
			"metadata partition. --server covers only what is assigned there."),
		Example: "  rlmm export --bootstrap localhost:9092 >state.jsonl",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := f.collect(cmd, nil)
			if err != nil {
				return err
			}
			rows := transfer.Export(found)
			out := bufio.NewWriter(cmd.OutOrStdout())
			if err := transfer.Write(out, rows); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "exported %d rows of %d partitions\n", len(rows), len(found))
			return out.Flush()
		},
	}
	f.add(cmd)
	return cmd
}
