package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/internal/config"
)

func newConfig() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the effective configuration and where each value comes from",
		Long: lines("Print every setting with its effective value and its origin: --flag, the RLMM_* variable,",
			"file:line, or default. Secrets are hidden. Takes the flags of all commands, so that it shows",
			"what the same flags would mean there.",
			"",
			"Faults are told all at once, after what could be read; the exit code is then 2. It connects",
			"to nothing, but reads the certificates and logins that it would connect with."),
		Example: "  rlmm config --config rlmm.properties -o json",
		Args:    usage(cobra.NoArgs),
		// It reads the configuration itself, to show it in spite of its faults.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE:              func(cmd *cobra.Command, _ []string) error { return showConfig(cmd, output) },
	}
	for _, key := range config.Catalogue() {
		addConfigFlag(cmd, key)
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "form: table, json (an object a line)")
	return cmd
}

func addConfigFlag(cmd *cobra.Command, key config.Key) {
	if key.Flag == "" {
		return
	}
	shorthand := ""
	if key.Flag == "bootstrap" {
		shorthand = "b"
	}
	cmd.Flags().StringP(key.Flag, shorthand, "", key.Name)
	if key.Kind == config.Bool {
		cmd.Flags().Lookup(key.Flag).NoOptDefVal = "true"
	}
}

func showConfig(cmd *cobra.Command, output string) error {
	show := map[string]func(io.Writer, *config.Config) error{"table": printConfig, "json": encodeConfig}[output]
	if show == nil {
		return &usageError{fmt.Errorf("--output: %q is neither table nor json", output)}
	}
	cfg, err := loadConfig(cmd)
	if err := show(cmd.OutOrStdout(), cfg); err != nil {
		return err
	}
	_, unreachable := cfg.Kafka()
	_, unserved := cfg.HTTPServer()
	_, unasked := cfg.HTTPClient()
	if err := config.Join(err, unreachable, unserved, unasked); err != nil {
		return &usageError{err}
	}
	return nil
}

func printConfig(out io.Writer, cfg *config.Config) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KEY\tVALUE\tORIGIN")
	for _, s := range cfg.Settings() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.Value, s.Origin)
	}
	for _, s := range cfg.Unused() {
		fmt.Fprintf(w, "%s\t%s\t%s (not used)\n", s.Name, s.Value, s.Origin)
	}
	return w.Flush()
}

// configLine is a setting in JSON.
type configLine struct {
	Key    string       `json:"key"`
	Value  string       `json:"value"`
	Level  config.Level `json:"level"`
	Origin string       `json:"origin"`
	Group  config.Group `json:"group,omitempty"`
	Secret bool         `json:"secret,omitempty"`
	Unused bool         `json:"unused,omitempty"`
}

func encodeConfig(out io.Writer, cfg *config.Config) error {
	enc := json.NewEncoder(out)
	for _, s := range cfg.Settings() {
		if err := enc.Encode(configLine{s.Name, s.Value, s.Origin.Level, s.Origin.String(), s.Key.Group, s.Key.Kind == config.Secret, false}); err != nil {
			return err
		}
	}
	for _, s := range cfg.Unused() {
		if err := enc.Encode(configLine{Key: s.Name, Value: s.Value, Level: s.Origin.Level, Origin: s.Origin.String(), Unused: true}); err != nil {
			return err
		}
	}
	return nil
}
