package rest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// connect serves a handler and returns a client of it.
func connect(t *testing.T, h http.Handler) *rest.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return client(t, server.URL, server.Client())
}

func client(t *testing.T, url string, h *http.Client) *rest.Client {
	t.Helper()
	c, err := rest.NewClient(url, h)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func serving(t *testing.T, f *fake) *rest.Client {
	t.Helper()
	return connect(t, newHandler(rest.Config{Manager: f, AllowMutations: true}))
}

// methods calls every method of the contract but IsReady and returns what it gave.
func methods(ctx context.Context, m api.RemoteLogMetadataManager) map[string][]any {
	started := sample()
	started.State = api.CopySegmentStarted
	update := api.RemoteLogSegmentMetadataUpdate{
		ID: id, EventTimestampMs: 8, CustomMetadata: api.NewCustomMetadata(nil), State: api.CopySegmentFinished, BrokerID: 2,
	}
	deletion := api.RemotePartitionDeleteMetadata{TopicIdPartition: named, State: api.DeletePartitionStarted, EventTimestampMs: 9, BrokerID: 3}
	return map[string][]any{
		"add":         results(m.AddRemoteLogSegmentMetadata(ctx, started)),
		"update":      results(m.UpdateRemoteLogSegmentMetadata(ctx, update)),
		"delete":      results(m.PutRemotePartitionDeleteMetadata(ctx, deletion)),
		"segment":     results3(m.RemoteLogSegmentMetadata(ctx, tip, 4, 200)),
		"highest":     results3(m.HighestOffsetForEpoch(ctx, tip, 4)),
		"list":        results(m.ListRemoteLogSegments(ctx, tip)),
		"listByEpoch": results(m.ListRemoteLogSegmentsByEpoch(ctx, tip, 4)),
		"size":        results(m.RemoteLogSize(ctx, tip, 4)),
		"nextTxn":     results3(m.NextSegmentWithTxnIndex(ctx, tip, 4, 0)),
		"caughtUp":    results(m.CaughtUp(ctx, tip)),
	}
}

func results[T any](v T, err error) []any { return []any{v, err} }

func results3[T any](v T, found bool, err error) []any { return []any{v, found, err} }

func TestClientGivesWhatTheManagerGives(t *testing.T) {
	empty := &fake{segments: []api.RemoteLogSegmentMetadata{}, pos: api.Position{}}
	for name, f := range map[string]*fake{"full": full(), "empty": empty} {
		t.Run(name, func(t *testing.T) {
			got := methods(t.Context(), serving(t, f))
			asked := f.calls
			f.calls = nil
			diff(t, "results", got, methods(t.Context(), f))
			slices.Sort(asked)
			slices.Sort(f.calls)
			diff(t, "calls", asked, f.calls)
		})
	}
}

func TestClientRebuildsEveryError(t *testing.T) {
	for kind, want := range failures() {
		t.Run(kind, func(t *testing.T) {
			f := full()
			f.err, f.pos = want.err, want.pos
			for method, got := range methods(t.Context(), serving(t, f)) {
				if method == "caughtUp" && errors.Is(want.err, api.ErrNotAssigned) {
					diff(t, method, got, []any{false, nil})
					continue
				}
				if err := got[len(got)-1]; !reflect.DeepEqual(err, any(want.err)) {
					t.Errorf("%s: got %#v, want %#v", method, err, want.err)
				}
				if pos, ok := got[0].(api.Position); ok {
					diff(t, method+" position", pos, want.pos)
				}
			}
		})
	}
}

func TestClientMatchesBareSentinels(t *testing.T) {
	for _, want := range []error{
		api.ErrNotReady, api.ErrNotAssigned, api.ErrSegmentNotFound, api.ErrInvalidAdd, api.ErrInvalidSegmentTransition,
		api.ErrInvalidPartitionDeleteTransition, api.ErrInvalidArgument, api.ErrTimeout, api.ErrOutcomeUnknown, api.ErrClosed, api.ErrIO, api.ErrPaused, api.ErrBusy,
		api.ErrUnacknowledged, api.ErrNoProgress,
	} {
		if _, err := serving(t, &fake{err: want}).RemoteLogSize(t.Context(), tip, 0); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

func TestClientSendsNothingInvalid(t *testing.T) {
	f := full()
	m := sample()
	m.EndOffset = 1
	pos, err := serving(t, f).AddRemoteLogSegmentMetadata(t.Context(), m)
	var argument *api.InvalidArgumentError
	if !errors.As(err, &argument) || argument.Field != "endOffset" {
		t.Errorf("got %v, want an invalid endOffset", err)
	}
	diff(t, "position", pos, api.NotPublished)
	diff(t, "calls", len(f.calls), 0)
}

// checkIO checks an error that isn't the contract's.
func checkIO(t *testing.T, err error, status int, reason string) {
	t.Helper()
	var failed *api.IOError
	var answer *rest.Error
	if !errors.As(err, &failed) || failed.Op == "" || !errors.As(err, &answer) {
		t.Fatalf("got %#v, want an *api.IOError with a *rest.Error", err)
	}
	diff(t, "status", answer.Code, status)
	diff(t, "reason", answer.Reason, reason)
}

func TestClientOfAServerWithoutMutations(t *testing.T) {
	pos, err := connect(t, newHandler(rest.Config{Manager: full()})).AddRemoteLogSegmentMetadata(t.Context(), sample())
	checkIO(t, err, 403, "mutations_off")
	diff(t, "position", pos, api.NotPublished)
}

func TestClientOfSomethingElse(t *testing.T) {
	tests := map[string]struct {
		status  int
		body    string
		message string
	}{
		"a proxy's page":   {502, "<html>", "HTTP status 502: Bad Gateway"},
		"an unknown error": {418, `{"error_code":418,"message":"no coffee","reason":"teapot"}`, "HTTP status 418 (teapot): no coffee"},
		"text":             {200, "hello", "bad answer"},
		"null":             {200, "null", "bad answer"},
		"a bad segment":    {200, `{"topicId":1}`, "number is not a string"},
		"another API's":    {200, "{}", "is required"},
		"half a segment":   {200, `{"topicId":"UpZHhnEzQuGqT8T9QFvE9w","partition":3,"startOffset":1}`, "segmentId: is required"},
		"cut":              {200, `{"topicId":`, "EOF"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}))
			_, _, err := c.RemoteLogSegmentMetadata(t.Context(), tip, 4, 200)
			isIO(t, err)
			if !strings.Contains(err.Error(), test.message) {
				t.Errorf("%q doesn't say %q", err, test.message)
			}
		})
	}
}

