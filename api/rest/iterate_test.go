package rest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// read collects segments up to the first error, which must be the last step.
func read(t *testing.T, segments func(func(api.RemoteLogSegmentMetadata, error) bool)) ([]api.RemoteLogSegmentMetadata, error) {
	t.Helper()
	var all []api.RemoteLogSegmentMetadata
	var failed error
	for s, err := range segments {
		if failed != nil {
			t.Fatal("a step after an error")
		}
		if failed = err; err == nil {
			all = append(all, s)
		} else if !s.Equal(api.RemoteLogSegmentMetadata{}) {
			t.Errorf("a segment beside an error: %v", s)
		}
	}
	return all, failed
}

func connectTo(t *testing.T, m api.RemoteLogMetadataManager) *rest.Client {
	t.Helper()
	return connect(t, newHandler(rest.Config{Manager: m}))
}

func TestClientIterates(t *testing.T) {
	f := &fake{segments: numbered(2000)}
	c := connectTo(t, f)
	got, err := read(t, c.Segments(t.Context(), tip, nil))
	diff(t, "error", err, nil)
	diff(t, "segments", got, f.segments)
	got, err = read(t, c.SegmentsByEpoch(t.Context(), tip, 4, f.segments[1995].Cursor()))
	diff(t, "error by epoch", err, nil)
	diff(t, "after one", got, f.segments[1996:])
	diff(t, "calls", f.calls, []string{"list " + tip.String(), "listByEpoch " + tip.String() + " 4"})
}

func TestClientStopsEarly(t *testing.T) {
	c := connectTo(t, &fake{segments: numbered(2000)})
	for range 3 {
		for s, err := range c.Segments(t.Context(), tip, nil) {
			diff(t, "first", fmt.Sprint(s.StartOffset, err), "0 <nil>")
			break
		}
	}
}

func TestClientIteratesTypedErrors(t *testing.T) {
	for kind, want := range failures() {
		t.Run(kind, func(t *testing.T) {
			got, err := read(t, connectTo(t, failing(0, want.err)).Segments(t.Context(), tip, nil))
			diff(t, "segments", len(got), 0)
			diff(t, "error", fmt.Sprint(err), want.err.Error())
		})
	}
}

// A list that fails half way is no shorter list, and can be gone on with.
func TestClientNoticesAListThatFails(t *testing.T) {
	for _, n := range []int{1, 2, 1000} {
		c := connectTo(t, failing(n, api.ErrIO))
		got, err := read(t, c.Segments(t.Context(), tip, nil))
		isIO(t, err)
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) > n {
			t.Errorf("got %d segments of %d, %v", len(got), n, err)
		}
		all, err := c.ListRemoteLogSegments(t.Context(), tip)
		isIO(t, err)
		diff(t, "list", all == nil, true)
	}
	unwritable := numbered(2000)
	unwritable[1999].State = 9
	_, err := read(t, connectTo(t, &fake{segments: unwritable}).Segments(t.Context(), tip, nil))
	isIO(t, err)
}

func TestClientGoesOnAfterACut(t *testing.T) {
	want := numbered(1000)
	got, err := read(t, connectTo(t, failing(700, api.ErrIO)).Segments(t.Context(), tip, nil))
	isIO(t, err)
	if len(got) == 0 {
		t.Fatal("nothing before the cut")
	}
	c := connectTo(t, &fake{segments: want})
	others, err := read(t, c.Segments(t.Context(), tip, got[len(got)-1].Cursor()))
	diff(t, "error", err, nil)
	diff(t, "segments", append(got, others...), want)
}

