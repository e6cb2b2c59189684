// Package processor is the fleet member: a goka processor that folds the events of
// the metadata topic into the table, exactly once.
//
// Members share a consumer group and split the metadata partitions; each keeps its
// partitions' rows in its own data folder. Everything there can be deleted: it is
// rebuilt from the table.
package processor

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

// Kafka is how to reach the cluster.
type Kafka = kafka.Settings

// Store tunes the local LevelDB stores.
type Store = store.Options

// Config is what a processor needs to run. Defaults fills in what is left zero.
type Config struct {
	Kafka Kafka
	// MetadataTopic is the input; "__remote_log_metadata" by default.
	MetadataTopic string
	// Group is the consumer group; "rlmm" by default. The table is <Group>-table, the
	// rejected events go to <Group>-rejected.
	Group string
	// InstanceID makes the member a static one (KIP-345); empty is dynamic.
	InstanceID string
	// DataDir is the folder of the member's own; it must not be shared.
	DataDir string
	// CreateTopics creates topics that are missing; else a missing one is an error.
	CreateTopics bool
	// Partitions is how many partitions a created metadata topic gets; 50 by default.
	Partitions int32
	// ReplicationFactor and MinISR are those of created topics; by default 3, and 2 or
	// the replication factor if that is less.
	ReplicationFactor, MinISR int16
	// Retention is how long a created metadata topic keeps its events; 0 and less is for
	// ever, as Kafka creates it.
	Retention time.Duration
	// RowVersion is the version in which rows are written; codec.DefaultRowVersion by
	// default. A reader refuses rows of a newer version than it knows, so a newer one is
	// for when no release is left that doesn't know it.
	RowVersion codec.RowVersion
	// PurgeAfter is how long the marker of a deleted segment is kept; 24 h by default.
	PurgeAfter time.Duration
	// MaintainEvery is how often positions are written and markers purged; 1 h by
	// default.
	MaintainEvery time.Duration
	// RenewEvery is how often the owner of a partition takes a new producer epoch; 12 h by
	// default. It must be less than the brokers' transactional.id.expiration.ms (7 days by
	// default): a partition whose id they have forgotten starts over.
	RenewEvery time.Duration
	Store      Store
	// Recovered is told of each metadata partition whose state has come up to date; nil is
	// nobody.
	Recovered func(Recovery)
	// Logger gets what the processor tells; nil is slog's default.
	Logger *slog.Logger
}

// Defaults returns the config with its zero fields filled in.
func (c Config) Defaults() Config {
	c.MetadataTopic = cmp.Or(c.MetadataTopic, "__remote_log_metadata")
	c.Group = cmp.Or(c.Group, "rlmm")
	c.Partitions = cmp.Or(c.Partitions, 50)
	c.ReplicationFactor = cmp.Or(c.ReplicationFactor, 3)
	c.MinISR = cmp.Or(c.MinISR, min(2, c.ReplicationFactor))
	c.RowVersion = cmp.Or(c.RowVersion, codec.DefaultRowVersion)
	c.PurgeAfter = cmp.Or(c.PurgeAfter, 24*time.Hour)
	c.MaintainEvery = cmp.Or(c.MaintainEvery, time.Hour)
	c.RenewEvery = cmp.Or(c.RenewEvery, 12*time.Hour)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate returns an error that names everything that can't be right.
func (c Config) Validate() error {
	errs := []error{c.Kafka.Validate(), table.CheckNames(c.MetadataTopic, c.Group), c.RowVersion.Validate()}
	if c.DataDir == "" {
		errs = append(errs, errors.New("data folder: must not be empty"))
	}
	if c.Partitions < 1 {
		errs = append(errs, errors.New("partitions: must be positive"))
	}
	if c.ReplicationFactor < 1 || c.MinISR < 1 {
		errs = append(errs, errors.New("replication factor, min ISR: must be positive"))
	}
	if c.MinISR > c.ReplicationFactor {
		errs = append(errs, errors.New("min ISR: must not exceed the replication factor"))
	}
	if c.PurgeAfter < 0 {
		errs = append(errs, errors.New("purge after: must not be negative"))
	}
	if c.MaintainEvery < 0 {
		errs = append(errs, errors.New("maintain every: must not be negative"))
	}
	if c.RenewEvery < 0 {
		errs = append(errs, errors.New("renew every: must not be negative"))
	}
	return errors.Join(errs...)
}

// storesFolder is where the stores lie in the data folder.
const storesFolder = "processor"

func (c Config) table() string    { return table.TopicOf(c.Group) }
func (c Config) rejected() string { return table.RejectedOf(c.Group) }
