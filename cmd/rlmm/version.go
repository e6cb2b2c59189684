package main

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version and commit are stamped by the build; else the Go toolchain's own record is used.
var version, commit string

type buildInfo struct{ version, commit, goVersion string }

func buildVersion() buildInfo {
	b := buildInfo{version: version, commit: commit}
	info, ok := debug.ReadBuildInfo()
	if ok {
		b.goVersion = info.GoVersion
		b.version = cmp.Or(b.version, info.Main.Version)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.commit = cmp.Or(b.commit, s.Value)
			}
		}
	}
	b.version, b.commit = cmp.Or(b.version, "unknown"), cmp.Or(b.commit, "unknown")
	return b
}

func (b buildInfo) String() string {
	return fmt.Sprintf("rlmm %s (commit %s, %s)", b.version, b.commit, b.goVersion)
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), buildVersion())
			return err
		},
	}
}
