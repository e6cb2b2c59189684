package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/internal/source"
)

// sourceFlags say where a command that reads gets the state from.
type sourceFlags struct {
	cluster         clusterFlags
	server, offline string
}

// sourceHelp is what the help of each command that reads ends with.
const sourceHelp = `
The state comes from one of three places:
  --bootstrap HOST:PORT  the metadata topic itself, folded in memory up to its end as of
                         now. Needs no fleet and is never behind, but reads all of it
  --server URL           a running server (rlmm serve, rlmm dev): at once, as far as it has
                         applied, and only what is assigned there
  --offline DIR          the data folder of a stopped process; nothing is written there

A topic that was deleted and created again has two ids under one name: both are shown.`

func (f *sourceFlags) add(cmd *cobra.Command) {
	f.cluster.add(cmd)
	cmd.Flags().StringVar(&f.server, "server", "", "URL of a running server, http://"+defaultHTTP+" for one")
	cmd.Flags().StringVar(&f.offline, "offline", "", "data folder of a stopped processor or server")
	cmd.ValidArgsFunction = f.complete
}

// open opens the chosen source.
func (f *sourceFlags) open(cmd *cobra.Command) (source.Source, error) {
	if err := atMostOne(cmd, "bootstrap", "server", "offline"); err != nil {
		return nil, err
	}
	switch {
	case f.server != "":
		client, err := askAt(cmd, f.server)
		return source.Server{Client: client}, err
	case f.offline != "":
		return source.OpenFolder(f.offline, progress(cmd.ErrOrStderr(), "stores"))
	case len(f.cluster.bootstrap) == 0:
		return nil, &usageError{errors.New("one of --bootstrap, --server and --offline is needed")}
	}
	return f.topic(cmd)
}

// atMostOne refuses a command line with two of the flags.
func atMostOne(cmd *cobra.Command, flags ...string) error {
	var given []string
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return &usageError{fmt.Errorf("%s don't go together", strings.Join(given, " and "))}
	}
	return nil
}

// topic opens the metadata topic.
func (f *sourceFlags) topic(cmd *cobra.Command) (*source.Topic, error) {
	settings, err := f.cluster.settings()
	if err != nil {
		return nil, err
	}
	return source.OpenTopic(cmd.Context(), settings, f.cluster.topic, progress(cmd.ErrOrStderr(), "records"))
}

// collect reads the partitions that are selected.
func (f *sourceFlags) collect(cmd *cobra.Command, selected source.Selector) ([]source.Partition, error) {
	from, err := f.open(cmd)
	if err != nil {
		return nil, err
	}
	defer from.Close() //nolint:errcheck // nothing is lost
	return source.Collect(cmd.Context(), from, selected)
}

// collectTopic is collect for the arguments of a command that takes TOPIC or TOPIC-P, or
// nothing for all.
func (f *sourceFlags) collectTopic(cmd *cobra.Command, args []string) ([]source.Partition, error) {
	var selected source.Selector
	if len(args) > 0 {
		var err error
		if selected, err = source.ParseTopic(args[0]); err != nil {
			return nil, &usageError{err}
		}
	}
	found, err := f.collect(cmd, selected)
	if err == nil && len(args) > 0 && len(found) == 0 {
		err = fmt.Errorf("nothing is known of %s", args[0])
	}
	return found, err
}

// printFound prints what rowsOf makes of the partitions that collectTopic reads.
func printFound[T any](cmd *cobra.Command, args []string, f *sourceFlags, o outputFlags, columns []column[T], rowsOf func([]source.Partition) []T) error {
	found, err := f.collectTopic(cmd, args)
	if err != nil {
		return err
	}
	return printRows(cmd.OutOrStdout(), o, columns, rowsOf(found))
}

// completionTime bounds how long a shell waits for names.
const completionTime = 3 * time.Second

// complete completes a topic's name from the source that the command line names so far.
// From the topic itself it would take too long.
func (f *sourceFlags) complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || f.server == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	client, err := askAt(cmd, f.server)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	found, err := client.Partitions(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, p := range found {
		names = append(names, fmt.Sprintf("%s-%d", p.Topic, p.Partition))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
