package rest

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/tieredlog/rlmm/api"
)

// maxLimit is the greatest page. One is held in memory while it is made.
const maxLimit = 10_000

// segmentSteps are what an iterator over segments gives.
type segmentSteps = iter.Seq2[api.RemoteLogSegmentMetadata, error]

// listQuery is the path and the parameters of a list of segments.
type listQuery struct {
	query
	// state is the only one wanted, nil is all.
	state *api.RemoteLogSegmentState
	// limit is 0 for the whole list.
	limit int
	after *api.SegmentCursor
}

func readListQuery(r *http.Request) (listQuery, error) {
	q, p, err := readQuery(r, nil, []string{paramEpoch, paramState, paramLimit, paramPageToken})
	if err != nil {
		return listQuery{}, err
	}
	list := listQuery{query: q}
	if p.values.Has(paramState) {
		list.state = new(api.RemoteLogSegmentState)
		p.failWith(list.state.UnmarshalText([]byte(p.values.Get(paramState))))
	}
	list.limit = int(p.integer(paramLimit, 32))
	if p.values.Has(paramLimit) && (list.limit < 1 || list.limit > maxLimit) {
		p.fail(paramLimit, fmt.Sprintf("must be within 1 and %d: %d", maxLimit, list.limit))
	}
	if p.values.Has(paramPageToken) {
		list.after, err = readPageToken(q.tip, p.values.Get(paramPageToken))
		p.failWith(err)
	}
	return list, p.err
}

// of iterates over the segments that are asked for, without the limit.
func (q listQuery) of(ctx context.Context, i api.SegmentIterator) segmentSteps {
	var segments segmentSteps
	if q.hasEpoch {
		segments = i.SegmentsByEpoch(ctx, q.tip, q.epoch, q.after)
	} else {
		segments = i.Segments(ctx, q.tip, q.after)
	}
	if q.state == nil {
		return segments
	}
	return inState(segments, *q.state)
}

func inState(segments segmentSteps, state api.RemoteLogSegmentState) segmentSteps {
	return func(yield func(api.RemoteLogSegmentMetadata, error) bool) {
		for s, err := range segments {
			if (err != nil || s.State == state) && !yield(s, err) {
				return
			}
		}
	}
}

// takePage takes at most limit segments, and tells whether there are more.
func takePage(segments segmentSteps, limit int) (page []api.RemoteLogSegmentMetadata, more bool, err error) {
	for s, err := range segments {
		switch {
		case err != nil:
			return nil, false, err
		case len(page) == limit:
			return page, true, nil
		}
		page = append(page, s)
	}
	return page, false, nil
}
