package rest

import (
	"encoding"
	"errors"
	"net/http"

	"github.com/tieredlog/rlmm/api"
)

// wire is how an error of the contract travels.
type wire struct {
	is     error
	code   int
	reason string
	// fill adds the details of err to e and returns what lies below err.
	fill func(e *Error, err error) (cause error)
	// rebuild is the way back.
	rebuild func(e *Error, cause error) error
}

// wires has an error that may lie within another after that other: a timeout may be
// caused by ErrClosed or ErrPaused, an answer that didn't come too, and a partition may be
// not ready because of those or an i/o error.
var wires = []wire{
	typed(api.ErrTimeout, http.StatusGatewayTimeout, "timeout", fillTimeout, rebuildTimeout),
	typed(api.ErrUnacknowledged, http.StatusGatewayTimeout, "unacknowledged", fillUnacknowledged, rebuildUnacknowledged),
	typed(api.ErrOutcomeUnknown, http.StatusGatewayTimeout, "outcome_unknown", fillOutcomeUnknown, rebuildOutcomeUnknown),
	typed(api.ErrNotAssigned, http.StatusMisdirectedRequest, "not_assigned", fillNotReady, rebuildNotAssigned),
	typed(api.ErrNotReady, http.StatusServiceUnavailable, reasonNotReady, fillNotReady, rebuildNotReady),
	typed(api.ErrIO, http.StatusBadGateway, "io", fillIO, rebuildIO),
	typed(api.ErrPaused, http.StatusConflict, "paused", fillPaused, rebuildPaused),
	typed(api.ErrBusy, http.StatusConflict, "busy", fillBusy, rebuildBusy),
	typed(api.ErrSegmentNotFound, http.StatusNotFound, "segment_not_found", fillSegmentNotFound, rebuildSegmentNotFound),
	typed(api.ErrInvalidAdd, http.StatusConflict, "invalid_add", fillInvalidAdd, rebuildInvalidAdd),
	typed(api.ErrInvalidSegmentTransition, http.StatusConflict, "invalid_segment_transition",
		fillSegmentTransition, rebuildSegmentTransition),
	typed(api.ErrInvalidPartitionDeleteTransition, http.StatusConflict, "invalid_partition_delete_transition",
		fillDeleteTransition, rebuildDeleteTransition),
	typed(api.ErrInvalidArgument, http.StatusBadRequest, "invalid_argument", fillInvalidArgument, rebuildInvalidArgument),
	bare(api.ErrNoProgress, http.StatusGatewayTimeout, "no_progress"),
	bare(api.ErrClosed, http.StatusServiceUnavailable, "closed"),
}

// typed is the wire of a sentinel whose details are a T. A sentinel without them
// stays one.
func typed[T error](is error, code int, reason string, fill func(*Error, T) error, rebuild func(*Error, error) (T, bool)) wire {
	return wire{
		is: is, code: code, reason: reason,
		fill: func(e *Error, err error) error {
			if details, ok := errors.AsType[T](err); ok {
				return fill(e, details)
			}
			return nil
		},
		rebuild: func(e *Error, cause error) error {
			if details, ok := rebuild(e, cause); ok {
				return details
			}
			return is
		},
	}
}

func bare(is error, code int, reason string) wire {
	return wire{
		is: is, code: code, reason: reason,
		fill:    func(*Error, error) error { return nil },
		rebuild: func(*Error, error) error { return is },
	}
}

func fillTimeout(e *Error, err *api.TimeoutError) error {
	e.setPosition(err.Position)
	e.Applied = &err.Applied
	return err.Err
}

func rebuildTimeout(e *Error, cause error) (*api.TimeoutError, bool) {
	p := e.position()
	if p == api.NotPublished || e.Applied == nil {
		return nil, false
	}
	return &api.TimeoutError{Position: p, Applied: *e.Applied, Err: cause}, true
}

func fillUnacknowledged(e *Error, err *api.UnacknowledgedError) error {
	e.Op = err.Op
	return err.Err
}

func rebuildUnacknowledged(e *Error, cause error) (*api.UnacknowledgedError, bool) {
	return &api.UnacknowledgedError{Op: e.Op, Err: cause}, e.Op != "" && cause != nil
}

func fillOutcomeUnknown(e *Error, err *api.OutcomeUnknownError) error {
	e.setPosition(err.Position)
	return nil
}

func rebuildOutcomeUnknown(e *Error, _ error) (*api.OutcomeUnknownError, bool) {
	p := e.position()
	return &api.OutcomeUnknownError{Position: p}, p != api.NotPublished
}

