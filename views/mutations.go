package views

import (
	"context"
	"errors"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/table"
	"github.com/tieredlog/rlmm/processor/fold"
)

// AddRemoteLogSegmentMetadata implements [api.RemoteLogMetadataManager].
func (m *Manager) AddRemoteLogSegmentMetadata(ctx context.Context, metadata api.RemoteLogSegmentMetadata) (api.Position, error) {
	if err := metadata.Validate(); err != nil {
		return api.NotPublished, err
	}
	if metadata.State != api.CopySegmentStarted {
		return api.NotPublished, &api.InvalidAddError{ID: metadata.ID, State: metadata.State}
	}
	return m.mutate(ctx, metadata)
}

// UpdateRemoteLogSegmentMetadata implements [api.RemoteLogMetadataManager].
func (m *Manager) UpdateRemoteLogSegmentMetadata(ctx context.Context, update api.RemoteLogSegmentMetadataUpdate) (api.Position, error) {
	return m.mutate(ctx, update)
}

// PutRemotePartitionDeleteMetadata implements [api.RemoteLogMetadataManager].
func (m *Manager) PutRemotePartitionDeleteMetadata(ctx context.Context, metadata api.RemotePartitionDeleteMetadata) (api.Position, error) {
	return m.mutate(ctx, metadata)
}

// mutate publishes an event and waits for the fleet's verdict on just that record.
func (m *Manager) mutate(ctx context.Context, event api.RemoteLogMetadata) (api.Position, error) {
	if err := event.Validate(); err != nil {
		return api.NotPublished, err
	}
	if m.ctx.Err() != nil {
		return api.NotPublished, api.ErrClosed
	}
	tip := event.Partition()
	p, err := m.partitionFor(tip)
	if err != nil {
		return api.NotPublished, err
	}
	ctx, cancel := p.mutationContext(ctx)
	defer cancel()
	if event, err = p.prepare(ctx, event); err != nil {
		return api.NotPublished, err
	}
	return p.publish(ctx, event)
}

// mutationContext ends with the caller's, after consume.wait, with Shutdown, and when
// the partition is no longer assigned, is paused or can't go on.
func (p *partition) mutationContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	wait := time.AfterFunc(p.m.cfg.ConsumeWait, func() { cancel(errConsumeWait) })
	lost := p.lost.next(p.ctx)
	stop := context.AfterFunc(lost, func() {
		if p.ctx.Err() != nil {
			cancel(p.gone())
		}
		cancel(context.Cause(lost))
	})
	return ctx, func() {
		stop()
		wait.Stop()
		cancel(nil)
	}
}

// gone is why the partition is no longer viewed.
func (p *partition) gone() error {
	if p.m.ctx.Err() != nil {
		return api.ErrClosed
	}
	return notAssigned(p.number)
}

// errConsumeWait ends a mutation that took longer than consume.wait.
var errConsumeWait = errors.New("consume wait is over")

// prepare fills in the topic's name and refuses what the state forbids.
func (p *partition) prepare(ctx context.Context, event api.RemoteLogMetadata) (api.RemoteLogMetadata, error) {
	switch {
	case p.paused.Load():
		return nil, &api.PausedError{MetadataPartition: p.number}
	case !p.ready.isOpen():
		return nil, p.notReady()
	}
	event, err := p.named(event)
	if err != nil {
		return nil, err
	}
	if err := p.verdict(event); err == nil || errors.Is(err, api.ErrIO) {
		return event, err
	}
	// The view may be behind: what it forbids may have become valid meanwhile.
	if err := p.catchUp(ctx); err != nil {
		return nil, err
	}
	return event, p.verdict(event)
}

// catchUp waits until the view has applied all that is on the metadata topic now.
func (p *partition) catchUp(ctx context.Context) error {
	end, err := p.end(ctx)
	if gone := goneError(ctx); gone != nil {
		return gone
	}
	if err != nil {
		return p.topicError(err)
	}
	if _, err := p.awaitEnd(ctx, end); err != nil {
		if gone := goneError(ctx); gone != nil {
			return gone
		}
		return &api.NotReadyError{MetadataPartition: p.number, Assigned: true, Applied: p.progress.appliedOffset(), Target: end - 1, Err: err}
	}
	return nil
}

