package table

import (
	"context"
	"sync/atomic"

	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/internal/kafka"
)

// maxRejections is how many rejected events of one partition may wait, and how many are
// sent at once; then EmitWithHeaders blocks. They may be as large as events get.
const maxRejections = 64

// rejection is a rejected event on its way to its topic.
type rejection struct {
	topic, key string
	value      []byte
	headers    goka.Headers
	taken      atomic.Bool // by the topic
}

// reject queues a rejected event, and has what is submitted from now on wait for it: an
// answer in the table says that the event is dealt with. It blocks while too many wait.
func (o *owner) reject(r *rejection) error {
	select {
	case o.rejections <- r:
	case <-o.ctx.Done():
		return context.Cause(o.ctx)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.before = append(o.before, r)
	return nil
}

// runRejections sends rejected events until the owner fails.
func (o *owner) runRejections() {
	for {
		select {
		case <-o.ctx.Done():
			return
		case r := <-o.rejections:
			if err := o.sendRejections(o.ctx, o.roundOf(r)); err != nil {
				o.w.cfg.Failed(err)
				o.fail(err)
				return
			}
		}
	}
}

// roundOf returns the rejection and those that wait behind it.
func (o *owner) roundOf(r *rejection) []*rejection {
	round := []*rejection{r}
	for len(round) < maxRejections {
		select {
		case r := <-o.rejections:
			round = append(round, r)
		default:
			return round
		}
	}
	return round
}

// sendRejections returns when the topic has taken all, or at an error that no retry
// mends. One that may have been taken is sent again: readers know it by its offset.
func (o *owner) sendRejections(ctx context.Context, round []*rejection) error {
	topic := round[0].topic
	err := o.retry(ctx, func() (err error) {
		round, err = o.tryReject(ctx, round)
		if err != nil && !isFatal(err) && ctx.Err() == nil {
			o.w.cfg.RejectionFailed(ctx, o.partition, err)
		}
		return err
	})
	return kafka.Denied(clockError(err, topic), "Write", kafka.OnTopic(topic))
}

// tryReject sends the rejections and returns those that weren't taken, and why.
func (o *owner) tryReject(ctx context.Context, round []*rejection) (left []*rejection, err error) {
	type result struct {
		*rejection
		err error
	}
	results := make(chan result, len(round)) // nobody may be left to receive
	defer o.poke()                           // once, so that the answers go in one batch
	for _, r := range round {
		promise := o.w.cfg.Other.EmitWithHeaders(r.topic, r.key, r.value, r.headers)
		promise.Then(func(err error) { results <- result{r, err} })
	}
	for range round {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case r := <-results:
			if r.err != nil {
				left, err = append(left, r.rejection), r.err
				continue
			}
			r.taken.Store(true)
		}
	}
	return left, err
}
