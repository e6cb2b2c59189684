package api

import (
	"context"
	"errors"
	"fmt"
)

var (
	// ErrPaused says that a metadata partition is paused: what needs it to move on is
	// refused, and nothing was published. [Controller.Resume] ends it.
	ErrPaused = errors.New("paused")
	// ErrBusy says that another request changes the metadata partition just now, or that
	// it is being unassigned; try again.
	ErrBusy = errors.New("busy")
)

// PausedError is ErrPaused.
type PausedError struct{ MetadataPartition int32 }

// Error names the metadata partition.
func (e *PausedError) Error() string {
	return fmt.Sprintf("metadata partition %d is paused", e.MetadataPartition)
}

// Is matches ErrPaused.
func (e *PausedError) Is(target error) bool { return target == ErrPaused }

// BusyError is ErrBusy.
type BusyError struct{ MetadataPartition int32 }

// Error names the metadata partition.
func (e *BusyError) Error() string {
	return fmt.Sprintf("metadata partition %d is busy: it is being changed by another request", e.MetadataPartition)
}

// Is matches ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// Controller is a manager whose metadata partitions people can stop and start, as they do
// with connectors in Kafka Connect. Each call is about one assigned metadata partition;
// others are ErrNotAssigned. One that finds another under way for the same partition is
// ErrBusy, after a shutdown all are ErrClosed. Nothing here changes a topic.
type Controller interface {
	// Pause stops applying what comes. When it returns nothing more is applied. Reads go
	// on from what is there, and grow stale; mutations are ErrPaused, those that wait for
	// their outcome are ErrTimeout or ErrUnacknowledged with ErrPaused in it. A partition
	// that isn't ready stays so. A pause lasts until Resume, until the partition is
	// unassigned, or until the process ends. To pause what is paused is no error.
	Pause(ctx context.Context, metadataPartition int32) error

	// Resume goes on where Pause stopped. To resume what runs is no error.
	Resume(ctx context.Context, metadataPartition int32) error

	// Restart begins consuming anew, from what is stored, and forgets what had failed.
	// Reads are answered as before meanwhile. ErrPaused when the partition is paused.
	Restart(ctx context.Context, metadataPartition int32) error

	// Rebuild moves what is stored aside and begins anew from the topic's beginning. The
	// partition is ErrNotReady until that has reached the end. ErrPaused when the partition
	// is paused; ErrIO when the store can't be moved, which is used on then.
	Rebuild(ctx context.Context, metadataPartition int32) error
}
