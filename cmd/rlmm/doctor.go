package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/internal/doctor"
	"github.com/tieredlog/rlmm/internal/kafka"
)

type doctorFlags struct {
	cluster       clusterFlags
	output        outputFlags
	partitions    int32
	replication   int16
	since, settle time.Duration
}

func newDoctor() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the cluster, the topics' settings, the fleet and this client's rights",
		Long: lines("Ask the cluster, change nothing, and print what is wrong and what to do about it. The checks:",
			"", doctorChecks(), "",
			"The rights are those of the client that asks: run it as the processors do. It can't see",
			"whether the table's transactional ids may be written, nor the settings of the brokers' own",
			"metadata managers: name their partition count with --partitions, or with --config",
			"server.properties.",
			"",
			"Exit codes: 0 all is well, 3 findings, 1 the cluster can't be asked, 2 usage."),
		Example: lines("  rlmm doctor --bootstrap localhost:9092", "  rlmm doctor --config server.properties -o json"),
		Args:    usage(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return examine(cmd, f) },
	}
	f.cluster.add(cmd)
	f.output.add(cmd)
	flags := cmd.Flags()
	flags.Int32Var(&f.partitions, "partitions", 0, "partition count that the brokers are configured with; 0 isn't known")
	flags.Int16Var(&f.replication, "replication-factor", 3, "least replication factor, on a cluster with so many brokers")
	flags.DurationVar(&f.since, "since", 24*time.Hour, "how far back rejected events are looked at")
	flags.DurationVar(&f.settle, "settle", 10*time.Second, "how long a lag may take to go away")
	return cmd
}

// doctorChecks lists the checks for the help.
func doctorChecks() string {
	var list []string
	for _, c := range doctor.Checks {
		list = append(list, fmt.Sprintf("  %-18s %s", c.Name, c.Text))
	}
	return strings.Join(list, "\n")
}

func (f doctorFlags) validate() error {
	switch {
	case f.partitions < 0:
		return &usageError{fmt.Errorf("--partitions: must not be negative: %d", f.partitions)}
	case f.replication < 1:
		return &usageError{fmt.Errorf("--replication-factor: must be positive: %d", f.replication)}
	case f.since < 0:
		return &usageError{fmt.Errorf("--since: must not be negative: %s", f.since)}
	case f.settle < 0:
		return &usageError{fmt.Errorf("--settle: must not be negative: %s", f.settle)}
	}
	return f.output.validate()
}

func examine(cmd *cobra.Command, f doctorFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	settings, err := f.cluster.settings()
	if err != nil {
		return err
	}
	cluster, err := kafka.Connect(cmd.Context(), settings)
	if err != nil {
		return err
	}
	defer cluster.Close() //nolint:errcheck // nothing is lost
	want := doctor.Want{Topic: f.cluster.topic, Group: f.cluster.group, Partitions: f.partitions, Replication: int(f.replication)}
	facts, err := doctor.Look(cmd.Context(), cluster, want, doctor.Options{Since: time.Now().Add(-f.since), Settle: f.settle})
	if err != nil {
		return err
	}
	found := doctor.Judge(facts, want)
	if len(found) == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d checks, all is well\n", len(doctor.Checks))
		return nil
	}
	if err := printRows(cmd.OutOrStdout(), f.output, doctorColumns, found); err != nil {
		return err
	}
	return &findingsError{fmt.Sprintf("%d checks, %d findings", len(doctor.Checks), len(found))}
}

var doctorColumns = []column[doctor.Finding]{
	{name: "CHECK", text: func(f doctor.Finding) string { return f.Check }},
	{name: "SEVERITY", text: func(f doctor.Finding) string { return string(f.Severity) }},
	{name: "WHAT", text: func(f doctor.Finding) string { return f.What }},
	{name: "REMEDY", text: func(f doctor.Finding) string { return f.Remedy }},
}
