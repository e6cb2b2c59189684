package views

import (
	"errors"
	"slices"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
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
		if msg.Offset == noOffset {
			acked <- ack{err: &api.UnacknowledgedError{Op: opPublish, Err: errNoOffset}}
			return
		}
		acked <- ack{offset: msg.Offset}
	})
	return acked
}

// publishError is a failed publish as the contract's error.
func (m *Manager) publishError(err error) error {
	var tooLarge sarama.ConfigurationError // sarama's own check of the size
	var unanswered *unansweredError
	switch {
	case errors.Is(err, goka.ErrEmitterAlreadyClosed):
		return api.ErrClosed
	case errors.As(err, &tooLarge):
		return &api.InvalidArgumentError{Field: "event", Reason: err.Error()}
	case errors.As(err, &unanswered):
		return &api.UnacknowledgedError{Op: opPublish, Err: unanswered.error}
	}
	return &api.IOError{Op: opPublish, Err: kafka.Denied(err, "Write", kafka.OnTopic(m.cfg.MetadataTopic))}
}

// unansweredError is the failure of an event that may have reached a broker.
type unansweredError struct{ error }

func (e *unansweredError) Unwrap() error { return e.error }

// refusals are a broker's answers to a batch that it hasn't appended.
var refusals = []sarama.KError{
	sarama.ErrTopicAuthorizationFailed, sarama.ErrClusterAuthorizationFailed,
	sarama.ErrMessageSizeTooLarge, sarama.ErrMessageSetSizeTooLarge,
	sarama.ErrInvalidRecord, sarama.ErrInvalidTimestamp, sarama.ErrPolicyViolation,
}

// failure tells an event that no broker has from one that a broker may have: one that
// was put into a request, unless the answer to the first try is a refusal. Later answers
// say nothing of the tries before.
func failure(err error, sent, retried bool) error {
	var code sarama.KError
	if !sent || !retried && errors.As(err, &code) && slices.Contains(refusals, code) {
		return err
	}
	return &unansweredError{err}
}
