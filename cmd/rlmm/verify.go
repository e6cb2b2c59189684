package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/internal/source"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/views/check"
)

type verifyFlags struct {
	source     sourceFlags
	output     outputFlags
	against    againstFlag
	partitions int32
	olderThan  time.Duration
}

func newVerify() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check the state for what is wrong",
		Long: lines("Check all of the state, and print what is wrong, a finding a line. Faults, of a store or of",
			"rlmm; a local store can be deleted and is built again:",
			"",
			"  row             a row that doesn't decode, or that no event makes",
			"  misplaced       a row of another metadata partition",
			"  index           an answer of the index that differs from a plain scan of the rows",
			"  counter         a total that the server tells and its rows don't come to",
			"",
			"What the metadata topic says, for you to judge:",
			"",
			"  gap             offsets of an epoch that no finished segment holds, between its first and last",
			"  overlap         offsets of an epoch that two finished segments hold; copies that were tried",
			"                  again leave such",
			"  epoch_order     epochs that don't ascend with the offsets: lineages that diverged",
			"  orphan          a segment whose remote objects may be left for good, see rlmm orphans",
			"  missing_object  with --against: a finished segment without an object",
			"  unknown_object  with --against: an object of a segment that no event tells of",
			"  deleted_object  with --against: an object of a segment that is deleted",
			"", againstHelp,
			"",
			"With --offline every store of the folder is checked on its own.", sourceHelp,
			"",
			"Exit codes: 0 nothing found, 3 findings, 1 something can't be read, 2 usage, 4 not ready."),
		Example: lines("  rlmm verify --bootstrap localhost:9092", "  rlmm verify --offline /var/lib/rlmm -o json",
			"  aws s3 ls --recursive s3://bucket/tiered >objects.txt; rlmm verify --bootstrap localhost:9092 --against objects.txt"),
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return verify(cmd, f) },
	}
	f.source.add(cmd)
	f.output.add(cmd)
	f.against.add(cmd)
	flags := cmd.Flags()
	flags.Int32Var(&f.partitions, "partitions", 50, "partition count of the metadata topic; --bootstrap asks for it")
	flags.DurationVar(&f.olderThan, "older-than", 24*time.Hour, "how long ago a copy or deletion that didn't end must have begun, and a segment without objects have changed")
	return cmd
}

func (f verifyFlags) validate() error {
	switch {
	case f.partitions < 1:
		return &usageError{fmt.Errorf("--partitions: must be positive: %d", f.partitions)}
	case f.olderThan < 0:
		return &usageError{fmt.Errorf("--older-than: must not be negative: %s", f.olderThan)}
	}
	return f.output.validate()
}

func verify(cmd *cobra.Command, f verifyFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	from, err := f.source.open(cmd)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // nothing is lost
	objects, err := f.against.read(cmd, from, f.partitions, f.olderThan)
	if err != nil {
		return err
	}
	v := verifier{flags: f, from: from, objects: objects}
	err = v.verify(cmd.Context())
	if err != nil && len(v.found) == 0 {
		return err
	}
	if printed := printRows(cmd.OutOrStdout(), f.output, v.columns(), v.found); printed != nil {
		return printed
	}
	switch {
	case err != nil:
		return err
	case len(v.found) > 0:
		return &findingsError{v.summary()}
	}
	fmt.Fprintln(cmd.ErrOrStderr(), v.summary())
	return nil
}

// findingsError says that a check went well and found something.
type findingsError struct{ summary string }

func (e *findingsError) Error() string { return e.summary }

// verifier checks a source.
type verifier struct {
	flags   verifyFlags
	from    source.Source
	objects *check.Objects // nil without a listing

	stores int // of a folder
	total  check.Report
	found  []storeFinding
}

// verify keeps what it finds also when it fails.
func (v *verifier) verify(ctx context.Context) error {
	switch from := v.from.(type) {
	case *source.Topic:
		v.flags.partitions = from.Partitions
	case source.Server:
		return v.server(ctx, from)
	}
	if v.flags.source.offline == "" {
		return v.rows(ctx, v.both)
	}
	err := v.folder(ctx)
	if err == nil && v.objects != nil {
		err = v.rows(ctx, v.compareObjects)
	}
	return err
}

// rows hands each partition to the function, and ends with what no row told of.
func (v *verifier) rows(ctx context.Context, take func(source.Partition)) error {
	for p, err := range source.Partitions(ctx, v.from, nil) {
		if err != nil {
			return err
		}
		take(p)
	}
	if v.objects != nil {
		v.keep(v.objects.Unknown()...)
	}
	return nil
}

func (v *verifier) both(p source.Partition) {
	v.take("", check.Partition(p.Rows, v.options(p.MetadataPartition)))
	v.compareObjects(p)
}

