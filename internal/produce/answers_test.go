package produce

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
)

// wanted is what becomes of an event, and of the one behind it.
type wanted struct {
	offset int64
	err    error // of the last try
	maybe  bool  // the failure is an UnansweredError
	tries  int
	lies   int // how often it lies in the partition
	epoch  int16
	newID  bool
}

func (w wanted) check(t *testing.T, b *broker, got result) {
	t.Helper()
	_, maybe := errors.AsType[*UnansweredError](got.err)
	if got.offset != w.offset || !errors.Is(got.err, w.err) || maybe != w.maybe {
		t.Errorf("got %v, %v; want %+v", got.offset, got.err, w)
	}
	all := b.batches()
	tried := slices.DeleteFunc(slices.Clone(all), func(s sent) bool { return s.values[0] != "event" })
	if len(tried) != w.tries {
		t.Errorf("%d tries, want %d", len(tried), w.tries)
	}
	if lies := b.lies(0, "event"); lies != w.lies {
		t.Errorf("it lies there %d times, want %d", lies, w.lies)
	}
}

// next sees that the event behind it is written, by whom it is to be.
func (w wanted) next(t *testing.T, b *broker, p *producerOf) {
	t.Helper()
	if got := p.await(p.send(0, "next")); got.err != nil || got.offset != int64(w.lies) {
		t.Errorf("the next one: %v", got)
	}
	all := b.batches()
	first, last := all[0], all[len(all)-1]
	seq := int32(1) // behind the event
	if w.err != nil {
		seq = 0
	}
	if last.epoch != w.epoch || (last.id != first.id) != w.newID || last.seq != seq {
		t.Errorf("the next one is by %d/%d from %d; the first was by %d/%d", last.id, last.epoch, last.seq, first.id, first.epoch)
	}
}

// What the broker does with an event, and what it comes to.
func TestAnswers(t *testing.T) {
	dup := kerr.DuplicateSequenceNumber
	denied := kerr.TopicAuthorizationFailed
	for _, tt := range []struct {
		name    string
		script  []step
		forever bool // the last of the script
		want    wanted
	}{
		{"it works", nil, false, wanted{tries: 1, lies: 1}},
		{"it is refused", []step{says(denied)}, false, wanted{offset: -1, err: sarama.ErrTopicAuthorizationFailed, tries: 1}},
		{"it is too large", []step{says(kerr.MessageTooLarge)}, false, wanted{offset: -1, err: sarama.ErrMessageSizeTooLarge, tries: 1}},
		{"its time is refused", []step{says(kerr.InvalidTimestamp)}, false, wanted{offset: -1, err: sarama.ErrInvalidTimestamp, tries: 1}},
		{"the leader moves", []step{says(kerr.NotLeaderForPartition), says(kerr.LeaderNotAvailable)}, false, wanted{tries: 3, lies: 1}},
		{"the leader moved behind it", []step{appendsAndSays(kerr.NotLeaderForPartition)}, false, wanted{tries: 2, lies: 1}},
		{"too few replicas", []step{says(kerr.NotEnoughReplicas)}, false, wanted{tries: 2, lies: 1}},
		{"too few replicas behind it", []step{appendsAndSays(kerr.NotEnoughReplicasAfterAppend)}, false, wanted{tries: 2, lies: 1}},
		{"too few replicas for too long", []step{appendsAndSays(kerr.NotEnoughReplicasAfterAppend)}, true, wanted{
			offset: -1, err: sarama.ErrNotEnoughReplicasAfterAppend, maybe: true, tries: 1 + retries, lies: 1, epoch: 1,
		}},
		{"a broken disk for too long", []step{says(kerr.KafkaStorageError)}, true, wanted{
			offset: -1, err: sarama.ErrKafkaStorageError, maybe: true, tries: 1 + retries, epoch: 1,
		}},
		{"the connection breaks before it", []step{hangsUp}, false, wanted{tries: 2, lies: 1}},
		{"the connection breaks behind it", []step{losesAnswer, losesAnswer}, false, wanted{tries: 3, lies: 1}},
		{"an answer that lacks it", []step{{append: true, silent: true}}, false, wanted{tries: 2, lies: 1}},
		{"a duplicate", []step{losesAnswer, says(dup)}, false, wanted{offset: -1, tries: 2, lies: 1}},
		{"a duplicate with its offset", []step{losesAnswer, {code: dup, offset: 7}}, false, wanted{offset: 7, tries: 2, lies: 1}},
		{"refused after a try that brought no answer", []step{losesAnswer, says(denied)}, false, wanted{
			offset: -1, err: sarama.ErrTopicAuthorizationFailed, maybe: true, tries: 2, lies: 1, epoch: 1,
		}},
		{"too large after such a try", []step{losesAnswer, says(kerr.MessageTooLarge)}, false, wanted{
			offset: -1, err: sarama.ErrMessageSizeTooLarge, maybe: true, tries: 2, lies: 1, epoch: 1,
		}},
		{"a fault of the broker's", []step{says(kerr.UnknownServerError)}, false, wanted{
			offset: -1, err: sarama.ErrUnknown, maybe: true, tries: 1, epoch: 1,
		}},
		{"another sequence is expected", []step{says(kerr.OutOfOrderSequenceNumber)}, false, wanted{tries: 2, lies: 1, epoch: 1}},
		{"another sequence is always expected", []step{says(kerr.OutOfOrderSequenceNumber)}, true, wanted{
			offset: -1, err: sarama.ErrOutOfOrderSequenceNumber, tries: 1 + retries, epoch: 1 + retries,
		}},
		{"another sequence after a try that brought no answer", []step{losesAnswer, says(kerr.OutOfOrderSequenceNumber)}, false, wanted{
			offset: -1, err: sarama.ErrOutOfOrderSequenceNumber, maybe: true, tries: 2, lies: 1, epoch: 1,
		}},
		{"the broker has forgotten us", []step{says(kerr.UnknownProducerID)}, false, wanted{tries: 2, lies: 1, epoch: 1}},
		{"the broker knows a later epoch", []step{says(kerr.InvalidProducerEpoch)}, false, wanted{tries: 2, lies: 1, newID: true}},
		{"fenced", []step{says(kerr.ProducerFenced)}, false, wanted{tries: 2, lies: 1, newID: true}},
		{"fenced after a try that brought no answer", []step{losesAnswer, says(kerr.InvalidProducerEpoch)}, false, wanted{
			offset: -1, err: sarama.ErrInvalidProducerEpoch, maybe: true, tries: 2, lies: 1, newID: true,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBroker(t, tt.script...)
			if tt.forever {
				b.forever = &tt.script[0]
			}
			p := b.producer()
			tt.want.check(t, b, p.await(p.send(0, "event")))
			b.do(func() { b.forever = nil })
			tt.want.next(t, b, p)
		})
	}
}

