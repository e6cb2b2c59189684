package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
)

// The defaults that several commands share.
const (
	defaultTopic = "__remote_log_metadata"
	defaultGroup = "rlmm"
	defaultData  = "./rlmm-data"
	defaultHTTP  = "127.0.0.1:8083"
	defaultKafka = "127.0.0.1:19092"
)

// clusterFlags say which cluster, topic and fleet a command works on.
type clusterFlags struct {
	cmd       *cobra.Command
	bootstrap []string
	topic     string
	group     string
}

func (f *clusterFlags) add(cmd *cobra.Command) {
	f.cmd = cmd
	cmd.Flags().StringSliceVarP(&f.bootstrap, "bootstrap", "b", nil, "brokers to connect to first, host:port[,host:port]")
	cmd.Flags().StringVar(&f.topic, "topic", defaultTopic, "metadata topic")
	cmd.Flags().StringVar(&f.group, "group", defaultGroup, "consumer group of the fleet; the table is GROUP-table")
}

// settings is how to reach the cluster, by flags, environment and files. The command must
// be running.
func (f *clusterFlags) settings() (kafka.Settings, error) {
	s, err := configOf(f.cmd).Kafka()
	if err != nil {
		return s, &usageError{err}
	}
	return s, nil
}

func addData(cmd *cobra.Command, data *string) {
	cmd.Flags().StringVar(data, "data", defaultData, "folder for local state; can be deleted, must not be shared")
}

func addRowVersion(cmd *cobra.Command, version *codec.RowVersion) {
	cmd.Flags().Uint8Var((*uint8)(version), "row-version", uint8(codec.DefaultRowVersion),
		fmt.Sprintf("version in which rows of the table are written, up to %d; raise it last in an upgrade", codec.NewestRowVersion))
}

// dataDir is the folder of one part of the local state.
func dataDir(data, part string) string { return filepath.Join(data, part) }
