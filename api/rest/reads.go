package rest

import (
	"errors"
	"net/http"

	"github.com/tieredlog/rlmm/api"
)

func (h *handler) segment(r *http.Request) (any, error) {
	q, _, err := readQuery(r, []string{paramEpoch, paramOffset}, nil)
	if err != nil {
		return nil, err
	}
	m, found, err := h.Manager.RemoteLogSegmentMetadata(r.Context(), q.tip, q.epoch, q.offset)
	return foundSegment(m, found, err)
}

func (h *handler) nextTxnSegment(r *http.Request) (any, error) {
	q, _, err := readQuery(r, []string{paramEpoch, paramOffset}, nil)
	if err != nil {
		return nil, err
	}
	m, found, err := h.Manager.NextSegmentWithTxnIndex(r.Context(), q.tip, q.epoch, q.offset)
	return foundSegment(m, found, err)
}

func foundSegment(m api.RemoteLogSegmentMetadata, found bool, err error) (any, error) {
	if err := foundOr(found, err); err != nil {
		return nil, err
	}
	return NewSegment(m), nil
}

// foundOr is the error of a read that failed or found nothing.
func foundOr(found bool, err error) error {
	if err != nil || found {
		return err
	}
	return &Error{Code: http.StatusNotFound, Message: "no such segment", Reason: reasonNoSegment}
}

func (h *handler) segments(r *http.Request) (any, error) {
	q, err := readListQuery(r)
	if err != nil {
		return nil, err
	}
	lines, err := acceptsLines(r)
	if err != nil {
		return nil, err
	}
	steps := q.of(r.Context(), api.IteratorOf(h.Manager))
	answer := streamOf("segments", steps, NewSegment)
	if q.limit > 0 {
		answer, err = segmentPage(q, steps)
	}
	answer.lines = lines
	return answer, err
}

// segmentPage is collected before it is sent, since its token may go in the header.
func segmentPage(q listQuery, steps segmentSteps) (list, error) {
	page, more, err := takePage(steps, q.limit)
	answer := listOf("segments", page, NewSegment)
	if more {
		answer.next = pageToken(q.tip, *page[len(page)-1].Cursor())
	}
	return answer, err
}

func (h *handler) highestOffset(r *http.Request) (any, error) {
	q, _, err := readQuery(r, []string{paramEpoch}, nil)
	if err != nil {
		return nil, err
	}
	offset, found, err := h.Manager.HighestOffsetForEpoch(r.Context(), q.tip, q.epoch)
	return highestOffset{offset}, foundOr(found, err)
}

func (h *handler) size(r *http.Request) (any, error) {
	q, _, err := readQuery(r, []string{paramEpoch}, nil)
	if err != nil {
		return nil, err
	}
	bytes, err := h.Manager.RemoteLogSize(r.Context(), q.tip, q.epoch)
	return size{bytes}, err
}

// caughtUp answers false, not 421, where the partition isn't assigned: this manager
// can't vouch for it, which is all that was asked.
func (h *handler) caughtUp(r *http.Request) (any, error) {
	q, _, err := readQuery(r, nil, nil)
	if err != nil {
		return nil, err
	}
	yes, err := h.Manager.CaughtUp(r.Context(), q.tip)
	if errors.Is(err, api.ErrNotAssigned) {
		return caughtUp{false}, nil
	}
	return caughtUp{yes}, err
}

func (h *handler) partitions(r *http.Request) (any, error) {
	if err := readParams(r, nil, nil).err; err != nil {
		return nil, err
	}
	if h.Partitions == nil {
		return listOf("partitions", nil, asIs[Partition]), nil
	}
	rows, err := h.Partitions(r.Context())
	return listOf("partitions", rows, asIs[Partition]), err
}

func asIs[T any](v T) T { return v }

func (h *handler) info(*http.Request) (any, error) {
	if h.Info == nil {
		return Info{}, nil
	}
	return h.Info(), nil
}

// NotReady is the 503 of a server that isn't ready. It lists what the error joins; a join
// further down is one error.
func NotReady(err error) *Error {
	e := &Error{Code: http.StatusServiceUnavailable, Message: "not ready", Reason: reasonNotReady}
	for _, one := range joined(err) {
		e.Errors = append(e.Errors, newError(one))
	}
	return e
}

func joined(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return []error{err}
}
