package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/internal/recording"
)

func newLoad() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "load FILE",
		Short: "Publish a recording to the metadata topic",
		Long: lines("Publish a recording to the metadata topic: JSON lines with partition, value (hex, or",
			"null) and, if the record had one, key (hex). Each record goes to its own partition with",
			"its own key. FILE - is standard input.",
			"",
			"The topic must exist. A recording is of one topic's whole history: to load it twice, or",
			"into a topic in use, gives events that the fleet rejects."),
		Example: "  rlmm load recording.jsonl --bootstrap localhost:9092",
		Args:    usage(exactly(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return load(cmd, f, args[0])
		},
	}
	f.add(cmd)
	return cmd
}

func load(cmd *cobra.Command, f clusterFlags, file string) error {
	settings, err := f.settings()
	if err != nil {
		return err
	}
	in, err := openInput(cmd, file)
	if err != nil {
		return err
	}
	defer in.Close()
	n, err := recording.Publish(cmd.Context(), settings, f.topic, recording.Read(in))
	if err != nil {
		return fmt.Errorf("%s: after %d published records: %w", file, n, err)
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "published %d records to %s\n", n, f.topic)
	return err
}

// openInput opens a file, or standard input for "-".
func openInput(cmd *cobra.Command, file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	return os.Open(file)
}
