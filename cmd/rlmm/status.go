package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/internal/source"
	"github.com/tieredlog/rlmm/internal/table"
)

type statusFlags struct {
	cluster clusterFlags
	server  string
}

func newStatus() *cobra.Command {
	var f statusFlags
	var o outputFlags
	cmd := &cobra.Command{
		Use:     "status",
		Aliases: []string{"lag"},
		Short:   "Tell how far each metadata partition is applied",
		Long: lines("Print a line for each metadata partition and who consumes it: what is applied, where the",
			"metadata partition ends, and how far that is apart. It comes from one of two places:",
			"",
			"  --server URL           a running server or processor: its views, and its processor, with",
			"                         their states (RUNNING, PAUSED, RECOVERING, FAILED) and how stale",
			"                         they are",
			"  --bootstrap HOST:PORT  Kafka itself: how far the fleet is, by the table's last records. The",
			"                         state is RUNNING when nothing is left to apply, else RECOVERING",
			"",
			"Exit codes: 0 ready, 4 not ready: a server that says so, a fleet that has records left to",
			"apply. One at work is often a few behind: ask again. 1 failure, 2 usage."),
		Example: lines("  rlmm status --server http://127.0.0.1:8083 -o wide", "  rlmm lag --bootstrap localhost:9092"),
		Args:    usage(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return status(cmd, f, o) },
	}
	f.cluster.add(cmd)
	cmd.Flags().StringVar(&f.server, "server", "", "URL of a running server or processor, http://"+defaultHTTP+" for one")
	o.add(cmd)
	return cmd
}

// statusRow is a consumer of a metadata partition in the output.
type statusRow struct {
	MetadataPartition int32 `json:"metadataPartition"`
	// Consumer is views, processor, or fleet: all processors together.
	Consumer string    `json:"consumer"`
	State    api.State `json:"state"`
	Applied  int64     `json:"applied"`
	End      int64     `json:"end"`
	Lag      int64     `json:"lag"`
	// EndSeenMs is when End was; 0 is never.
	EndSeenMs int64 `json:"endSeenMs"`
	// What Kafka alone doesn't tell is left out.
	StalenessMs *int64 `json:"stalenessMs,omitempty"`
	Target      *int64 `json:"target,omitempty"`
	WorkerID    string `json:"worker_id,omitempty"`
	Trace       string `json:"trace,omitempty"`
}

var statusColumns = []column[statusRow]{
	{name: "PARTITION", text: func(r statusRow) string { return fmt.Sprint(r.MetadataPartition) }},
	{name: "CONSUMER", text: func(r statusRow) string { return r.Consumer }},
	{name: "STATE", text: func(r statusRow) string { return string(r.State) }},
	{name: "APPLIED", text: func(r statusRow) string { return fmt.Sprint(r.Applied) }},
	{name: "END", text: func(r statusRow) string { return fmt.Sprint(r.End) }},
	{name: "LAG", text: func(r statusRow) string { return fmt.Sprint(r.Lag) }},
	{name: "STALENESS", text: func(r statusRow) string { return staleness(r.StalenessMs) }},
	{name: "TARGET", wide: true, text: func(r statusRow) string { return orDash(r.Target) }},
	{name: "END SEEN", wide: true, text: func(r statusRow) string { return seen(r.EndSeenMs) }},
	{name: "WORKER", wide: true, text: func(r statusRow) string { return textOrDash(r.WorkerID) }},
	{name: "TRACE", wide: true, text: func(r statusRow) string { return textOrDash(firstLine(r.Trace)) }},
}

func staleness(ms *int64) string {
	if ms == nil {
		return "-"
	}
	return (time.Duration(*ms) * time.Millisecond).String()
}

func seen(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return moment(ms)
}

func textOrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// status prints the rows, also of what isn't ready.
func status(cmd *cobra.Command, f statusFlags, o outputFlags) error {
	if err := o.validate(); err != nil {
		return err
	}
	rows, notReady, err := f.rows(cmd)
	if err != nil {
		return err
	}
	if err := printRows(cmd.OutOrStdout(), o, statusColumns, rows); err != nil {
		return err
	}
	return notReady
}

