package table

import (
	"errors"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/codec"
)

// reject emits a rejected event of partition 0 and its answer.
func reject(w *Writer, offset int64) *result {
	headers := AnswerHeaders(offset, codec.OutcomeUndecodable)
	w.EmitWithHeaders(rejectedTopic, codec.RejectedKey(0), []byte("junk"), headers)
	return wait(w.Write(answer(codec.RejectedKey(0), nil, offset, codec.OutcomeUndecodable)))
}

// nextSent is the next rejected event that came to its producer.
func (w *world) nextSent() sent {
	w.t.Helper()
	select {
	case s := <-w.other.sent:
		return s
	case <-w.ctx.Done():
		w.t.Fatal("waited too long for a rejected event")
		return sent{}
	}
}

// An answer isn't in the table before its rejection is taken; what lies before it doesn't
// wait, what lies behind it does.
func TestAnswerWaitsForItsRejection(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	s := w.own(writer, 0)
	before := emit(writer, 0, 0)
	rejected, behind := reject(writer, 1), emit(writer, 0, 2)
	rejection := w.nextSent()
	wantSame(t, "topic", rejectedTopic, rejection.topic)
	wantSame(t, "key", codec.RejectedKey(0), rejection.key)
	w.awaitAll([]*result{before})
	w.own(writer, 1)
	w.awaitAll([]*result{emit(writer, 1, 0)}) // the other partition goes on
	wantSame(t, "answers", []int64{0}, w.sources(0))
	wantSame(t, "applied", int64(0), s.Committed().Applied)
	rejection.finish(nil)
	w.awaitAll([]*result{rejected, behind})
	wantSame(t, "answers", []int64{0, 1, 2}, w.sources(0))
	w.wantExact(s, 0)
}

// Rejections wait together, and their answers go in few batches.
func TestAnswersOfManyRejectionsGoTogether(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	w.own(writer, 0)
	seen := w.watchBatches()
	results := []*result{reject(writer, 0)}
	first := w.nextSent()
	for offset := range int64(maxRejections) {
		results = append(results, reject(writer, offset+1))
	}
	first.finish(nil)
	for range maxRejections {
		w.nextSent().finish(nil)
	}
	w.awaitAll(results)
	if n := len(seen.get()); n > 4 {
		t.Errorf("%d batches", n)
	}
}

// A rejection that may be taken later is sent again until it is.
func TestRejectionIsSentUntilItIsTaken(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	w.own(writer, 0)
	rejected := reject(writer, 0)
	for _, err := range []error{sarama.ErrNotEnoughReplicas, sarama.ErrUnknown, sarama.ErrMessageSizeTooLarge} {
		w.nextSent().finish(err)
	}
	last := w.nextSent()
	wantSame(t, "failures that were told", int64(3), w.rejectionsFailed.Load())
	wantSame(t, "answers", []int64(nil), w.sources(0))
	last.finish(nil)
	w.awaitAll([]*result{rejected})
	wantSame(t, "answers", []int64{0}, w.sources(0))
}

// A rejection that can't be taken fails the partition: its answer is never written.
func TestRejectionThatFailsForGood(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	w.own(writer, 0)
	rejected, behind := reject(writer, 0), emit(writer, 0, 1)
	w.nextSent().finish(sarama.ErrTopicAuthorizationFailed)
	for _, r := range []*result{rejected, behind} {
		if err := w.await(r); !errors.Is(err, sarama.ErrTopicAuthorizationFailed) || !strings.Contains(err.Error(), "Write on topic "+rejectedTopic) {
			t.Errorf("answer: %v", err)
		}
	}
	wantSame(t, "answers", []int64(nil), w.sources(0))
	w.own(writer, 0)
	rejected = reject(writer, 0)
	w.nextSent().finish(nil)
	w.awaitAll([]*result{rejected})
	wantSame(t, "answers", []int64{0}, w.sources(0))
}

// A partition is given up at once whose rejections nobody takes, also with more of them
// than may wait.
func TestReleaseEndsTheWaitForRejections(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	w.own(writer, 0)
	full := make(chan *result)
	go func() {
		defer close(full)
		for offset := range int64(3 * maxRejections) {
			full <- reject(writer, offset)
		}
	}()
	results := []*result{<-full}
	w.nextSent()
	writer.Release()
	for r := range full {
		results = append(results, r)
	}
	for i, r := range results {
		if w.await(r) == nil {
			t.Errorf("answer %d is written", i)
		}
	}
	wantSame(t, "answers", []int64(nil), w.sources(0))
}

// A clock that a topic refuses is named.
func TestRefusedTimeNamesTheClock(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	w.own(writer, 0)
	w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.InvalidTimestamp})
	wantClock := func(r *result, topic string) {
		t.Helper()
		if err := w.await(r); !errors.Is(err, sarama.ErrInvalidTimestamp) || !strings.Contains(err.Error(), topic+" refuses this host's time") {
			t.Errorf("error: %v", err)
		}
	}
	wantClock(emit(writer, 0, 0), tableTopic)
	w.own(writer, 0)
	rejected := reject(writer, 0)
	w.nextSent().finish(sarama.ErrInvalidTimestamp)
	wantClock(rejected, rejectedTopic)
}
