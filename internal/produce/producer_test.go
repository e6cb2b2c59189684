package produce

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/internal/kafka"
)

// What comes while a request is under way goes into the next one, all of it: one batch of
// each partition, in the order in which it came.
func TestNextRequestTakesAllThatCame(t *testing.T) {
	b := newBroker(t)
	held, release := b.hold()
	p := b.producer()
	results := []<-chan result{p.send(0, "first")}
	b.awaitClosed("the first request", held)
	for i := range 300 {
		results = append(results, p.send(int32(i%partitions), fmt.Sprint(i)))
	}
	release()
	for i, done := range results[1:] {
		if got := p.await(done); got.err != nil || b.at(i%partitions, got.offset) != fmt.Sprint(i) {
			t.Errorf("event %d: %v", i, got)
		}
	}
	var counts []string
	for _, s := range b.batches() {
		counts = append(counts, fmt.Sprintf("%d in request %d from %d", len(s.values), s.request, s.seq))
	}
	if len(counts) != 1+partitions || b.requests != 2 {
		t.Errorf("%d requests with %v", b.requests, counts)
	}
}

// The topic takes less in one batch than it did: what is too large is halved, and what
// follows comes in batches of that size.
func TestLoweredLimit(t *testing.T) {
	b := newBroker(t)
	held, release := b.hold()
	p := b.producer()
	results := []<-chan result{p.send(0, "first")}
	b.awaitClosed("the first request", held)
	b.do(func() { b.limit = 2000 })
	large := strings.Repeat("x", 400)
	for i := range 40 {
		results = append(results, p.send(0, fmt.Sprint(large, i)))
	}
	release()
	for i, done := range results[1:] {
		if got := p.await(done); got.offset != int64(i+1) || got.err != nil {
			t.Errorf("event %d: %v", i, got)
		}
	}
	if got := p.await(p.send(0, strings.Repeat("x", 3000))); !errors.Is(got.err, sarama.ErrMessageSizeTooLarge) {
		t.Errorf("one that is too large: %v", got)
	}
	if got := p.await(p.send(0, "last")); got.offset != 41 || got.err != nil {
		t.Errorf("the last: %v", got)
	}
	if n := len(b.batches()); n > 20 {
		t.Errorf("%d batches", n)
	}
}

// What is larger than the topic takes isn't sent.
func TestTooLarge(t *testing.T) {
	b := newBroker(t)
	p := b.producer()
	var tooLarge *TooLargeError
	if got := p.await(p.send(0, strings.Repeat("x", 1<<20-recordBytes+1))); !errors.As(got.err, &tooLarge) || got.offset != NoOffset {
		t.Errorf("%v", got)
	}
	if got := p.await(p.send(0, strings.Repeat("x", 1<<20-recordBytes))); got.err != nil {
		t.Error(got.err)
	}
	if b.requests != 1 {
		t.Errorf("%d requests", b.requests)
	}
}

// The records are those of Kafka's clients: created now, no key, no headers, not compressed.
func TestRecords(t *testing.T) {
	b := newBroker(t)
	held, release := b.hold()
	p := b.producer()
	first := p.send(0, "first")
	b.awaitClosed("the first request", held)
	before := time.Now().UnixMilli()
	second, third := p.send(0, "second"), p.send(0, "")
	after := time.Now().UnixMilli()
	release()
	for _, done := range []<-chan result{first, second, third} {
		if got := p.await(done); got.err != nil {
			t.Error(got.err)
		}
	}
	s := b.batches()[1]
	if rb := s.batch; rb.Magic != 2 || rb.Attributes != 0 || rb.LastOffsetDelta != 1 || rb.NumRecords != 2 ||
		rb.FirstTimestamp < before || rb.MaxTimestamp > after || rb.FirstTimestamp > rb.MaxTimestamp {
		t.Errorf("%+v, written from %d to %d", rb, before, after)
	}
	for i, r := range s.records {
		if r.Key != nil || r.Value == nil || len(r.Headers) != 0 || r.OffsetDelta != int32(i) ||
			r.TimestampDelta64 < 0 || s.batch.FirstTimestamp+r.TimestampDelta64 > s.batch.MaxTimestamp {
			t.Errorf("record %d: %+v", i, r)
		}
	}
}

