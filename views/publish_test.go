package views

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/IBM/sarama"
	"golang.org/x/sync/semaphore"

	"github.com/tieredlog/rlmm/api"
)

// An event that may have reached a broker fails with an error that says so.
func TestFailureOfAPublish(t *testing.T) {
	for _, tt := range []struct {
		name          string
		err           error
		sent, retried bool
		want          error
	}{
		{"never sent", sarama.ErrOutOfBrokers, false, false, api.ErrIO},
		{"never sent while others were retried", sarama.ErrShuttingDown, false, true, api.ErrIO},
		{"refused", sarama.ErrTopicAuthorizationFailed, true, false, api.ErrIO},
		{"refused after a try that brought no answer", sarama.ErrTopicAuthorizationFailed, true, true, api.ErrUnacknowledged},
		{"not replicated in time", sarama.ErrNotEnoughReplicasAfterAppend, true, true, api.ErrUnacknowledged},
		{"a fault of the broker's", sarama.ErrUnknown, true, false, api.ErrUnacknowledged},
		{"cut", io.EOF, true, true, api.ErrUnacknowledged},
		{"shut down on its way", sarama.ErrShuttingDown, true, false, api.ErrUnacknowledged},
		{"an answer that lacks it", sarama.ErrIncompleteResponse, true, false, api.ErrUnacknowledged},
		{"too large", sarama.ConfigurationError("too large"), false, false, api.ErrInvalidArgument},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := (&Manager{}).publishError(failure(tt.err, tt.sent, tt.retried))
			if !errors.Is(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if !errors.Is(tt.want, api.ErrInvalidArgument) && !errors.Is(got, tt.err) {
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