// verdict is what the fold would say now.
func (p *partition) verdict(event api.RemoteLogMetadata) error {
	key := codec.EventKey(event)
	value, err := p.value(key)
	if err != nil {
		return err
	}
	row, err := decodeRow(key, value)
	if err != nil {
		return err
	}
	_, outcome := fold.Fold(row, event, 0)
	return outcomeError(event, outcome, row)
}

func (p *partition) value(key string) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.store == nil {
		return nil, p.notReady()
	}
	value, err := p.store.Get(key)
	if err != nil {
		return nil, p.readError(err)
	}
	return value, nil
}

func decodeRow(key string, value []byte) (*codec.Row, error) {
	if value == nil {
		return nil, nil
	}
	row, err := table.DecodeRow(key, value)
	if err != nil {
		return nil, &api.IOError{Op: "read a row", Err: err}
	}
	return &row, nil
}

// publish puts the event on the topic and waits for its outcome.
func (p *partition) publish(ctx context.Context, event api.RemoteLogMetadata) (api.Position, error) {
	if err := p.m.publishing.Acquire(ctx, 1); err != nil {
		return api.NotPublished, waitError(ctx)
	}
	flight := p.progress.takeOff(codec.EventKey(event))
	acked := p.m.emit(event)
	select {
	case a := <-acked:
		if a.err != nil {
			p.progress.land(flight)
			return api.NotPublished, a.err
		}
		if a.offset <= flight.since {
			p.progress.land(flight)
			return p.elsewhere(ctx, a.offset, flight.since)
		}
		return p.await(ctx, event, a.offset, flight)
	case <-ctx.Done():
		p.progress.land(flight) // nobody waits for its answer
		return api.NotPublished, &api.UnacknowledgedError{Op: opPublish, Err: context.Cause(ctx)}
	}
}

// waitError is why an event wasn't published when the context has ended.
func waitError(ctx context.Context) error {
	if gone := goneError(ctx); gone != nil {
		return gone
	}
	return &api.IOError{Op: "wait to publish", Err: context.Cause(ctx)}
}

// goneError returns why a mutation's context has ended when that is the manager's doing:
// shut down, or the partition no longer assigned, or paused. Whatever failed meanwhile
// failed for that, and its words would mislead.
func goneError(ctx context.Context) error {
	err := context.Cause(ctx)
	if errors.Is(err, api.ErrClosed) || errors.Is(err, api.ErrNotAssigned) || errors.Is(err, api.ErrPaused) {
		return err
	}
	return nil
}

// elsewhereWait is how long elsewhere asks for the topic's end.
const elsewhereWait = 10 * time.Second

// errElsewhere says that the acknowledgement can't be believed.
var errElsewhere = errors.New("acknowledged at an offset that was applied before")

// elsewhere is what becomes of an event at an offset that was applied before it was
// published: it lies on another topic than the one that the state was made from. That is
// believed only when the topic itself shows it.
func (p *partition) elsewhere(ctx context.Context, offset, applied int64) (api.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, elsewhereWait)
	defer cancel()
	_, err := p.end(ctx)
	if err == nil {
		err = p.sameTopic(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // others may have found it out meanwhile
	}
	if err == nil || severity(err) != isWrong {
		return api.NotPublished, &api.UnacknowledgedError{Op: opPublish, Err: errors.Join(errElsewhere, err)}
	}
	at := api.Position{MetadataPartition: p.number, Offset: offset}
	return at, &api.TimeoutError{Position: at, Applied: applied, Err: err}
}

// errOtherEvent says that the answer isn't to the event that was published at its offset:
// the event lies on a topic that was created anew since.
var errOtherEvent = errors.New("the fleet found another event there: the metadata topic was created again")

// await waits for the answer to the event that was acknowledged at the offset.
func (p *partition) await(ctx context.Context, event api.RemoteLogMetadata, offset int64, f *flight) (api.Position, error) {
	at := api.Position{MetadataPartition: p.number, Offset: offset}
	answers := p.progress.landAt(f, offset)
	select {
	case a := <-answers:
		if a == nil {
			return at, &api.OutcomeUnknownError{Position: at}
		}
		if !p.isTo(event, a) {
			return at, p.timeout(at, f, errOtherEvent)
		}
		row, err := decodeRow(a.key, a.value)
		if err != nil {
			return at, err
		}
		return at, outcomeError(event, a.outcome, row)
	case <-ctx.Done():
		p.progress.forget(offset, answers)
		return at, p.timeout(at, f, context.Cause(ctx))
	}
}

