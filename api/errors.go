package api

import (
	"errors"
	"fmt"
)

// The errors of the contract, to be matched with [errors.Is]. Reads give
// ErrNotReady, ErrNotAssigned, ErrInvalidArgument and ErrIO; mutations any of them.
//
// Whether a mutation's event is on the topic doesn't depend on the sentinel alone, since
// what ended a wait lies within the error of the wait. The position tells: one that isn't
// [NotPublished] is where the event lies. Without one the event may be there if the error
// is ErrUnacknowledged, and else is not.
var (
	// ErrNotReady says that the manager hasn't applied enough to answer truly; the
	// same call may succeed later.
	ErrNotReady = errors.New("not ready")
	// ErrNotAssigned is the ErrNotReady of a metadata partition that this manager
	// doesn't consume; waiting alone doesn't help.
	ErrNotAssigned = errors.New("not assigned")
	// ErrSegmentNotFound says that an update names a segment that isn't known.
	ErrSegmentNotFound = errors.New("segment not found")
	// ErrInvalidAdd says that an add has the wrong state or a known segment id.
	ErrInvalidAdd = errors.New("invalid add")
	// ErrInvalidSegmentTransition says that an update's state may not follow the
	// segment's.
	ErrInvalidSegmentTransition = errors.New("invalid segment transition")
	// ErrInvalidPartitionDeleteTransition says the same of a partition's deletion.
	ErrInvalidPartitionDeleteTransition = errors.New("invalid partition delete transition")
	// ErrInvalidArgument says that an argument can't be right whatever the state.
	ErrInvalidArgument = errors.New("invalid argument")
	// ErrTimeout says that an event is published, and that the wait for its outcome
	// ended first.
	ErrTimeout = errors.New("timeout")
	// ErrNoProgress lies within the ErrTimeout of a manager's own limit when nothing at
	// all was applied meanwhile: the fleet is down, or this manager can't see it.
	ErrNoProgress = errors.New("nothing was applied meanwhile: the fleet is down or out of reach")
	// ErrUnacknowledged says that an event was sent and no answer came: it may be
	// published, now or a little later, or not.
	ErrUnacknowledged = errors.New("may or may not be published")
	// ErrOutcomeUnknown says that an event is published and applied, and its outcome
	// can't be told any more.
	ErrOutcomeUnknown = errors.New("applied, outcome unknown")
	// ErrClosed says that the manager is shut down.
	ErrClosed = errors.New("closed")
	// ErrIO says that Kafka or the local store failed; of a mutation, that nothing was
	// published.
	ErrIO = errors.New("i/o error")
)

// NotReadyError is ErrNotReady, and ErrNotAssigned too when Assigned is false.
type NotReadyError struct {
	MetadataPartition int32
	Assigned          bool
	// Applied is the greatest offset of the metadata partition that is applied; −1
	// is none.
	Applied int64
	// Target is the offset that must be applied first; −1 when it isn't known yet.
	Target int64
	// Err is what keeps it from being ready, nil when it is only catching up.
	Err error
}

