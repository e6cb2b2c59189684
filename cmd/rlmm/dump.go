package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/source"
)

type dumpFlags struct {
	source     sourceFlags
	partitions []int32
	fromOffset int64
	since      string
	follow     bool
	of         string
}

func newDump() *cobra.Command {
	var f dumpFlags
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Print the events of the metadata topic as JSON lines",
		Long: lines("Print the events of the metadata topic as JSON lines, by metadata partition and offset: the",
			"shape of the HTTP API with kind, metadataPartition and offset, as rlmm decode gives it. A",
			"record that no processor takes has an error: one that can't be decoded, with its bytes in",
			"hex as value, and one on a metadata partition that isn't its own.",
			"",
			"It ends where the topic ended when it began; with --follow it goes on with what comes, in",
			"the order in which it comes, until Ctrl-C."),
		Example: lines("  rlmm dump --bootstrap localhost:9092 --partition 7 --from-offset 100",
			"  rlmm dump --bootstrap localhost:9092 --since 1h --of orders-0 --follow"),
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return dump(cmd, f) },
	}
	f.source.cluster.add(cmd)
	flags := cmd.Flags()
	flags.Int32SliceVar(&f.partitions, "partition", nil, "metadata partitions, all without it")
	flags.Int64Var(&f.fromOffset, "from-offset", 0, "begin at the offset of each metadata partition")
	flags.StringVar(&f.since, "since", "", "begin with records of this time or later: 2026-11-30T12:00:00Z, milliseconds since 1970, or how long ago, 90m")
	flags.StringVar(&f.of, "of", "", "only events of TOPIC or TOPIC-P; records that can't be decoded are left out then")
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on with what comes")
	return cmd
}

// dumper writes events.
type dumper struct {
	topic    *source.Topic
	selected source.Selector
	out      *bufio.Writer
	enc      *json.Encoder
}

func dump(cmd *cobra.Command, f dumpFlags) error {
	if err := atMostOne(cmd, "from-offset", "since"); err != nil {
		return err
	}
	since, selected, err := f.parse()
	if err != nil {
		return err
	}
	t, err := f.source.topic(cmd)
	if err != nil {
		return err
	}
	defer t.Close() //nolint:errcheck // nothing is lost
	spans, err := f.spans(cmd, t, since)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	d := dumper{t, selected, out, json.NewEncoder(out)}
	for e, err := range t.Events(cmd.Context(), spans) {
		if err == nil {
			err = d.write(e)
		}
		if err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil || !f.follow {
		return err
	}
	return d.follow(cmd, spans)
}

func (f dumpFlags) parse() (since time.Time, selected source.Selector, err error) {
	if f.fromOffset < 0 {
		return since, nil, &usageError{fmt.Errorf("--from-offset: must not be negative: %d", f.fromOffset)}
	}
	if f.since != "" {
		if since, err = parseTime(f.since, time.Now()); err != nil {
			return since, nil, &usageError{fmt.Errorf("--since: %w", err)}
		}
	}
	if f.of != "" {
		if selected, err = source.ParseTopic(f.of); err != nil {
			return since, nil, &usageError{fmt.Errorf("--of: %w", err)}
		}
	}
	return since, selected, nil
}

// parseTime reads a time in RFC 3339, in milliseconds since 1970, or as how long ago.
func parseTime(text string, now time.Time) (time.Time, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%.60q is neither a time in RFC 3339, nor milliseconds since 1970, nor a duration", text)
	}
	return at, nil
}

func (f dumpFlags) spans(cmd *cobra.Command, t *source.Topic, since time.Time) (map[int32]source.Span, error) {
	if f.since != "" {
		return t.Since(cmd.Context(), since, f.partitions...)
	}
	spans, err := t.Now(cmd.Context(), f.partitions...)
	for p, s := range spans {
		spans[p] = source.Span{From: min(max(s.From, f.fromOffset), s.End), End: s.End}
	}
	return spans, err
}

// follow writes each event at once.
func (d dumper) follow(cmd *cobra.Command, spans map[int32]source.Span) error {
	from := make(map[int32]int64, len(spans))
	for p, s := range spans {
		from[p] = s.End
	}
	return d.topic.Follow(cmd.Context(), d.topic.Name, from, func(r kafka.Record) error {
		if err := d.write(d.topic.Decode(r)); err != nil {
			return err
		}
		return d.out.Flush()
	})
}

func (d dumper) write(e source.Event) error {
	if len(d.selected) > 0 && (e.Metadata == nil || !d.selected.Matches(e.Metadata.Partition())) {
		return nil
	}
	return d.enc.Encode(eventShape(e))
}

// eventShape is the event as the HTTP API shows it.
func eventShape(e source.Event) rest.Event {
	shape := decodeValue(e.Partition, e.Offset, e.Value)
	shape.Err = e.Err
	return shape
}

// writeLines writes each value as a line of JSON.
func writeLines[T any](out io.Writer, values []T) error {
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return w.Flush()
}
