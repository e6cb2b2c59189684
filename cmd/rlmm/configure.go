package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tieredlog/rlmm/internal/config"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/processor"
	"github.com/tieredlog/rlmm/views"
)

// configKey is where a command's context has its configuration.
type configKey struct{}

// configOf returns the command's configuration: the defaults when it takes none.
func configOf(cmd *cobra.Command) *config.Config {
	if c, ok := cmd.Context().Value(configKey{}).(*config.Config); ok {
		return c
	}
	return new(config.Config)
}

func addConfigFlags(flags *pflag.FlagSet) {
	flags.String("config", "", "properties file, or a broker's server.properties (RLMM_CONFIG)")
	flags.String("command-config", "", "properties file of which only the connection is read, as with Kafka's tools")
}

// configure reads the configuration of a command that has a flag of the catalogue, and
// gives its flags what environment and file say. All faults are reported at once, those of
// the connection among them; on their own they wait until a command wants to connect.
func configure(cmd *cobra.Command) error {
	if _, takes := cmd.Annotations[takesSettings]; !takes && !takesConfig(cmd.Flags()) {
		return nil
	}
	cfg, err := loadConfig(cmd)
	if err != nil && cmd.Flags().Lookup("bootstrap") != nil {
		_, unreachable := cfg.Kafka()
		err = config.Join(err, unreachable)
	}
	if err != nil {
		return &usageError{err}
	}
	cmd.SetContext(context.WithValue(cmd.Context(), configKey{}, cfg))
	for _, s := range cfg.Unused() {
		logger(cmd).Info("a setting of Kafka's that has no meaning here", "key", s.Name, "origin", s.Origin.String())
	}
	return setFlags(cmd.Flags(), cfg)
}

// takesSettings is the annotation of a command that reads the configuration without a flag
// of the catalogue.
const takesSettings = "settings"

func takesConfig(flags *pflag.FlagSet) (takes bool) {
	flags.VisitAll(func(f *pflag.Flag) {
		_, ok := config.KeyOf(f.Name)
		takes = takes || ok
	})
	return takes
}

// loadConfig returns what can be used of the configuration also with an error.
func loadConfig(cmd *cobra.Command) (*config.Config, error) {
	o := config.Options{Environ: os.Environ(), Flags: map[string]string{}}
	cmd.Flags().Visit(func(f *pflag.Flag) { o.Flags[f.Name] = flagText(f) })
	o.File, o.CommandConfig = o.Flags["config"], o.Flags["command-config"]
	if o.File == "" {
		o.File = os.Getenv(config.ConfigVariable)
	}
	return config.Load(o)
}

func flagText(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ",")
	}
	return f.Value.String()
}

// setFlags sets the flags that weren't given and that environment or file give.
func setFlags(flags *pflag.FlagSet, cfg *config.Config) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		key, ok := config.KeyOf(f.Name)
		if !ok || err != nil {
			return
		}
		if level := cfg.Origin(key.Name).Level; level == config.FromEnvironment || level == config.FromFile {
			if err = f.Value.Set(flagValue(cfg, key)); err != nil {
				err = &usageError{fmt.Errorf("%s: %w", key.Name, err)}
			}
		}
	})
	return err
}

// flagValue is the value as flags take it: durations have a unit.
func flagValue(cfg *config.Config, key config.Key) string {
	if key.Kind == config.Millis {
		return cfg.Duration(key.Name).String()
	}
	return cfg.Text(key.Name)
}

func storeOptions(cfg *config.Config) store.Options {
	return store.Options{WriteBuffer: int(cfg.Int("store.write.buffer.bytes")), BlockCache: int(cfg.Int("store.block.cache.bytes"))}
}

// tuneProcessor sets what has no flag.
func tuneProcessor(c *processor.Config, cfg *config.Config) {
	c.Store = storeOptions(cfg)
	c.PurgeAfter = cfg.Duration("purge.after.ms")
	c.MaintainEvery = cfg.Duration("maintain.interval.ms")
	c.Retention = cfg.Duration("remote.log.metadata.topic.retention.ms")
}

// tuneViews sets what has no flag.
func tuneViews(c *views.Config, cfg *config.Config) {
	c.Store = storeOptions(cfg)
	c.MaxIndexedSegments = cfg.Int("index.max.segments")
}