// A batch is tried again as it was: the same bytes under the same sequences.
func TestTriesAreTheSame(t *testing.T) {
	b := newBroker(t, works, losesAnswer, says(kerr.NotLeaderForPartition), hangsUp)
	p := b.producer()
	p.await(p.send(0, "first"))
	p.await(p.send(0, "event"))
	all := b.batches()[1:]
	for _, s := range all[1:] {
		s.request = all[0].request
		if diff := cmp.Diff(all[0], s, cmp.AllowUnexported(sent{})); diff != "" {
			t.Error(diff)
		}
	}
	if len(all) != 4 || all[0].seq != 1 {
		t.Errorf("%d tries, from sequence %d", len(all), all[0].seq)
	}
}

// The broker forgets the producer, or the log loses its end, between two events.
func TestForgottenBetweenEvents(t *testing.T) {
	for _, tt := range []struct {
		name   string
		happen func(*log)
	}{
		{"forgotten", func(l *log) { l.producers = map[int64]*producerState{} }},
		{"truncated", func(l *log) {
			for _, p := range l.producers {
				p.cached = p.cached[:1]
			}
			l.values = l.values[:1]
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBroker(t)
			p := b.producer()
			for i := range 3 {
				p.await(p.send(0, fmt.Sprint(i)))
			}
			b.do(func() { tt.happen(b.logs[0]) })
			if got := p.await(p.send(0, "event")); got.err != nil || b.at(0, got.offset) != "event" {
				t.Errorf("%v", got)
			}
		})
	}
}

// The epochs of an id are used up: there is another id.
func TestEpochsUsedUp(t *testing.T) {
	b := newBroker(t)
	p := b.producer()
	last := identity{p.identities.get().id, math.MaxInt16}
	p.identities.current.Store(&last)
	p.await(p.send(0, "first"))
	b.do(func() { b.script = []step{says(kerr.UnknownServerError)} })
	p.await(p.send(0, "failed"))
	if got := p.await(p.send(0, "next")); got.err != nil {
		t.Error(got.err)
	}
	if id := p.identities.get(); id.id == last.id || id.epoch != 0 || b.ids != 2 {
		t.Errorf("it is %v after %d requests", id, b.ids)
	}
}
