package table

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tieredlog/rlmm/internal/store"
)

// What can't be verified isn't written: it waits while that may heal, and fails the
// partition when it can't.
func TestOnlyWhatIsVerifiedIsWritten(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	s := w.own(writer, 0)
	w.awaitAll([]*result{emit(writer, 0, 0)})

	var asked atomic.Int64
	again := make(chan struct{})
	var verdict atomic.Pointer[error]
	say := func(err error) { verdict.Store(&err) }
	say(errors.New("no answer"))
	writer.requests.verify = func(partitions []int32, retried bool) error {
		wantSame(t, "partitions", []int32{0}, partitions)
		n := asked.Add(1)
		wantSame(t, "tried before", n > 1, retried)
		if n == 3 {
			close(again)
		}
		return *verdict.Load()
	}
	waiting := emit(writer, 0, 1)
	w.awaitClosed("another try", again)
	wantSame(t, "answers", []int64{0}, w.sources(0))
	say(&store.IdentityError{})
	identity := (*store.IdentityError)(nil)
	if err := w.await(waiting); !errors.As(err, &identity) {
		t.Errorf("what waited: %v", err)
	}
	if err := w.await(emit(writer, 0, 2)); !errors.As(err, &identity) {
		t.Errorf("what came later: %v", err)
	}
	wantSame(t, "answers", []int64{0}, w.sources(0))
	wantSame(t, "applied", int64(0), s.Committed().Applied)
}

// While a request is under way the next one is verified.
func TestVerificationDoesntWaitForTheRequestBefore(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	stores := []*store.Store{w.own(writer, 0), w.own(writer, 1)}
	held, release := w.hold()
	first := emit(writer, 0, 0)
	w.awaitClosed("the first request", held)
	verified := make(chan struct{})
	writer.requests.verify = func([]int32, bool) error {
		close(verified)
		return nil
	}
	second := emit(writer, 1, 0)
	w.awaitClosed("the second verification", verified)
	release()
	w.awaitAll([]*result{first, second})
	for p, s := range stores {
		w.wantExact(s, int32(p))
	}
}

// Close doesn't wait for a verdict: what is on its way fails.
func TestCloseEndsAVerification(t *testing.T) {
	w := newWorld(t, nil)
	begun := make(chan struct{})
	var once sync.Once
	writer := w.writer()
	cfg := writer.cfg
	cfg.Verify = func(ctx context.Context, _ []int32, _ bool) error {
		once.Do(func() { close(begun) })
		<-ctx.Done()
		return ctx.Err()
	}
	writer = NewWriter(cfg)
	ctx, cancel := context.WithCancel(w.ctx)
	fenced := make(chan error, 1)
	go func() {
		_, err := writer.Acquire(ctx, 0, identity)
		fenced <- err
	}()
	w.awaitClosed("the verification", begun)
	cancel() // the session's
	noError(t, writer.Close())
	if err := <-fenced; err == nil {
		t.Error("the fence was written")
	}
}
