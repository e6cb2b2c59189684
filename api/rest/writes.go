package rest

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/tieredlog/rlmm/api"
)

// mutation serves a route that publishes an event.
func (h *handler) mutation(pattern string, status int, publish func(r *http.Request, body []byte) (api.Position, error)) {
	h.route(pattern, func(w http.ResponseWriter, r *http.Request) {
		body, err := h.admit(w, r, h.AllowMutations, errMutationsOff)
		if err != nil {
			h.fail(w, r, api.NotPublished, err)
			return
		}
		pos, err := publish(r, body)
		if err != nil {
			h.fail(w, r, pos, err)
			return
		}
		write(w, status, position{pos.MetadataPartition, pos.Offset})
	})
}

var errMutationsOff = &Error{Code: http.StatusForbidden, Message: "mutations are off on this server", Reason: reasonMutationsOff}

// admit returns the body of a request that changes something, if that is allowed.
func (h *handler) admit(w http.ResponseWriter, r *http.Request, allowed bool, off *Error) ([]byte, error) {
	if !allowed {
		return nil, off
	}
	if err := h.crossOrigin.Check(r); err != nil {
		return nil, &Error{Code: http.StatusForbidden, Message: err.Error(), Reason: reasonCrossOrigin}
	}
	return readBody(w, r, h.MaxBodyBytes)
}

func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		e := newError(&api.InvalidArgumentError{Field: "body", Reason: fmt.Sprintf("is larger than %d bytes", limit)})
		e.Code = http.StatusRequestEntityTooLarge
		return nil, e
	}
	if err != nil {
		return nil, &api.InvalidArgumentError{Field: "body", Reason: err.Error()}
	}
	return body, nil
}

func (h *handler) addSegment(r *http.Request, body []byte) (api.Position, error) {
	tip, err := mutated(r)
	if err != nil {
		return api.NotPublished, err
	}
	s, err := read(body, true, func(o *object) Segment { return takeSegment(o, takePartitionOf(o, tip)) })
	if err != nil {
		return api.NotPublished, err
	}
	return h.Manager.AddRemoteLogSegmentMetadata(r.Context(), s.Metadata())
}

func (h *handler) updateSegment(r *http.Request, body []byte) (api.Position, error) {
	tip, err := mutated(r)
	if err != nil {
		return api.NotPublished, err
	}
	id, err := pathUUID(r, "segmentId")
	if err != nil {
		return api.NotPublished, err
	}
	u, err := read(body, true, func(o *object) SegmentUpdate {
		takeSame(o, "segmentId", id)
		return takeUpdate(o, takePartitionOf(o, tip), id)
	})
	if err != nil {
		return api.NotPublished, err
	}
	return h.Manager.UpdateRemoteLogSegmentMetadata(r.Context(), u.Metadata())
}

func (h *handler) putDeleteState(r *http.Request, body []byte) (api.Position, error) {
	tip, err := mutated(r)
	if err != nil {
		return api.NotPublished, err
	}
	d, err := read(body, true, func(o *object) PartitionDelete { return takeDelete(o, takePartitionOf(o, tip)) })
	if err != nil {
		return api.NotPublished, err
	}
	return h.Manager.PutRemotePartitionDeleteMetadata(r.Context(), d.Metadata())
}

// mutated returns the partition of a mutation's path; no parameter goes with it.
func mutated(r *http.Request) (api.TopicIdPartition, error) {
	q, _, err := readQuery(r, nil, nil)
	return q.tip, err
}