// Error names the partition and how far it is.
func (e *NotReadyError) Error() string {
	if !e.Assigned {
		return fmt.Sprintf("metadata partition %d is not assigned here", e.MetadataPartition)
	}
	s := fmt.Sprintf("metadata partition %d is not ready: applied %d, waiting for %d", e.MetadataPartition, e.Applied, e.Target)
	if e.Target < 0 {
		s = fmt.Sprintf("metadata partition %d is not ready: applied %d, end offset not known", e.MetadataPartition, e.Applied)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is matches ErrNotReady, and ErrNotAssigned when the partition isn't assigned.
func (e *NotReadyError) Is(target error) bool {
	return target == ErrNotReady || target == ErrNotAssigned && !e.Assigned
}

// Unwrap returns what keeps it from being ready.
func (e *NotReadyError) Unwrap() error { return e.Err }

// SegmentNotFoundError is ErrSegmentNotFound.
type SegmentNotFoundError struct{ ID RemoteLogSegmentID }

// Error names the segment.
func (e *SegmentNotFoundError) Error() string { return "segment not found: " + e.ID.String() }

// Is matches ErrSegmentNotFound.
func (e *SegmentNotFoundError) Is(target error) bool { return target == ErrSegmentNotFound }

// InvalidAddError is ErrInvalidAdd.
type InvalidAddError struct {
	ID RemoteLogSegmentID
	// State is the state that the add carried.
	State RemoteLogSegmentState
	// Known is the segment with that id, nil when the state was wrong. See
	// [InvalidAddError.AlreadyAdded].
	Known *RemoteLogSegmentMetadata
}

// AlreadyAdded tells whether the known segment is yours: equal in all but what updates
// change (state, broker, event time, custom metadata) and in the topic's name, which an
// event may leave out. A retry after ErrTimeout or ErrUnacknowledged that is refused so
// has nothing left to do: an earlier try is in.
func (e *InvalidAddError) AlreadyAdded(yours RemoteLogSegmentMetadata) bool {
	if e.Known == nil {
		return false
	}
	yours.ID.TopicIdPartition.Topic = e.Known.ID.TopicIdPartition.Topic
	yours.State, yours.BrokerID = e.Known.State, e.Known.BrokerID
	yours.EventTimestampMs, yours.CustomMetadata = e.Known.EventTimestampMs, e.Known.CustomMetadata
	return yours.Equal(*e.Known)
}

// Error says what is wrong with the add.
func (e *InvalidAddError) Error() string {
	if e.Known != nil {
		return fmt.Sprintf("invalid add: %s is known already, in state %s", e.ID, e.Known.State)
	}
	return fmt.Sprintf("invalid add: %s must be added in state %s, not %s", e.ID, CopySegmentStarted, e.State)
}

// Is matches ErrInvalidAdd.
func (e *InvalidAddError) Is(target error) bool { return target == ErrInvalidAdd }

// InvalidSegmentTransitionError is ErrInvalidSegmentTransition.
type InvalidSegmentTransitionError struct {
	ID       RemoteLogSegmentID
	From, To RemoteLogSegmentState
}

// Error names both states.
func (e *InvalidSegmentTransitionError) Error() string {
	return fmt.Sprintf("invalid segment transition: %s from %s to %s", e.ID, e.From, e.To)
}

// Is matches ErrInvalidSegmentTransition.
func (e *InvalidSegmentTransitionError) Is(target error) bool {
	return target == ErrInvalidSegmentTransition
}

// InvalidPartitionDeleteTransitionError is ErrInvalidPartitionDeleteTransition.
type InvalidPartitionDeleteTransitionError struct {
	TopicIdPartition TopicIdPartition
	// From is DeletePartitionNone when no deletion had begun.
	From, To RemotePartitionDeleteState
}

// Error names both states.
func (e *InvalidPartitionDeleteTransitionError) Error() string {
	return fmt.Sprintf("invalid partition delete transition: %s from %s to %s", e.TopicIdPartition, e.From, e.To)
}

// Is matches ErrInvalidPartitionDeleteTransition.
func (e *InvalidPartitionDeleteTransitionError) Is(target error) bool {
	return target == ErrInvalidPartitionDeleteTransition
}

// InvalidArgumentError is ErrInvalidArgument.
type InvalidArgumentError struct{ Field, Reason string }

// Error names the field and what is wrong with it.
func (e *InvalidArgumentError) Error() string {
	return fmt.Sprintf("invalid argument: %s: %s", e.Field, e.Reason)
}

// Is matches ErrInvalidArgument.
func (e *InvalidArgumentError) Is(target error) bool { return target == ErrInvalidArgument }

// TimeoutError is ErrTimeout: the event is on the topic and will be applied, or
// rejected, when the fleet reaches it.
type TimeoutError struct {
	Position Position
	// Applied is the greatest offset of the metadata partition that was applied when the
	// wait ended; −1 is none. How far it lies below the position is how far the fleet, or
	// this manager, is behind.
	Applied int64
	// Err is what ended the wait: the context's error, ErrClosed, ErrNotAssigned, or for
	// the manager's own limit nil, and ErrNoProgress when nothing was applied meanwhile.
	Err error
}

// Error says where the event was published and how far the partition is.
func (e *TimeoutError) Error() string {
	s := fmt.Sprintf("published at %s, not yet applied: applied is %d", e.Position, e.Applied)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is matches ErrTimeout.
func (e *TimeoutError) Is(target error) bool { return target == ErrTimeout }

// Unwrap returns what ended the wait.
func (e *TimeoutError) Unwrap() error { return e.Err }

// UnacknowledgedError is ErrUnacknowledged. To try again is safe: an event that repeats
// another changes nothing, and an add that finds the earlier one in is an
// [InvalidAddError] that is [InvalidAddError.AlreadyAdded].
type UnacknowledgedError struct {
	// Op is what was under way, "publish the event" for one.
	Op string
	// Err is why no answer came: what ended the wait, or what broke the connection.
	Err error
}

// Error says what was under way, and why it isn't known what became of it.
func (e *UnacknowledgedError) Error() string {
	return fmt.Sprintf("%s: %v: %v", e.Op, ErrUnacknowledged, e.Err)
}

// Is matches ErrUnacknowledged.
func (e *UnacknowledgedError) Is(target error) bool { return target == ErrUnacknowledged }

// Unwrap returns why no answer came.
func (e *UnacknowledgedError) Unwrap() error { return e.Err }

// OutcomeUnknownError is ErrOutcomeUnknown: the table was compacted past the event
// before this manager saw its outcome, or more answers came at once than it keeps. Read
// the segment to learn it.
type OutcomeUnknownError struct{ Position Position }

// Error says where the event was published.
func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("published at %s: applied, outcome unknown", e.Position)
}

// Is matches ErrOutcomeUnknown.
func (e *OutcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

// IOError is ErrIO.
type IOError struct {
	// Op is what failed, "publish the event" for one, which then isn't published.
	Op  string
	Err error
}

// Error says what failed and why.
func (e *IOError) Error() string { return fmt.Sprintf("%s: %v", e.Op, e.Err) }

// Is matches ErrIO.
func (e *IOError) Is(target error) bool { return target == ErrIO }

// Unwrap returns the cause.
func (e *IOError) Unwrap() error { return e.Err }
