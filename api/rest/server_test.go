package rest_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// running is a server that is stopped by stop, which returns what Serve returned.
type running struct {
	*rest.Client
	url  string
	end  context.CancelFunc
	done chan error
}

func start(t *testing.T, f *fake, cfg rest.ServerConfig) running {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- rest.Serve(ctx, l, newHandler(rest.Config{Manager: f, AllowMutations: true}), cfg)
	}()
	// A client of its own, so that the test ends with no connection open.
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	url := "http://" + l.Addr().String()
	return running{client(t, url, &http.Client{Transport: transport}), url, end, done}
}

func (r running) stop() error {
	r.end()
	return <-r.done
}

func TestServeEndsClean(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t, goleak.IgnoreCurrent()) })
	s := start(t, full(), rest.ServerConfig{})
	size, err := s.RemoteLogSize(t.Context(), tip, 0)
	diff(t, "size", []any{size, err}, []any{int64(117532), nil})
	diff(t, "end", s.stop(), nil)
	_, err = s.RemoteLogSize(t.Context(), tip, 0)
	isIO(t, err)
}

// outcome is what a mutation in progress came to.
type outcome struct {
	pos api.Position
	err error
}

// addDuring starts an add and returns once the manager has it.
func addDuring(t *testing.T, s running, f *fake, wait func(context.Context)) <-chan outcome {
	t.Helper()
	entered, result := make(chan struct{}), make(chan outcome, 1)
	f.before = func(ctx context.Context) {
		close(entered)
		wait(ctx)
	}
	go func() {
		pos, err := s.AddRemoteLogSegmentMetadata(t.Context(), sample())
		result <- outcome{pos, err}
	}()
	<-entered
	return result
}

func TestServeLetsRequestsEnd(t *testing.T) {
	f := full()
	s, release := start(t, f, rest.ServerConfig{}), make(chan struct{})
	var ended error
	result := addDuring(t, s, f, func(ctx context.Context) {
		<-release
		ended = ctx.Err()
	})
	s.end()
	for canConnect(s.url) {
		// until the listener is closed, which comes before the wait for requests
	}
	close(release)
	diff(t, "add", (<-result).pos, f.pos)
	diff(t, "its context", ended, nil)
	diff(t, "end", s.stop(), nil)
}

func canConnect(url string) bool {
	c, err := net.Dial("tcp", url[len("http://"):])
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

func TestServeCancelsRequestsThatTakeTooLong(t *testing.T) {
	f := full()
	s := start(t, f, rest.ServerConfig{ShutdownTimeout: time.Millisecond})
	timeout := &api.TimeoutError{Position: f.pos, Err: context.Canceled}
	result := addDuring(t, s, f, func(ctx context.Context) {
		<-ctx.Done()
		f.err = timeout
	})
	diff(t, "end", s.stop(), nil)
	if got := (<-result).err; !reflect.DeepEqual(got, error(timeout)) {
		t.Errorf("got %v, want %v", got, timeout)
	}
}

func TestServeCutsWhatDoesNotEnd(t *testing.T) {
	f := full()
	s, release := start(t, f, rest.ServerConfig{ShutdownTimeout: time.Millisecond}), make(chan struct{})
	result := addDuring(t, s, f, func(context.Context) { <-release })
	if err := s.stop(); err == nil {
		t.Error("no error, though a request was cut")
	}
	if err := (<-result).err; !errors.Is(err, api.ErrUnacknowledged) {
		t.Errorf("got %v, want that it isn't known", err)
	}
	close(release)
}

// The read timeout is for the request alone: a mutation may wait longer for its outcome.
func TestReadTimeoutDoesNotCancelWaitingRequests(t *testing.T) {
	const readTimeout = 50 * time.Millisecond
	f := full()
	f.before = func(ctx context.Context) {
		select {
		case <-ctx.Done():
			f.err = errors.New("canceled")
		case <-time.After(4 * readTimeout):
		}
	}
	s := start(t, f, rest.ServerConfig{ReadTimeout: readTimeout})
	_, err := s.AddRemoteLogSegmentMetadata(t.Context(), sample())
	diff(t, "add", err, nil)
	_, err = s.RemoteLogSize(t.Context(), tip, 0)
	diff(t, "size", err, nil)
	diff(t, "end", s.stop(), nil)
}

func TestServeTimesOutASlowHeader(t *testing.T) {
	s := start(t, full(), rest.ServerConfig{ReadHeaderTimeout: time.Millisecond})
	c, err := net.Dial("tcp", s.url[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\n")); err != nil {
		t.Fatal(err)
	}
	// The server closes the connection: the read ends.
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("an answer to half a header")
	}
	diff(t, "end", s.stop(), nil)
}

func TestServeListenerFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := rest.Serve(t.Context(), l, http.NotFoundHandler(), rest.ServerConfig{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want the listener's error", err)
	}
}