func isIO(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, api.ErrIO) || errors.Is(err, api.ErrInvalidArgument) {
		t.Errorf("got %v, want an i/o error alone", err)
	}
}

func TestClientWithoutAServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	pos, err := client(t, server.URL, nil).AddRemoteLogSegmentMetadata(t.Context(), sample())
	isIO(t, err)
	diff(t, "position", pos, api.NotPublished)
}

func TestClientContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := full()
	f.before = func(request context.Context) {
		cancel()
		<-request.Done() // the server sees the client leave
	}
	c := serving(t, f)
	for _, want := range []error{api.ErrUnacknowledged, api.ErrIO} { // the second isn't sent
		_, err := c.AddRemoteLogSegmentMetadata(ctx, sample())
		if !errors.Is(err, want) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it was canceled: %v", err, want)
		}
	}
	diff(t, "calls", len(f.calls), 1)
}

// What isn't of this API says nothing of the event; a refusal of this API's does.
func TestClientDoesNotKnow(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
		want   error
	}{
		"a proxy's page":    {502, "<html>", api.ErrUnacknowledged},
		"an unknown error":  {418, `{"error_code":418,"message":"no coffee","reason":"teapot"}`, api.ErrUnacknowledged},
		"a panic":           {500, `{"error_code":500,"message":"oops","reason":"internal"}`, api.ErrUnacknowledged},
		"no position":       {201, `{}`, api.ErrUnacknowledged},
		"another path":      {404, `{"error_code":404,"message":"no such path","reason":"not_found"}`, api.ErrIO},
		"Kafka's refusal":   {502, `{"error_code":502,"message":"no","reason":"io"}`, api.ErrIO},
		"Kafka's silence":   {504, `{"error_code":504,"message":"?","reason":"unacknowledged"}`, api.ErrUnacknowledged},
		"a manager's limit": {504, `{"error_code":504,"message":"?","reason":"timeout"}`, api.ErrTimeout},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}))
			pos, err := c.PutRemotePartitionDeleteMetadata(t.Context(), api.RemotePartitionDeleteMetadata{TopicIdPartition: named})
			for _, sentinel := range []error{api.ErrUnacknowledged, api.ErrIO, api.ErrTimeout} {
				if errors.Is(err, sentinel) != errors.Is(test.want, sentinel) {
					t.Errorf("got %v, want %v alone", err, test.want)
				}
			}
			diff(t, "position", pos, api.NotPublished)
		})
	}
}