// No broker can be had: nothing was sent, and the events say so.
func TestNoBroker(t *testing.T) {
	b := newBroker(t)
	p := b.producer()
	b.Close()
	p.await(p.send(0, "the connection was there")) // nobody knows who has it
	got := p.await(p.send(0, "event"))
	if maybe := (*UnansweredError)(nil); got.err == nil || errors.As(got.err, &maybe) {
		t.Errorf("%v", got)
	}
}

// The broker goes while an event is under way, and doesn't come back.
func TestBrokerGoes(t *testing.T) {
	b := newBroker(t)
	held, _ := b.hold()
	p := b.producer()
	done, waiting := p.send(0, "event"), (<-chan result)(nil)
	b.awaitClosed("the request", held)
	waiting = p.send(0, "waiting")
	b.Close()
	maybe := (*UnansweredError)(nil)
	if got := p.await(done); !errors.As(got.err, &maybe) {
		t.Errorf("%v", got)
	}
	if got := p.await(waiting); got.err == nil || errors.As(got.err, &maybe) {
		t.Errorf("one that wasn't sent: %v", got)
	}
}

// What is cut ends: what a broker has without an answer, what waits behind it, and what is
// tried again. Close waits for it, and leaves nothing.
func TestCut(t *testing.T) {
	b := newBroker(t)
	held, _ := b.hold()
	p := b.producer()
	p.cfg.Pause = time.Hour
	under, waiting := p.send(0, "under way"), (<-chan result)(nil)
	b.awaitClosed("the request", held)
	waiting = p.send(0, "waiting")
	closed := make(chan struct{})
	go func() {
		p.Close()
		close(closed)
	}()
	select {
	case <-closed:
		t.Error("Close doesn't wait")
	case <-time.After(20 * time.Millisecond):
	}
	p.cutter.Cut()
	p.Cut()
	maybe := (*UnansweredError)(nil)
	if got := p.await(under); !errors.As(got.err, &maybe) {
		t.Errorf("under way: %v", got)
	}
	if got := p.await(waiting); got.err == nil || errors.As(got.err, &maybe) {
		t.Errorf("waiting: %v", got)
	}
	b.awaitClosed("closed", closed)
}

// A pause between two tries ends with the cut.
func TestCutBetweenTries(t *testing.T) {
	b := newBroker(t, says(kerr.NotLeaderForPartition))
	p := b.producer()
	p.cfg.Pause = time.Hour
	held, release := b.hold()
	done := p.send(0, "event")
	b.awaitClosed("the request", held)
	release()
	select {
	case got := <-done:
		t.Errorf("it didn't pause: %v", got)
	case <-time.After(20 * time.Millisecond):
	}
	p.cutter.Cut()
	p.Cut()
	if got, maybe := p.await(done), (*UnansweredError)(nil); !errors.As(got.err, &maybe) {
		t.Errorf("%v", got)
	}
}

// A producer must have an id, which takes a right.
func TestProducerID(t *testing.T) {
	fault := func(err *kerr.Error, n int) kfake.Fault {
		return kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: err, Count: n}
	}
	b := newBroker(t)
	b.Fault(fault(kerr.CoordinatorLoadInProgress, 2))
	if got := b.producer(); b.ids != 3 {
		t.Errorf("%d requests for %v", b.ids, got.identities.get())
	}
	b.Fault(fault(kerr.ClusterAuthorizationFailed, 1))
	client, err := sarama.NewClient([]string{b.addr}, kafka.Settings{}.Producer())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	cfg := Config{Client: client, Topic: topic, Partitions: 1, Retries: 1000, Pause: time.Millisecond}
	if _, err := New(b.ctx, cfg); !errors.Is(err, sarama.ErrClusterAuthorizationFailed) || b.ids != 4 {
		t.Errorf("%v after %d requests", err, b.ids)
	}
	b.Fault(fault(kerr.CoordinatorLoadInProgress, -1))
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := New(ctx, cfg); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, sarama.ErrOffsetsLoadInProgress) {
		t.Error(err)
	}
}