// isTo tells whether the answer is to the event: it lies under the event's key, or under
// the partition's own when the row would have been too large.
func (p *partition) isTo(event api.RemoteLogMetadata, a *answer) bool {
	return a.key == codec.EventKey(event) ||
		a.outcome == codec.OutcomeTooLarge && a.key == codec.RejectedKey(p.number)
}

// timeout is the end of a wait for an outcome, and what ended it.
func (p *partition) timeout(at api.Position, f *flight, cause error) error {
	applied := p.progress.appliedOffset()
	switch {
	case !errors.Is(cause, errConsumeWait):
	case applied <= f.since:
		cause = api.ErrNoProgress
	default:
		cause = nil
	}
	return &api.TimeoutError{Position: at, Applied: applied, Err: cause}
}

// outcomeError is the outcome as the contract's error. row is the row that refused the
// event, which a refusal leaves as it was.
func outcomeError(event api.RemoteLogMetadata, outcome codec.Outcome, row *codec.Row) error {
	switch e := event.(type) {
	case api.RemoteLogSegmentMetadata:
		if outcome == codec.OutcomeInvalidAdd {
			return invalidAdd(e, row)
		}
	case api.RemoteLogSegmentMetadataUpdate:
		switch outcome {
		case codec.OutcomeSegmentNotFound:
			return &api.SegmentNotFoundError{ID: e.ID}
		case codec.OutcomeInvalidSegmentTransition:
			return &api.InvalidSegmentTransitionError{ID: e.ID, From: row.Segment.State, To: e.State}
		}
	case api.RemotePartitionDeleteMetadata:
		if outcome == codec.OutcomeInvalidPartitionDeleteTransition {
			return invalidDelete(e, row)
		}
	}
	if outcome.Rejected() {
		return &api.InvalidArgumentError{Field: "event", Reason: "the fleet refused it: " + outcome.String()}
	}
	return nil
}

func invalidAdd(e api.RemoteLogSegmentMetadata, row *codec.Row) error {
	err := &api.InvalidAddError{ID: e.ID, State: e.State}
	if row != nil && row.Kind == codec.RowSegment {
		err.Known = &row.Segment
	}
	return err
}

func invalidDelete(e api.RemotePartitionDeleteMetadata, row *codec.Row) error {
	from := api.DeletePartitionNone
	if row != nil {
		from = row.Delete.State
	}
	return &api.InvalidPartitionDeleteTransitionError{TopicIdPartition: e.TopicIdPartition, From: from, To: e.State}
}

// named fills in the name of a topic that the event leaves out and the state knows.
func (p *partition) named(event api.RemoteLogMetadata) (api.RemoteLogMetadata, error) {
	tip := event.Partition()
	if tip.Topic != "" {
		return event, nil
	}
	name, err := p.topicName(tip)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, &api.InvalidArgumentError{Field: "topic", Reason: "needed, since the partition isn't known"}
	}
	switch e := event.(type) {
	case api.RemoteLogSegmentMetadata:
		e.ID.TopicIdPartition.Topic = name
		return e, nil
	case api.RemoteLogSegmentMetadataUpdate:
		e.ID.TopicIdPartition.Topic = name
		return e, nil
	case api.RemotePartitionDeleteMetadata:
		e.TopicIdPartition.Topic = name
		return e, nil
	}
	return event, nil
}

// topicName is the name that the partition's rows carry; empty when there are none.
func (p *partition) topicName(tip api.TopicIdPartition) (string, error) {
	start, limit := codec.PartitionRange(tip)
	for row, err := range p.rows(start, limit) {
		if err != nil {
			return "", err
		}
		return rowTopic(row), nil
	}
	return "", nil
}

func rowTopic(row codec.Row) string {
	if row.Kind == codec.RowPartition {
		return row.Delete.TopicIdPartition.Topic
	}
	return row.Segment.ID.TopicIdPartition.Topic
}
