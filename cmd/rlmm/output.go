package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// outputFlags say in what form a command writes its rows.
type outputFlags struct {
	form      string
	noHeaders bool
}

func (o *outputFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.form, "output", "o", "table", "form of the output: table, wide, json (an object a line)")
	cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "leave out the line of column names")
	completeWith(cmd, "output", "table", "wide", "json")
}

func (o outputFlags) validate() error {
	switch o.form {
	case "table", "wide", "json":
		return nil
	}
	return &usageError{fmt.Errorf("--output: %q is none of table, wide, json", o.form)}
}

// column is a column of a table.
type column[T any] struct {
	name string
	text func(T) string
	// wide columns are shown only when asked for.
	wide bool
}

// printRows writes the rows: as a table, or each as a line of JSON.
func printRows[T any](out io.Writer, o outputFlags, columns []column[T], rows []T) error {
	if o.form == "json" {
		enc := json.NewEncoder(out)
		for _, row := range rows {
			if err := enc.Encode(row); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !o.noHeaders {
		writeLine(w, o, columns, func(c column[T]) string { return c.name })
	}
	for _, row := range rows {
		writeLine(w, o, columns, func(c column[T]) string { return c.text(row) })
	}
	return w.Flush()
}

func writeLine[T any](w io.Writer, o outputFlags, columns []column[T], text func(column[T]) string) {
	var cells []string
	for _, c := range columns {
		if !c.wide || o.form == "wide" {
			cells = append(cells, text(c))
		}
	}
	fmt.Fprintln(w, strings.Join(cells, "\t"))
}

// orDash is for what isn't there.
func orDash[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// moment shows milliseconds since 1970; a negative one is unknown.
func moment(ms int64) string {
	if ms < 0 {
		return "-"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// completeWith completes a flag's values.
func completeWith(cmd *cobra.Command, flag string, values ...string) {
	// It fails only for a flag that isn't there.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
