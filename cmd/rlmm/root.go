package main

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "rlmm",
		Short: "Remote log metadata manager for Kafka's tiered storage (KIP-405)",
		Long: `rlmm keeps the metadata of Kafka's remote log segments: a fleet of processors folds
the topic __remote_log_metadata into a table, and servers answer from it.

Try it without a cluster: rlmm dev`,
		Version:           buildVersion().String(),
		Args:              usage(aVerb),
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return configure(cmd) },
		SilenceErrors:     true,
		SilenceUsage:      true,

		SuggestionsMinimumDistance: 2, // at most so many letters apart
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.PersistentFlags().BoolP("verbose", "v", false, "log at debug level")
	addConfigFlags(root.PersistentFlags())
	root.AddCommand(newDev(), newConfig(), newProcessor(), newServe(), newLoad(), newDecode(), newHealth(), newStatus(), newReset(), newVersion())
	root.AddCommand(newTopics(), newPartitions(), newSegments(), newSegment(), newLocate(), newEpochs(), newOrphans(),
		newDump(), newPartitionFor(), newExport(), newImport(),
		newDoctor(), newVerify(), newRepair())
	return root
}

// logger writes to the command's standard error.
func logger(cmd *cobra.Command) *slog.Logger {
	log, _ := leveledLogger(cmd)
	return log
}

// leveledLogger is logger with its level, which can be changed while the command runs.
func leveledLogger(cmd *cobra.Command) (*slog.Logger, *slog.LevelVar) {
	cfg := configOf(cmd)
	level := new(slog.LevelVar)
	if verbose, err := cmd.Flags().GetBool("verbose"); err == nil && verbose {
		level.Set(slog.LevelDebug)
	} else {
		level.Set(levels[cfg.Text("log.level")])
	}
	o := slog.HandlerOptions{Level: level}
	if cfg.Text("log.format") == "json" {
		return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), &o)), level
	}
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &o)), level
}

// levels are the values of log.level.
var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// aVerb tells of a verb that isn't there, and which one may be meant.
func aVerb(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q", args[0])
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
	}
	return fmt.Errorf("%w; rlmm --help lists them", err)
}

// exactly takes n arguments, and says which when there are others.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%d arguments in place of %d: rlmm %s", len(args), n, cmd.Use)
		}
		return nil
	}
}

// usage makes a wrong number of arguments a usage error.
func usage(args cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, a []string) error {
		if err := args(cmd, a); err != nil {
			return &usageError{err}
		}
		return nil
	}
}

// lines joins the lines of a help text.
func lines(l ...string) string { return strings.Join(l, "\n") }
