// Package views answers a remote log metadata manager's questions from local state:
// a goka view of each assigned partition of the table, an index over its rows, and
// readiness that never claims more than has been applied. [Manager] joins them with an
// emitter to the whole contract.
package views

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

// Bounds says what HighestOffsetForEpoch takes of a segment that holds several epochs.
type Bounds uint8

const (
	// BoundsSegment is the contract: the segment's end offset, and only of finished
	// segments that are still there.
	BoundsSegment Bounds = iota
	// BoundsEpoch is Kafka's value (highest.offset.bounds=epoch): the last offset of
	// the epoch within the segment, and it never goes down when segments are deleted.
	BoundsEpoch
)

// Kafka is how to reach the cluster.
type Kafka = kafka.Settings

// Store tunes the local LevelDB stores.
type Store = store.Options

// Config is what a Manager needs. Zero fields get defaults.
type Config struct {
	Kafka Kafka
	// MetadataTopic is where events are published; "__remote_log_metadata" by default.
	MetadataTopic string
	// Group is the processor fleet's group; "rlmm" by default. The table is
	// <Group>-table.
	Group string
	// DataDir is a folder of this manager's own. What is in it can be deleted.
	DataDir string
	// ConsumeWait is how long a mutation waits for its outcome; 120 s by default
	// (remote.log.metadata.consume.wait.ms).
	ConsumeWait time.Duration
	// HighestOffsetBounds chooses what HighestOffsetForEpoch answers.
	HighestOffsetBounds Bounds
	// MaxIndexedSegments bounds the indexes in memory: partitions that weren't asked
	// for lately are indexed anew when they are. 4,000,000 by default.
	MaxIndexedSegments int64
	// Store tunes the stores, of which each metadata partition has one. FollowBuffer is
	// 64 KiB by default: fifty larger ones would be most of what a view takes.
	Store Store
	// Recovered is told of each metadata partition that becomes ready; nil is nobody.
	Recovered func(Recovery)
	// Logger gets what the manager tells; nil is slog's default.
	Logger *slog.Logger
}

// Defaults returns the config with its zero fields filled in.
func (c Config) Defaults() Config {
	c.MetadataTopic = cmp.Or(c.MetadataTopic, "__remote_log_metadata")
	c.Group = cmp.Or(c.Group, "rlmm")
	c.ConsumeWait = cmp.Or(c.ConsumeWait, 120*time.Second)
	c.MaxIndexedSegments = cmp.Or(c.MaxIndexedSegments, 4_000_000)
	c.Store.FollowBuffer = cmp.Or(c.Store.FollowBuffer, 64<<10)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate returns an error that names everything that can't be right.
func (c Config) Validate() error {
	errs := []error{c.Kafka.Validate(), table.CheckNames(c.MetadataTopic, c.Group)}
	if c.DataDir == "" {
		errs = append(errs, errors.New("data folder: must not be empty"))
	}
	if c.ConsumeWait < 0 {
		errs = append(errs, errors.New("consume wait: must not be negative"))
	}
	if c.MaxIndexedSegments < 0 {
		errs = append(errs, errors.New("indexed segments: must not be negative"))
	}
	return errors.Join(errs...)
}

// storesFolder is where the stores lie in the data folder.
const storesFolder = "views"

func (c Config) table() string { return table.TopicOf(c.Group) }
