package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
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

// localStore is the store of a metadata partition in the data folder.
type localStore struct {
	name      string // processor/7
	partition int32
}

// storeFinding is a finding and where it was made.
type storeFinding struct {
	store string
	check.Finding
}

// stores lists the stores, those that were moved aside left out.
func (f verifyFlags) stores() ([]localStore, error) {
	var all []localStore
	for _, part := range []string{"processor", "views"} {
		entries, err := os.ReadDir(dataDir(f.data, part))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if number, err := strconv.ParseUint(e.Name(), 10, 31); err == nil && e.IsDir() {
				all = append(all, localStore{path.Join(part, e.Name()), int32(number)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b localStore) int { return cmp.Compare(a.partition, b.partition) })
	switch n := len(all); {
	case n == 0:
		return nil, fmt.Errorf("no store in %s: there is neither processor/N nor views/N", f.data)
	case all[n-1].partition >= f.partitions:
		return nil, &usageError{fmt.Errorf("--partitions: %d, but there is a store %s", f.partitions, all[n-1].name)}
	}
	return all, nil
}

// check goes through all stores but for those that can't be read, which the error names. It
// ends at one that is in use: the others will be too.
func (f verifyFlags) check(ctx context.Context, stores []localStore) (found []storeFinding, total check.Report, err error) {
	var errs []error
	for _, s := range stores {
		if err := ctx.Err(); err != nil {
			return found, total, err
		}
		report, err := f.checkStore(s)
		if _, inUse := errors.AsType[*storeInUseError](err); inUse {
			return found, total, err
		}
		errs = append(errs, err)
		for _, finding := range report.Findings {
			found = append(found, storeFinding{s.name, finding})
		}
		total.Add(report)
	}
	return found, total, errors.Join(errs...)
}

func (f verifyFlags) checkStore(s localStore) (check.Report, error) {
	rows, _, err := store.Dump(dataDir(f.data, filepath.FromSlash(s.name)))
	switch {
	case errors.Is(err, syscall.EAGAIN): // the lock of its folder
		return check.Report{}, &storeInUseError{s.name, err}
	case err != nil:
		return check.Report{}, err
	}
	return check.Rows(check.InOrder(rows), check.Options{
		MetadataPartition: s.partition, MetadataPartitions: f.partitions, OrphanAge: f.olderThan,
	})
}

// storeInUseError is a store that a running process holds.
type storeInUseError struct {
	store string
	err   error
}

func (e *storeInUseError) Error() string {
	return fmt.Sprintf("the store %s is in use by a running process; stop it first: %v", e.store, e.err)
}

func (e *storeInUseError) Unwrap() error { return e.err }

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
