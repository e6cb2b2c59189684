package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/views/check"
)

type verifyFlags struct {
	data       string
	partitions int32
	olderThan  time.Duration
	output     string
}

func newVerify() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check the local stores of a stopped processor or server",
		Long: lines("Read every store under --data (processor/N and views/N), write nothing there, and print what",
			"is wrong, one finding a line. Requires that no process uses the stores. The kinds:",
			"",
			"  row        a row that doesn't decode, or that no event makes",
			"  misplaced  a row of another metadata partition",
			"  index      an answer of the index that differs from a plain scan of the rows",
			"  gap        offsets of an epoch that no finished segment holds, between its first and last",
			"  overlap    offsets of an epoch that two finished segments hold; copies that were tried",
			"             again leave such",
			"  orphan     a segment whose remote objects may be left for good",
			"",
			"The first three are faults of the store, or of rlmm: delete the store, it is built again.",
			"The others are what the metadata topic says.",
			"",
			"Exit codes: 0 nothing found, 3 findings, 1 a store can't be read or is in use, 2 usage."),
		Example: "  rlmm verify --data /var/lib/rlmm -o json",
		Args:    usage(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return verify(cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.data, "data", defaultData, "folder of the local state")
	flags.Int32Var(&f.partitions, "partitions", 50, "partition count of the metadata topic")
	flags.DurationVar(&f.olderThan, "older-than", 24*time.Hour, "how long ago a copy or deletion that didn't end must have begun to be an orphan")
	flags.StringVarP(&f.output, "output", "o", "table", "form of the findings: table, json (an object a line)")
	return cmd
}

func (f verifyFlags) validate() error {
	switch {
	case f.partitions < 1:
		return &usageError{fmt.Errorf("--partitions: must be positive: %d", f.partitions)}
	case f.olderThan < 0:
		return &usageError{fmt.Errorf("--older-than: must not be negative: %s", f.olderThan)}
	case f.output != "table" && f.output != "json":
		return &usageError{fmt.Errorf("--output: %q is neither table nor json", f.output)}
	}
	return nil
}

func verify(cmd *cobra.Command, f verifyFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	stores, err := f.stores()
	if err != nil {
		return err
	}
	found, total, err := f.check(cmd.Context(), stores)
	if printed := f.print(cmd.OutOrStdout(), found); printed != nil {
		return printed
	}
	summary := fmt.Sprintf("%d stores, %s", len(stores), total.Summary())
	switch {
	case err != nil:
		return err
	case len(found) > 0:
		return &findingsError{summary}
	}
	fmt.Fprintln(cmd.ErrOrStderr(), summary)
	return nil
}

// findingsError says that a check went well and found something.
type findingsError struct{ summary string }

func (e *findingsError) Error() string { return e.summary }

// storeFinding is a finding and where it was made.
type storeFinding struct {
	store string
	check.Finding
}

// stores lists the stores of the data folder.
func (f verifyFlags) stores() ([]store.Local, error) {
	all, err := store.Locals(f.data)
	if err != nil {
		return nil, err
	}
	if last := all[len(all)-1]; last.Partition >= f.partitions {
		return nil, &usageError{fmt.Errorf("--partitions: %d, but there is a store %s", f.partitions, last.Name)}
	}
	return all, nil
}

// check goes through all stores but for those that can't be read, which the error names. It
// ends at one that is in use: the others will be too.
func (f verifyFlags) check(ctx context.Context, stores []store.Local) (found []storeFinding, total check.Report, err error) {
	var errs []error
	for _, s := range stores {
		if err := ctx.Err(); err != nil {
			return found, total, err
		}
		report, err := f.checkStore(s)
		if _, inUse := errors.AsType[*store.LocalInUseError](err); inUse {
			return found, total, err
		}
		errs = append(errs, err)
		for _, finding := range report.Findings {
			found = append(found, storeFinding{s.Name, finding})
		}
		total.Add(report)
	}
	return found, total, errors.Join(errs...)
}

func (f verifyFlags) checkStore(s store.Local) (check.Report, error) {
	rows, _, err := s.Dump()
	if err != nil {
		return check.Report{}, err
	}
	return check.Rows(check.InOrder(rows), check.Options{
		MetadataPartition: s.Partition, MetadataPartitions: f.partitions, OrphanAge: f.olderThan,
	})
}

func (f verifyFlags) print(out io.Writer, found []storeFinding) error {
	if f.output == "json" {
		enc := json.NewEncoder(out)
		for _, finding := range found {
			if err := enc.Encode(finding); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, finding := range found {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", finding.Kind, finding.store, finding.Partition.Topic, finding.Key, finding.Message)
	}
	return w.Flush()
}

// MarshalJSON writes the names that the HTTP API uses.
func (f storeFinding) MarshalJSON() ([]byte, error) {
	shape := struct {
		Kind        check.Kind `json:"kind"`
		Store       string     `json:"store"`
		Key         string     `json:"key"`
		TopicID     *api.UUID  `json:"topicId,omitempty"`
		Topic       string     `json:"topic,omitempty"`
		Partition   *int32     `json:"partition,omitempty"`
		SegmentIDs  []api.UUID `json:"segmentIds,omitempty"`
		LeaderEpoch *int32     `json:"leaderEpoch,omitempty"`
		FirstOffset *int64     `json:"firstOffset,omitempty"`
		LastOffset  *int64     `json:"lastOffset,omitempty"`
		Message     string     `json:"message"`
	}{
		Kind: f.Kind, Store: f.store, Key: f.Key, Topic: f.Partition.Topic, SegmentIDs: f.Segments, Message: f.Message,
	}
	if tip := f.Partition; tip != (api.TopicIdPartition{}) {
		shape.TopicID, shape.Partition = &tip.TopicID, &tip.Partition
	}
	if s := f.Span; s != nil {
		shape.LeaderEpoch, shape.FirstOffset, shape.LastOffset = &s.LeaderEpoch, &s.First, &s.Last
	}
	return json.Marshal(shape)
}
