package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tieredlog/rlmm/api"
)

// The reasons of an [Error] that stand for no error of the contract.
const (
	reasonNoSegment        = "no_segment"
	reasonNotFound         = "not_found"
	reasonNotReady         = "not_ready"
	reasonMethodNotAllowed = "method_not_allowed"
	reasonNotAcceptable    = "not_acceptable"
	reasonMutationsOff     = "mutations_off"
	reasonControlOff       = "control_off"
	reasonCrossOrigin      = "cross_origin"
	reasonUnauthorized     = "unauthorized"
	reasonForbidden        = "forbidden"
	reasonCredentials      = "credentials_unavailable"
	reasonCanceled         = "canceled"
	reasonDeadlineExceeded = "deadline_exceeded"
	reasonInternal         = "internal"
)

// Error is the body of every answer that isn't 2xx. The client returns one, within an
// [api.IOError], for an answer that stands for no error of the contract.
//
// The members after Reason are the details of the contract's errors; each reason has
// its own, the others are left out.
type Error struct {
	// Code is the HTTP status.
	Code    int    `json:"error_code"`
	Message string `json:"message"`
	// Reason names the error for programs, not_ready for one. It is empty when the
	// answer came from something else, a proxy say.
	Reason string `json:"reason"`

	// MetadataPartition is where the mutation's event was published when Offset is
	// there too, else the metadata partition that isn't ready, is paused or busy.
	MetadataPartition *int32 `json:"metadataPartition,omitempty"`
	Offset            *int64 `json:"offset,omitempty"`
	// Applied and Target are how far a partition is that isn't ready, and Applied how far
	// it was when the wait for an outcome ended; −1 is none, or not known.
	Applied *int64 `json:"applied,omitempty"`
	Target  *int64 `json:"target,omitempty"`
	// TopicID, Topic, Partition and SegmentID are what the event was about.
	TopicID   *api.UUID `json:"topicId,omitempty"`
	Topic     string    `json:"topic,omitempty"`
	Partition *int32    `json:"partition,omitempty"`
	SegmentID *api.UUID `json:"segmentId,omitempty"`
	// State is the state that a refused add carried; Known is the segment that has its
	// id already.
	State string   `json:"state,omitempty"`
	Known *Segment `json:"known,omitempty"`
	// From and To are the states of a refused transition; NONE is a partition whose
	// deletion hadn't begun.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Op is what failed when Kafka or the store did, or what was under way when no answer
	// came.
	Op string `json:"op,omitempty"`
	// Field and Detail are the bad argument and what is wrong with it.
	Field  string `json:"field,omitempty"`
	Detail string `json:"detail,omitempty"`

	// Cause is what lies below, for one why a partition isn't ready.
	Cause *Error `json:"cause,omitempty"`
	// Errors are all that GET /readyz found wanting.
	Errors []*Error `json:"errors,omitempty"`
}

// The answers to clients that may not ask what they ask; see package auth.
var (
	// ErrUnauthorized is 401: nobody is known who asks.
	ErrUnauthorized = &Error{Code: http.StatusUnauthorized, Message: "a token or a client certificate is needed that this server knows", Reason: reasonUnauthorized}
	// ErrForbidden is 403: who asks lacks the right.
	ErrForbidden = &Error{Code: http.StatusForbidden, Message: "this client may not do that", Reason: reasonForbidden}
	// ErrCredentials is 503: who may ask can't be told now.
	ErrCredentials = &Error{Code: http.StatusServiceUnavailable, Message: "this server can't read its tokens now", Reason: reasonCredentials}
)

// WriteError answers a request with an error, as the API's handler does.
func WriteError(w http.ResponseWriter, e *Error) {
	if e.Code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	write(w, e.Code, e)
}

// Error says status, reason and message.
func (e *Error) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("HTTP status %d: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("HTTP status %d (%s): %s", e.Code, e.Reason, e.Message)
}

// newError describes an error for the wire. The text is for people; all that the
// client needs is in the other members.
func newError(err error) *Error {
	// Only the handler's own: one further down is another server's answer.
	if e, ok := err.(*Error); ok { //nolint:errorlint // see above
		own := *e
		return &own
	}
	for _, w := range wires {
		if errors.Is(err, w.is) {
			e := &Error{Code: w.code, Message: err.Error(), Reason: w.reason}
			if cause := w.fill(e, err); cause != nil {
				e.Cause = newError(cause)
			}
			return e
		}
	}
	return unlistedError(err)
}

// unlistedError describes what the contract has no error for. A context that ended
// before anything was done may be tried again.
func unlistedError(err error) *Error {
	switch {
	case errors.Is(err, context.Canceled):
		return &Error{Code: http.StatusServiceUnavailable, Message: err.Error(), Reason: reasonCanceled}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: http.StatusServiceUnavailable, Message: err.Error(), Reason: reasonDeadlineExceeded}
	}
	return &Error{Code: http.StatusInternalServerError, Message: err.Error(), Reason: reasonInternal}
}

// contractError returns the contract's error that e stands for, nil when there is
// none. When details are missing it is the bare sentinel.
func (e *Error) contractError() error {
	for _, w := range wires {
		if w.reason == e.Reason {
			return w.rebuild(e, e.Cause.causeError())
		}
	}
	return nil
}

// causeError returns what a cause stood for; a plain error keeps its text only.
func (e *Error) causeError() error {
	if e == nil {
		return nil
	}
	switch e.Reason {
	case reasonCanceled:
		return context.Canceled
	case reasonDeadlineExceeded:
		return context.DeadlineExceeded
	}
	if err := e.contractError(); err != nil {
		return err
	}
	return errors.New(e.Message)
}

// position is where the event was published, [api.NotPublished] if it wasn't or can't
// be told to be.
func (e *Error) position() api.Position {
	if e.MetadataPartition == nil || e.Offset == nil {
		return api.NotPublished
	}
	return api.Position{MetadataPartition: *e.MetadataPartition, Offset: *e.Offset}
}

func (e *Error) setPosition(p api.Position) {
	e.MetadataPartition, e.Offset = &p.MetadataPartition, &p.Offset
}

func (e *Error) partition() (tip api.TopicIdPartition, ok bool) {
	if e.TopicID == nil || e.Partition == nil {
		return tip, false
	}
	return api.TopicIdPartition{TopicID: *e.TopicID, Topic: e.Topic, Partition: *e.Partition}, true
}

func (e *Error) setPartition(tip api.TopicIdPartition) {
	e.TopicID, e.Topic, e.Partition = &tip.TopicID, tip.Topic, &tip.Partition
}

func (e *Error) segmentID() (id api.RemoteLogSegmentID, ok bool) {
	tip, ok := e.partition()
	if !ok || e.SegmentID == nil {
		return id, false
	}
	return api.RemoteLogSegmentID{TopicIdPartition: tip, ID: *e.SegmentID}, true
}

func (e *Error) setSegmentID(id api.RemoteLogSegmentID) {
	e.setPartition(id.TopicIdPartition)
	e.SegmentID = &id.ID
}
