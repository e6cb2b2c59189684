package views

import (
	"errors"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/produce"
)

// opPublish is what failed when a publish did.
const opPublish = "publish the event"

// ack is what became of a publish; the error is the contract's.
type ack struct {
	offset int64
	err    error
}

// errNoOffset says that the broker took the event without saying where it lies.
var errNoOffset = errors.New("acknowledged without an offset")

// emit publishes the event; the answer always comes.
func (m *Manager) emit(event api.RemoteLogMetadata) <-chan ack {
	acked := make(chan ack, 1)
	promise, err := m.emitter.Emit(codec.EventKey(event), event)
	if err != nil {
		m.publishing.Release(1)
		acked <- ack{err: &api.InvalidArgumentError{Field: "event", Reason: err.Error()}}
		return acked
	}
	promise.ThenWithMessage(func(msg *sarama.ProducerMessage, err error) {
		m.publishing.Release(1)
		if err != nil {
			acked <- ack{err: m.publishError(err)}
			return
		}
		if msg.Offset == produce.NoOffset {
			acked <- ack{err: &api.UnacknowledgedError{Op: opPublish, Err: errNoOffset}}
			return
		}
		acked <- ack{offset: msg.Offset}
	})
	return acked
}

// publishError is a failed publish as the contract's error.
func (m *Manager) publishError(err error) error {
	var tooLarge *produce.TooLargeError
	var unanswered *produce.UnansweredError
	switch {
	case errors.Is(err, goka.ErrEmitterAlreadyClosed):
		return api.ErrClosed
	case errors.As(err, &tooLarge):
		return &api.InvalidArgumentError{Field: "event", Reason: err.Error()}
	case errors.As(err, &unanswered):
		return &api.UnacknowledgedError{Op: opPublish, Err: unanswered.Err}
	}
	return &api.IOError{Op: opPublish, Err: kafka.Denied(err, "Write", kafka.OnTopic(m.cfg.MetadataTopic))}
}