func TestClientIsReady(t *testing.T) {
	f := &fake{}
	c := serving(t, f)
	diff(t, "ready", c.IsReady(t.Context(), tip), true)
	f.err = &api.NotReadyError{Assigned: true}
	diff(t, "not ready", c.IsReady(t.Context(), tip), false)
}

func TestClientReady(t *testing.T) {
	catchingUp := &api.NotReadyError{MetadataPartition: 4, Assigned: true, Applied: 1, Target: 2}
	var ready error
	c := connect(t, newHandler(rest.Config{Ready: func(context.Context) error { return ready }}))
	if err := c.Ready(t.Context()); err != nil {
		t.Errorf("ready: %v", err)
	}
	ready = errors.Join(catchingUp, api.ErrClosed)
	err := c.Ready(t.Context())
	var got *api.NotReadyError
	if !errors.As(err, &got) || !errors.Is(err, api.ErrClosed) {
		t.Fatalf("got %v, want both", err)
	}
	diff(t, "not ready", *got, *catchingUp)
}

// A server that isn't connected yet says why to whatever it is asked.
func TestClientTellsWhyAServerIsNotReady(t *testing.T) {
	c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		rest.WriteError(w, rest.NotReady(errors.New("no broker answers")))
	}))
	_, reading := c.Partitions(t.Context())
	_, writing := c.PutRemotePartitionDeleteMetadata(t.Context(), api.RemotePartitionDeleteMetadata{TopicIdPartition: named})
	for _, err := range []error{reading, writing} {
		if !errors.Is(err, api.ErrNotReady) || errors.Is(err, api.ErrUnacknowledged) || !strings.Contains(err.Error(), "no broker answers") {
			t.Errorf("got %v, want that it isn't ready, and why", err)
		}
	}
}

func TestClientPartitions(t *testing.T) {
	want := []rest.Partition{{TopicID: topicID, Topic: "orders", Partition: 3, MetadataPartition: 7, Segments: 2, Bytes: 99}}
	c := connect(t, newHandler(rest.Config{Manager: full(), Partitions: func(context.Context) ([]rest.Partition, error) { return want, nil }}))
	got, err := c.Partitions(t.Context())
	diff(t, "partitions", got, want)
	diff(t, "error", err, nil)
}

func TestClientUnderAPrefix(t *testing.T) {
	server := httptest.NewServer(http.StripPrefix("/rlmm", newHandler(rest.Config{Manager: full()})))
	t.Cleanup(server.Close)
	for _, prefix := range []string{"/rlmm", "/rlmm/"} {
		size, err := client(t, server.URL+prefix, server.Client()).RemoteLogSize(t.Context(), tip, 0)
		diff(t, prefix, []any{size, err}, []any{int64(117532), nil})
	}
}

func TestNewClientRefuses(t *testing.T) {
	for _, base := range []string{"", "127.0.0.1:8083", "ftp://host", "http://", ":"} {
		if _, err := rest.NewClient(base, nil); !errors.Is(err, api.ErrInvalidArgument) {
			t.Errorf("%q: got %v, want an invalid argument", base, err)
		}
	}
}

func TestHead(t *testing.T) {
	server := httptest.NewServer(newHandler(rest.Config{Manager: full()}))
	t.Cleanup(server.Close)
	for target, status := range map[string]int{"/healthz": 200, base + "/segments": 200, base + "/size": 400} {
		response, err := server.Client().Head(server.URL + target)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		diff(t, target, response.StatusCode, status)
		diff(t, target+" type", response.Header.Get("Content-Type"), "application/json")
	}
}