func fillNotReady(e *Error, err *api.NotReadyError) error {
	e.MetadataPartition, e.Applied, e.Target = &err.MetadataPartition, &err.Applied, &err.Target
	return err.Err
}

func rebuildNotReady(e *Error, cause error) (*api.NotReadyError, bool) {
	return notReady(e, true, cause)
}

func rebuildNotAssigned(e *Error, cause error) (*api.NotReadyError, bool) {
	return notReady(e, false, cause)
}

func notReady(e *Error, assigned bool, cause error) (*api.NotReadyError, bool) {
	if e.MetadataPartition == nil || e.Applied == nil || e.Target == nil {
		return nil, false
	}
	return &api.NotReadyError{
		MetadataPartition: *e.MetadataPartition, Assigned: assigned, Applied: *e.Applied, Target: *e.Target, Err: cause,
	}, true
}

func fillIO(e *Error, err *api.IOError) error {
	e.Op = err.Op
	return err.Err
}

func rebuildIO(e *Error, cause error) (*api.IOError, bool) {
	return &api.IOError{Op: e.Op, Err: cause}, e.Op != "" && cause != nil
}

func fillPaused(e *Error, err *api.PausedError) error {
	e.MetadataPartition = &err.MetadataPartition
	return nil
}

func rebuildPaused(e *Error, _ error) (*api.PausedError, bool) {
	if e.MetadataPartition == nil {
		return nil, false
	}
	return &api.PausedError{MetadataPartition: *e.MetadataPartition}, true
}

func fillBusy(e *Error, err *api.BusyError) error {
	e.MetadataPartition = &err.MetadataPartition
	return nil
}

func rebuildBusy(e *Error, _ error) (*api.BusyError, bool) {
	if e.MetadataPartition == nil {
		return nil, false
	}
	return &api.BusyError{MetadataPartition: *e.MetadataPartition}, true
}

func fillSegmentNotFound(e *Error, err *api.SegmentNotFoundError) error {
	e.setSegmentID(err.ID)
	return nil
}

func rebuildSegmentNotFound(e *Error, _ error) (*api.SegmentNotFoundError, bool) {
	id, ok := e.segmentID()
	return &api.SegmentNotFoundError{ID: id}, ok
}

func fillInvalidAdd(e *Error, err *api.InvalidAddError) error {
	e.setSegmentID(err.ID)
	e.State = err.State.String()
	if err.Known != nil {
		known := NewSegment(*err.Known)
		e.Known = &known
	}
	return nil
}

func rebuildInvalidAdd(e *Error, _ error) (*api.InvalidAddError, bool) {
	id, ok := e.segmentID()
	err := &api.InvalidAddError{ID: id}
	if e.Known != nil {
		known := e.Known.Metadata()
		err.Known = &known
	}
	return err, ok && readState(&err.State, e.State)
}

func fillSegmentTransition(e *Error, err *api.InvalidSegmentTransitionError) error {
	e.setSegmentID(err.ID)
	e.From, e.To = err.From.String(), err.To.String()
	return nil
}

func rebuildSegmentTransition(e *Error, _ error) (*api.InvalidSegmentTransitionError, bool) {
	id, ok := e.segmentID()
	err := &api.InvalidSegmentTransitionError{ID: id}
	return err, ok && readState(&err.From, e.From) && readState(&err.To, e.To)
}

func fillDeleteTransition(e *Error, err *api.InvalidPartitionDeleteTransitionError) error {
	e.setPartition(err.TopicIdPartition)
	e.From, e.To = err.From.String(), err.To.String()
	return nil
}

func rebuildDeleteTransition(e *Error, _ error) (*api.InvalidPartitionDeleteTransitionError, bool) {
	tip, ok := e.partition()
	err := &api.InvalidPartitionDeleteTransitionError{TopicIdPartition: tip, From: api.DeletePartitionNone}
	if e.From != err.From.String() {
		ok = ok && readState(&err.From, e.From)
	}
	return err, ok && readState(&err.To, e.To)
}

func fillInvalidArgument(e *Error, err *api.InvalidArgumentError) error {
	e.Field, e.Detail = err.Field, err.Reason
	return nil
}

func rebuildInvalidArgument(e *Error, _ error) (*api.InvalidArgumentError, bool) {
	return &api.InvalidArgumentError{Field: e.Field, Reason: e.Detail}, e.Field != ""
}

// readState reads Kafka's name of a state.
func readState(into encoding.TextUnmarshaler, name string) bool {
	return into.UnmarshalText([]byte(name)) == nil
}
