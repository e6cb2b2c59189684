package store

import "time"

// Recovery is how one metadata partition's state came up to date.
type Recovery struct {
	MetadataPartition int32
	// FromStore tells whether it began with what a store held, not with an empty one.
	FromStore bool
	// Records is how many records of the table were read.
	Records int64
	// Duration is how long it took until the partition could be used.
	Duration time.Duration
}
