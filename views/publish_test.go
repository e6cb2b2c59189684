package views

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"
	"golang.org/x/sync/semaphore"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/produce"
)

// An event that may have reached a broker fails with an error that says so.
func TestFailureOfAPublish(t *testing.T) {
	for _, tt := range []struct {
		name      string
		err, want error
	}{
		{"no broker has it", sarama.ErrOutOfBrokers, api.ErrIO},
		{"refused", sarama.ErrTopicAuthorizationFailed, api.ErrIO},
		{"a broker may have it", &produce.UnansweredError{Err: io.EOF}, api.ErrUnacknowledged},
		{"too large", &produce.TooLargeError{Size: 2, Limit: 1}, api.ErrInvalidArgument},
		{"after the end", goka.ErrEmitterAlreadyClosed, api.ErrClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := (&Manager{}).publishError(tt.err)
			if !errors.Is(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if cause := errors.Unwrap(tt.err); cause != nil && !errors.Is(got, cause) {
				t.Errorf("%v doesn't say why", got)
			}
		})
	}
}

// As many publishes are under way as may be. A mutation that waits for one to end gives
// up with its context, and isn't published: there is no emitter here.
func TestMutationsWaitForTheirTurn(t *testing.T) {
	for _, tt := range []struct{ cause, want error }{
		{context.DeadlineExceeded, api.ErrIO},
		{api.ErrClosed, api.ErrClosed},
		{notAssigned(0), api.ErrNotAssigned},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &Manager{publishing: semaphore.NewWeighted(maxPublishing)}
			if !m.publishing.TryAcquire(maxPublishing) {
				t.Fatal("not free")
			}
			p := &partition{m: m, progress: newProgress(4)}
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				at, err := p.publish(ctx, api.RemoteLogSegmentMetadata{})
				if at != api.NotPublished || !errors.Is(err, tt.want) || !errors.Is(err, tt.cause) {
					t.Errorf("%v, %v; want %v", at, err, tt.want)
				}
			}()
			synctest.Wait()
			select {
			case <-done:
				t.Error("it doesn't wait")
			default:
			}
			cancel(tt.cause)
			<-done
			m.publishing.Release(maxPublishing)
			if len(p.progress.flights) != 0 || !m.publishing.TryAcquire(maxPublishing) {
				t.Error("it holds a place")
			}
		})
	}
}

// A wait says whether anything was applied meanwhile.
func TestTimeoutTellsProgress(t *testing.T) {
	p := &partition{progress: newProgress(4)}
	f := p.progress.takeOff(row)
	at := api.Position{Offset: 9}
	want := func(cause, want error, applied int64) {
		t.Helper()
		var timeout *api.TimeoutError
		if err := p.timeout(at, f, cause); !errors.As(err, &timeout) || timeout.Err != want || timeout.Applied != applied || timeout.Position != at { //nolint:errorlint // just that error
			t.Errorf("got %#v, want %v at %d", err, want, applied)
		}
	}
	want(errConsumeWait, api.ErrNoProgress, 4)
	want(api.ErrClosed, api.ErrClosed, 4)
	p.progress.apply(5, answerTo(5))
	want(errConsumeWait, nil, 5)
}
