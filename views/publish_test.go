package views

import (
	"errors"
	"io"
	"testing"

	"github.com/IBM/sarama"

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