func (v *verifier) compareObjects(p source.Partition) {
	if v.objects != nil {
		v.keep(v.objects.Partition(p.TopicIdPartition, p.Rows)...)
	}
}

// server also compares what the server tells of partitions, where that was the same
// before and after its rows were read.
func (v *verifier) server(ctx context.Context, from source.Server) error {
	before, err := toldBy(ctx, from)
	if err != nil {
		return err
	}
	rows := map[api.TopicIdPartition]check.Counts{}
	if err := v.rows(ctx, func(p source.Partition) {
		v.both(p)
		if c := check.CountsOf(p.Rows); c.Segments > 0 {
			rows[p.TopicIdPartition] = c
		}
	}); err != nil {
		return err
	}
	after, err := from.Partitions(ctx)
	if err != nil {
		return err
	}
	for _, told := range after {
		tip, counts := counted(told)
		if before[tip] == counts {
			v.keep(check.CompareCounts(tip, counts, rows[tip])...)
		}
	}
	return nil
}

func toldBy(ctx context.Context, from source.Server) (map[api.TopicIdPartition]check.Counts, error) {
	told, err := from.Partitions(ctx)
	all := make(map[api.TopicIdPartition]check.Counts, len(told))
	for _, p := range told {
		tip, counts := counted(p)
		all[tip] = counts
	}
	return all, err
}

func counted(p rest.Partition) (api.TopicIdPartition, check.Counts) {
	tip := api.TopicIdPartition{TopicID: p.TopicID, Topic: p.Topic, Partition: p.Partition}
	return tip, check.Counts{Segments: p.Segments, Bytes: p.Bytes}
}

// folder checks all stores but for those that can't be read, which the error names. It ends
// at one that is in use: the others will be too.
func (v *verifier) folder(ctx context.Context) error {
	stores, err := store.Locals(v.flags.source.offline)
	if err != nil {
		return err
	}
	if last := stores[len(stores)-1]; last.Partition >= v.flags.partitions {
		return &usageError{fmt.Errorf("--partitions: %d, but there is a store %s", v.flags.partitions, last.Name)}
	}
	v.stores = len(stores)
	var errs []error
	for _, s := range stores {
		if err := ctx.Err(); err != nil {
			return err
		}
		report, err := v.store(s)
		if _, inUse := errors.AsType[*store.LocalInUseError](err); inUse {
			return err
		}
		errs = append(errs, err)
		v.take(s.Name, report)
	}
	return errors.Join(errs...)
}

func (v *verifier) store(s store.Local) (check.Report, error) {
	r, err := s.Read()
	if err != nil {
		return check.Report{}, err
	}
	defer r.Close() //nolint:errcheck // nothing is lost
	return check.Rows(r.Rows(), v.options(s.Partition))
}

func (v *verifier) options(metadataPartition int32) check.Options {
	return check.Options{MetadataPartition: metadataPartition, MetadataPartitions: v.flags.partitions, OrphanAge: v.flags.olderThan}
}

// take takes in the report of a store, or of a source without stores.
func (v *verifier) take(store string, r check.Report) {
	v.total.Add(r)
	for _, f := range r.Findings {
		v.found = append(v.found, storeFinding{store, f})
	}
}

func (v *verifier) keep(found ...check.Finding) { v.take("", check.Report{Findings: found}) }

func (v *verifier) summary() string {
	if v.stores > 0 {
		return fmt.Sprintf("%d stores, %s", v.stores, v.total.Summary())
	}
	return v.total.Summary()
}

// columns leaves out the store where there is none.
func (v *verifier) columns() []column[storeFinding] {
	columns := []column[storeFinding]{{name: "KIND", text: func(f storeFinding) string { return string(f.Kind) }}}
	if v.stores > 0 {
		columns = append(columns, column[storeFinding]{name: "STORE", text: func(f storeFinding) string { return f.store }})
	}
	return append(columns,
		column[storeFinding]{name: "TOPIC", text: func(f storeFinding) string { return f.Partition.Topic }},
		column[storeFinding]{name: "KEY", text: func(f storeFinding) string { return f.Key }},
		column[storeFinding]{name: "SEGMENT IDS", wide: true, text: func(f storeFinding) string { return idList(f.Segments) }},
		column[storeFinding]{name: "MESSAGE", text: func(f storeFinding) string { return f.Message }},
	)
}

func idList(ids []api.UUID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return strings.Join(texts, ",")
}

// storeFinding is a finding and where it was made.
type storeFinding struct {
	store string
	check.Finding
}

// MarshalJSON writes the names that the HTTP API uses.
func (f storeFinding) MarshalJSON() ([]byte, error) {
	shape := struct {
		Kind        check.Kind `json:"kind"`
		Store       string     `json:"store,omitempty"`
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
