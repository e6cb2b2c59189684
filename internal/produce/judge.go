package produce

import (
	"errors"
	"slices"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/internal/kafka"
)

// UnansweredError is the failure of an event that may have reached a broker.
type UnansweredError struct{ Err error }

// Error is the last try's.
func (e *UnansweredError) Error() string { return e.Err.Error() }

// Unwrap returns it.
func (e *UnansweredError) Unwrap() error { return e.Err }

// answer is what became of one try.
type answer int

const (
	taken answer = iota
	// Not appended.
	refused      // nor ever
	tooLarge     // a smaller one may be
	lostSequence // the broker's last sequence isn't ours
	lostID       // the broker takes nothing from our id
	notHeard     // no broker heard of it; that may heal
	// Perhaps appended.
	unclear
	broken // and no other try says more
)

// answersTo sorts the brokers' answers. What isn't listed is broken.
var answersTo = map[sarama.KError]answer{
	sarama.ErrNoError: taken,
	// The broker has the batch, and knows no more where.
	sarama.ErrDuplicateSequenceNumber: taken,

	sarama.ErrTopicAuthorizationFailed: refused, sarama.ErrClusterAuthorizationFailed: refused,
	sarama.ErrInvalidRecord: refused, sarama.ErrInvalidTimestamp: refused, sarama.ErrPolicyViolation: refused,

	sarama.ErrMessageSizeTooLarge: tooLarge, sarama.ErrMessageSetSizeTooLarge: tooLarge,

	sarama.ErrOutOfOrderSequenceNumber: lostSequence, sarama.ErrUnknownProducerID: lostSequence,
	sarama.ErrInvalidProducerEpoch: lostID, sarama.ErrProducerFenced: lostID, sarama.ErrInvalidProducerIDMapping: lostID,

	// A leader says these of a batch that it has appended too, when it waits for replicas.
	sarama.ErrNotLeaderForPartition: unclear, sarama.ErrUnknownTopicOrPartition: unclear,
	sarama.ErrLeaderNotAvailable: unclear, sarama.ErrReplicaNotAvailable: unclear,
	sarama.ErrRequestTimedOut: unclear, sarama.ErrNetworkException: unclear,
	sarama.ErrNotEnoughReplicas: unclear, sarama.ErrNotEnoughReplicasAfterAppend: unclear,
	sarama.ErrKafkaStorageError: unclear, sarama.ErrInvalidMessage: unclear,
	// Of the connection, when it logs in once more.
	sarama.ErrSASLAuthenticationFailed: unclear,
}

// answerIn is what an error of a try says.
func answerIn(err error) answer {
	if _, ok := errors.AsType[*notSentError](err); ok {
		return unheard(err)
	}
	if code, ok := errors.AsType[sarama.KError](err); ok {
		if a, ok := answersTo[code]; ok {
			return a
		}
		return broken
	}
	if _, ok := errors.AsType[sarama.PacketEncodingError](err); ok {
		return refused // before it was sent
	}
	if err == nil {
		return taken
	}
	return unclear // the connection broke, or what came over it is no answer
}

// unheard is the answer that a try had which wasn't sent. Who may log in may change while
// the producer waits.
func unheard(err error) answer {
	if kafka.CanHeal(err) || kafka.IsLoginRefused(err) {
		return notHeard
	}
	return refused
}

// verdict is what becomes of a batch after a try.
type verdict int

const (
	accepted verdict = iota
	again            // the same batch, with the same sequences
	anew             // under another identity: no broker has it
	halve            // in smaller batches
	failed
)

// judge counts a try. last says that no other one may follow.
func (b *batch) judge(a answer, last bool) verdict {
	b.tries++
	b.maybe = b.maybe || a >= unclear
	switch {
	case a == taken:
		return accepted
	case a == tooLarge && len(b.events) > 1 && !b.maybe:
		return halve
	case last || slices.Contains([]answer{refused, tooLarge, broken}, a):
		return failed
	case a == notHeard || a == unclear:
		return again
	case b.maybe: // nobody knows whether its sequences are taken
		return failed
	}
	return anew
}

// failure tells an event that no broker has from one that a broker may have.
func (b *batch) failure(err error) error {
	if b.maybe {
		return &UnansweredError{err}
	}
	return err
}
