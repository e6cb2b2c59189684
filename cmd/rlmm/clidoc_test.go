package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestCLIDocIsUpToDate(t *testing.T) {
	path, want := filepath.Join("..", "..", "docs", "cli.md"), cliDoc(newRoot())
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/cli.md, run with -update (-want +got):\n%s", diff)
	}
}

// The page must have what --help has: a flag that the generator lost would be in neither
// side of the comparison above.
func TestCLIDocHasEveryFlag(t *testing.T) {
	page := cliDoc(newRoot())
	for _, cmd := range documented(newRoot()) {
		_, section, found := strings.Cut(page, "\n"+heading(cmd)+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !found || !strings.Contains(section, cmd.NonInheritedFlags().FlagUsages()) {
			t.Errorf("%s: not with all its flags in the page", cmd.CommandPath())
		}
	}
}

const cliHead = `# Commands

Data goes to stdout, talk to stderr. Exit codes: 0, done; 1, a failure; 2, a command line or configuration that
can't be right; 3, a check found something; 4, a server that was asked isn't ready. Each setting among the flags
has a key in [the configuration](configuration.md) too.

This page is made from the commands: ` + "`go test ./cmd/rlmm -run TestCLIDoc -update`" + `.
`

// cliDoc is docs/cli.md.
func cliDoc(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(cliHead)
	for _, cmd := range documented(root) {
		writeCommand(&b, cmd)
	}
	return b.String()
}

// documented are a command and all below it that help shows, each before its own.
func documented(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			all = append(all, documented(c)...)
		}
	}
	return all
}

func heading(cmd *cobra.Command) string { return "## `" + cmd.CommandPath() + "`" }

func writeCommand(b *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(b, "\n%s\n\n%s.\n\n```\n%s\n```\n", heading(cmd), cmd.Short, cmd.UseLine())
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(b, "\nAlso: `%s`.\n", strings.Join(cmd.Aliases, "`, `"))
	}
	writeBlock(b, "", cmd.Long)
	writeBlock(b, "For example:\n\n", cmd.Example)
	writeBlock(b, "Flags:\n\n", cmd.NonInheritedFlags().FlagUsages())
	if cmd.HasParent() {
		b.WriteString("\nThe flags of `rlmm` hold here too.\n")
	}
}

// writeBlock writes a help text as it is on a terminal; an empty one not at all.
func writeBlock(b *strings.Builder, title, text string) {
	if text != "" {
		fmt.Fprintf(b, "\n%s```\n%s\n```\n", title, strings.TrimRight(text, "\n"))
	}
}
