package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/internal/listing"
	"github.com/tieredlog/rlmm/internal/source"
	"github.com/tieredlog/rlmm/views/check"
)

// againstFlag is a listing of the remote storage's objects.
type againstFlag struct{ file string }

const againstHelp = `--against FILE compares with a list of the remote storage's objects, - is standard input. Make
the list first: an event comes before its object. Each line is a path, or as of aws s3 ls
--recursive, or CSV with quotes as of an S3 inventory. The segment's id is what the file's
name is up to its first dot, or ends with behind a dash, as with Kafka's LocalTieredStorage
and Aiven's plugin (START-ID.SUFFIX); or else the name of a folder. Other names are counted
only. It needs all metadata partitions.`

func (f *againstFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "against", "", "file with a list of the remote storage's objects to compare with")
}

// read returns the comparison with the listing, nil when none is named.
func (f againstFlag) read(cmd *cobra.Command, from source.Source, partitions int32, olderThan time.Duration) (*check.Objects, error) {
	if f.file == "" {
		return nil, nil
	}
	if err := coversAll(cmd.Context(), from, partitions); err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	in, err := openInput(cmd, f.file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	l, err := listing.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.file, err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d objects of %d segments; %d have no segment id in their name\n", f.file, l.Objects, len(l.Segments), l.Unnamed)
	return check.NewObjects(l.Segments, check.Options{OrphanAge: olderThan}), nil
}

// coversAll refuses a source that would make objects of other metadata partitions unknown.
func coversAll(ctx context.Context, from source.Source, partitions int32) error {
	if _, ok := from.(*source.Topic); ok {
		return nil
	}
	n, err := from.Covers(ctx)
	if err == nil && n < int(partitions) {
		err = fmt.Errorf("the source tells of %d metadata partitions, and there are %d (--partitions)", n, partitions)
	}
	return err
}
