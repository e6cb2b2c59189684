package faults

import (
	"errors"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/processor/fold"
)

// promise is what a mutation's error says of the event.
type promise int

const (
	decided        promise = iota // nil, or a refusal: the fold's verdict
	unpublished                   // it isn't on the topic
	waiting                       // it is on the topic, where the position says
	appliedUnknown                // as waiting, and it is applied
	unknown                       // it may be on the topic
	unheard                       // no error that the contract has
)

// kindOf goes by the error itself, not by what lies below it: that says why, not what.
func kindOf(err error) promise {
	switch err.(type) { //nolint:errorlint // see above
	case nil, *api.InvalidAddError, *api.SegmentNotFoundError, *api.InvalidSegmentTransitionError, *api.InvalidPartitionDeleteTransitionError:
		return decided
	case *api.NotReadyError, *api.InvalidArgumentError, *api.IOError:
		return unpublished
	case *api.TimeoutError:
		return waiting
	case *api.OutcomeUnknownError:
		return appliedUnknown
	case *api.UnacknowledgedError:
		return unknown
	}
	// A server that hasn't found its cluster yet knows of no metadata partition to name.
	if err == api.ErrClosed || errors.Is(err, api.ErrNotReady) { //nolint:errorlint // see above
		return unpublished
	}
	return unheard
}

// judgeMutations compares what became of each mutation with the topic and the fold.
func (r *Recorder) judgeMutations(h *History, f *Findings) {
	onTopic := r.whereMutationsAre(h)
	for _, m := range r.mutations {
		r.counts.Mutations++
		at := onTopic[valueOf(m.event)]
		switch {
		case len(at) > 1:
			f.add("%s: %s is on the topic at %v", r.o.Name, m, at)
		case m.position.Offset >= 0:
			r.judgePublished(h, m, at, f)
		default:
			r.judgeUnpublished(h, m, at, f)
		}
	}
}

// whereMutationsAre are the offsets at which the input has events of the recorder's own.
func (r *Recorder) whereMutationsAre(h *History) map[string][]int64 {
	at := map[string][]int64{}
	for _, m := range r.mutations {
		at[valueOf(m.event)] = nil
	}
	for _, input := range h.inputs {
		for _, record := range input {
			if _, mine := at[string(record.Value)]; mine {
				at[string(record.Value)] = append(at[string(record.Value)], record.Offset)
			}
		}
	}
	return at
}

func valueOf(event api.RemoteLogMetadata) string {
	value, err := codec.EncodeRecord(event)
	if err != nil {
		panic(err) // a mutator makes no such event
	}
	return string(value)
}

func (r *Recorder) judgePublished(h *History, m mutation, at []int64, f *Findings) {
	r.counts.Published++
	p := r.partitionOf(m.event.Partition())
	switch kind := kindOf(m.err); {
	case m.position.MetadataPartition != p || len(at) != 1 || at[0] != m.position.Offset:
		f.add("%s: %s is on partition %d at %v", r.o.Name, m, p, at)
	case kind == decided:
		if err := verdict(h, m.event, p, at[0]); !sameVerdict(m.err, err) {
			f.add("%s: %s: the fold says %v", r.o.Name, m, err)
		}
	case kind != waiting && kind != appliedUnknown:
		f.add("%s: %s: no such error is of a published event", r.o.Name, m)
	}
}

func (r *Recorder) judgeUnpublished(h *History, m mutation, at []int64, f *Findings) {
	kind := kindOf(m.err)
	switch {
	case kind == unknown:
		r.counts.Unknown++
	case kind == unheard || kind == waiting || kind == appliedUnknown || m.err == nil:
		f.add("%s: %s: no such outcome is of an event that isn't published", r.o.Name, m)
	case len(at) > 0:
		f.add("%s: %s is on the topic at %v", r.o.Name, m, at)
	case kind == decided && !r.wasForbidden(h, m):
		f.add("%s: %s: the state never forbade it", r.o.Name, m)
	}
}

// wasForbidden tells whether the refusal was the fold's verdict at an offset that the
// manager may have been at.
func (r *Recorder) wasForbidden(h *History, m mutation) bool {
	tip := m.event.Partition()
	a := answered{query: query{tip: tip}, lower: m.lower, applied: -1, ended: m.ended}
	for _, v := range h.between(tip, m.lower, r.upper(h, a)) {
		row := v.state.row(m.event)
		if _, outcome := fold.Fold(row, m.event, 0); sameVerdict(m.err, verdictError(m.event, outcome, row)) {
			return true
		}
	}
	return false
}

// verdict is the error that the event at the offset must get.
func verdict(h *History, event api.RemoteLogMetadata, p int32, offset int64) error {
	a := h.expected[p].answers[offset]
	key, err := codec.ParseKey(a.key)
	if err != nil {
		return err
	}
	row, err := decodeRow(key, a.value)
	if err != nil {
		return err
	}
	return verdictError(event, a.outcome, row)
}

// verdictError is an outcome as the contract's error. The row is as the event found it.
func verdictError(event api.RemoteLogMetadata, outcome codec.Outcome, row *codec.Row) error {
	switch outcome {
	case codec.OutcomeApplied:
		return nil
	case codec.OutcomeInvalidAdd:
		e := event.(api.RemoteLogSegmentMetadata)
		return &api.InvalidAddError{ID: e.ID, State: e.State, Known: &row.Segment}
	case codec.OutcomeSegmentNotFound:
		return &api.SegmentNotFoundError{ID: event.(api.RemoteLogSegmentMetadataUpdate).ID}
	case codec.OutcomeInvalidSegmentTransition:
		e := event.(api.RemoteLogSegmentMetadataUpdate)
		return &api.InvalidSegmentTransitionError{ID: e.ID, From: row.Segment.State, To: e.State}
	}
	e := event.(api.RemotePartitionDeleteMetadata)
	from := api.DeletePartitionNone
	if row != nil {
		from = row.Delete.State
	}
	return &api.InvalidPartitionDeleteTransitionError{TopicIdPartition: e.TopicIdPartition, From: from, To: e.State}
}

// sameVerdict compares two outcomes, the known segment of a refused add included.
func sameVerdict(got, want error) bool {
	if got == nil || want == nil {
		return (got == nil) == (want == nil)
	}
	a, isAdd := errors.AsType[*api.InvalidAddError](got)
	b, wantAdd := errors.AsType[*api.InvalidAddError](want)
	if isAdd && wantAdd {
		return a.Known != nil && a.Known.Equal(*b.Known)
	}
	return got.Error() == want.Error()
}