func (f *statusFlags) rows(cmd *cobra.Command) (rows []statusRow, notReady, err error) {
	if err := atMostOne(cmd, "bootstrap", "server"); err != nil {
		return nil, nil, err
	}
	switch {
	case f.server != "":
		return f.ofServer(cmd)
	case len(f.cluster.bootstrap) == 0:
		return nil, nil, &usageError{errors.New("one of --bootstrap and --server is needed")}
	}
	return f.ofFleet(cmd.Context())
}

func (f *statusFlags) ofServer(cmd *cobra.Command) (rows []statusRow, notReady, err error) {
	client, err := askAt(cmd, f.server)
	if err != nil {
		return nil, nil, err
	}
	told, err := client.Status(cmd.Context())
	if err != nil {
		return nil, nil, err
	}
	tellTrace(cmd, "views", told.Views)
	tellTrace(cmd, "processor", told.Processor)
	for _, p := range told.MetadataPartitions() {
		rows = append(rows, rowsOf(p)...)
	}
	notReady, err = readiness(client.Ready(cmd.Context()))
	return rows, notReady, err
}

func tellTrace(cmd *cobra.Command, consumer string, group *rest.TaskGroup) {
	if group != nil && group.Trace != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s: %s\n", consumer, group.State, group.Trace)
	}
}

func rowsOf(p rest.MetadataPartition) []statusRow {
	var rows []statusRow
	if p.Views != nil {
		rows = append(rows, taskRow("views", p.Views))
	}
	if p.Processor != nil {
		rows = append(rows, taskRow("processor", p.Processor))
	}
	return rows
}

func taskRow(consumer string, t *rest.Task) statusRow {
	row := statusRow{
		MetadataPartition: t.ID, Consumer: consumer, State: t.State, Applied: t.Applied, End: t.End, Lag: t.Lag,
		EndSeenMs: t.EndSeenMs, StalenessMs: &t.StalenessMs, WorkerID: t.WorkerID, Trace: t.Trace,
	}
	if t.Target >= 0 {
		row.Target = &t.Target
	}
	return row
}

// readiness tells a server that isn't ready from one that doesn't answer. Of many reasons
// the first is enough: the rows show the rest.
func readiness(err error) (notReady, failed error) {
	if refusal, refused := errors.AsType[*rest.Error](err); refused {
		return fmt.Errorf("%w: %s", api.ErrNotReady, refusal.Message), nil
	}
	if !errors.Is(err, api.ErrNotReady) {
		return nil, err
	}
	return fmt.Errorf("%w: %s", api.ErrNotReady, firstLine(err.Error())), nil
}

func (f *statusFlags) ofFleet(ctx context.Context) (rows []statusRow, notReady, err error) {
	settings, err := f.cluster.settings()
	if err != nil {
		return nil, nil, err
	}
	topic, err := source.OpenTopic(ctx, settings, f.cluster.topic, nil)
	if err != nil {
		return nil, nil, err
	}
	defer topic.Close() //nolint:errcheck // nothing is lost
	fleet, err := topic.Fleet(ctx, table.TopicOf(f.cluster.group))
	for _, p := range fleet {
		rows = append(rows, fleetRow(p))
	}
	behind := slices.DeleteFunc(slices.Clone(fleet), func(p source.FleetPartition) bool { return !p.Behind })
	if len(behind) > 0 {
		notReady = fmt.Errorf("%w: the fleet has records left to apply on %d metadata partitions", api.ErrNotReady, len(behind))
	}
	return rows, notReady, err
}

func fleetRow(p source.FleetPartition) statusRow {
	row := statusRow{
		MetadataPartition: p.MetadataPartition, Consumer: "fleet", State: api.StateRunning,
		Applied: p.Applied, End: p.End, Lag: max(0, p.End-1-p.Applied), EndSeenMs: p.Seen.UnixMilli(),
	}
	if p.Behind {
		row.State = api.StateRecovering
	}
	return row
}