// serveLines answers with a body as it is given; a cut one ends like a broken
// connection.
func serveLines(t *testing.T, contentType, body string, cut bool) *rest.Client {
	t.Helper()
	return connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
		if cut {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
}

func TestClientOfOtherLines(t *testing.T) {
	line := string(golden(t)) + "\n"
	tests := map[string]struct {
		contentType, body string
		cut               bool
		segments          int
		message           string
	}{
		"empty":             {lines, "", false, 0, ""},
		"two":               {lines + ";charset=utf-8", line + line, false, 2, ""},
		"cut at once":       {lines, "", true, 0, "EOF"},
		"cut after a line":  {lines, line + line, true, 2, "unexpected EOF"},
		"cut in a line":     {lines, line + line[:60], true, 1, "unexpected EOF"},
		"no end of a line":  {lines, line + line[:len(line)-1], false, 1, "unexpected EOF"},
		"half a segment":    {lines, line + "{}\n", false, 1, "bad answer: invalid argument"},
		"null":              {lines, "null\n", false, 0, "bad answer"},
		"a blank line":      {lines, line + "\n" + line, false, 1, "bad answer"},
		"two on a line":     {lines, line[:len(line)-1] + line, false, 0, "bad answer"},
		"text":              {lines, "hello\n", false, 0, "bad answer"},
		"JSON":              {"application/json", `{"segments":[]}`, false, 0, `it is "application/json"`},
		"nothing of a type": {"", "", false, 0, "bad answer"},
		"a page":            {"text/html", "", false, 0, `it is "text/html"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, serveLines(t, test.contentType, test.body, test.cut).Segments(t.Context(), tip, nil))
			diff(t, "segments", len(got), test.segments)
			if test.message == "" {
				diff(t, "error", err, nil)
				return
			}
			isIO(t, err)
			if !strings.Contains(err.Error(), test.message) {
				t.Errorf("%q doesn't say %q", err, test.message)
			}
		})
	}
}

// An answer that lasts until its connection ends can't be told from one that was cut.
func TestClientRefusesLinesWithoutAnEnd(t *testing.T) {
	c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer connection.Close()
		_, _ = io.WriteString(connection, "HTTP/1.0 200 OK\r\nContent-Type: "+lines+"\r\n\r\n"+string(golden(t))+"\n")
	}))
	got, err := read(t, c.Segments(t.Context(), tip, nil))
	diff(t, "segments", len(got), 0)
	isIO(t, err)
	if !strings.Contains(err.Error(), "no end") {
		t.Errorf("got %v", err)
	}
}

func TestClientReadsALongLine(t *testing.T) {
	long := sample()
	long.CustomMetadata = api.NewCustomMetadata(make([]byte, 1<<20))
	f := &fake{segments: []api.RemoteLogSegmentMetadata{long, segmentNumber(3)}}
	got, err := read(t, connectTo(t, f).Segments(t.Context(), tip, nil))
	diff(t, "error", err, nil)
	diff(t, "segments", got, f.segments)
}

func TestClientIterationEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := connectTo(t, stepping{full(), func(yield func(api.RemoteLogSegmentMetadata, error) bool) {
		for i := 0; yield(segmentNumber(i), nil); i++ { // without end
		}
	}})
	var last error
	for _, err := range c.Segments(ctx, tip, nil) {
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) || !errors.Is(last, api.ErrIO) {
		t.Errorf("got %v, want a canceled i/o error", last)
	}
}

// What a caller does to what it got changes nothing that others get.
func TestReturnedSegmentsCannotBeDamaged(t *testing.T) {
	f := &fake{segments: numbered(3)}
	want := numbered(3)
	c := connectTo(t, f)
	for _, source := range []api.SegmentIterator{c, api.IteratorOf(f)} {
		for s, err := range source.Segments(t.Context(), tip, nil) {
			if err != nil {
				t.Fatal(err)
			}
			shape := rest.NewSegment(s)
			shape.CustomMetadata[0], shape.SegmentLeaderEpochs[0].Offset = 99, 99
			copy(s.CustomMetadata.Bytes(), "damage")
			s.Cursor().StartOffset = -1
			s.StartOffset, s.State = -1, 9
		}
	}
	shape := rest.NewSegment(want[0])
	m := shape.Metadata()
	shape.CustomMetadata[0], shape.SegmentLeaderEpochs[0].Offset = 99, 99
	diff(t, "the shape's metadata", m, want[0])
	diff(t, "the manager's", f.segments, want)
	got, err := read(t, c.Segments(t.Context(), tip, nil))
	diff(t, "error", err, nil)
	diff(t, "the client's", got, want)
}
