package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

const lines = "application/x-ndjson"

// numbered are n segments in the order of lists, in the three states of lists in turn.
func numbered(n int) []api.RemoteLogSegmentMetadata {
	all := make([]api.RemoteLogSegmentMetadata, n)
	for i := range all {
		all[i] = segmentNumber(i)
	}
	return all
}

func segmentNumber(i int) api.RemoteLogSegmentMetadata {
	m := sample()
	m.ID.ID, m.StartOffset, m.State = api.UUIDFromBits(uint64(i), 7), int64(i/2)*100, api.RemoteLogSegmentState(i%3)
	return m
}

// stepping is a manager with an iterator of its own.
type stepping struct {
	*fake
	segments iter.Seq2[api.RemoteLogSegmentMetadata, error]
}

func (s stepping) Segments(context.Context, api.TopicIdPartition, *api.SegmentCursor) iter.Seq2[api.RemoteLogSegmentMetadata, error] {
	return s.segments
}

func (s stepping) SegmentsByEpoch(context.Context, api.TopicIdPartition, int32, *api.SegmentCursor) iter.Seq2[api.RemoteLogSegmentMetadata, error] {
	return s.segments
}

// failing gives n segments, then an error.
func failing(n int, err error) stepping {
	return stepping{full(), func(yield func(api.RemoteLogSegmentMetadata, error) bool) {
		for i := range n {
			if !yield(segmentNumber(i), nil) {
				return
			}
		}
		yield(api.RemoteLogSegmentMetadata{}, err)
	}}
}

// list asks for segments.
func list(m api.RemoteLogMetadataManager, method, query, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, base+"/segments"+query, http.NoBody)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	newHandler(rest.Config{Manager: m}).ServeHTTP(w, r)
	return w
}

// page is the answer of a list in JSON.
type page struct {
	Segments      []rest.Segment `json:"segments"`
	NextPageToken *string        `json:"nextPageToken"`
}

func readPage(t *testing.T, w *httptest.ResponseRecorder) page {
	t.Helper()
	var p page
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != 200 {
		t.Fatalf("status %d, %s: %v", w.Code, w.Body, err)
	}
	return p
}

func (p page) starts() string {
	var all []string
	for _, s := range p.Segments {
		all = append(all, fmt.Sprintf("%d/%d", s.StartOffset, s.SegmentID[7]))
	}
	return strings.Join(all, " ")
}

func TestPages(t *testing.T) {
	f := &fake{segments: numbered(5)}
	tests := map[string]struct{ filter, limit, want, rest string }{
		"whole":                {"", "", "0/0 0/1 100/2 100/3 200/4", ""},
		"one at a time":        {"", "&limit=1", "0/0", "0/1 100/2 100/3 200/4"},
		"the limit is the end": {"", "&limit=5", "0/0 0/1 100/2 100/3 200/4", ""},
		"one is left":          {"", "&limit=4", "0/0 0/1 100/2 100/3", "200/4"},
		"greatest limit":       {"", "&limit=10000", "0/0 0/1 100/2 100/3 200/4", ""},
		"a state":              {"state=COPY_SEGMENT_FINISHED", "", "0/1 200/4", ""},
		"pages of a state":     {"state=COPY_SEGMENT_FINISHED", "&limit=1", "0/1", "200/4"},
		"no more of a state":   {"state=DELETE_SEGMENT_STARTED", "&limit=1", "100/2", ""},
		"a state of no list":   {"state=DELETE_SEGMENT_FINISHED&epoch=4", "", "", ""},
		"pages of an epoch":    {"epoch=4", "&limit=3", "0/0 0/1 100/2", "100/3 200/4"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			first := readPage(t, list(f, "GET", "?"+test.filter+test.limit, ""))
			diff(t, "page", first.starts(), test.want)
			diff(t, "has a token", first.NextPageToken != nil, test.rest != "")
			if first.NextPageToken != nil {
				rest := readPage(t, list(f, "GET", "?"+test.filter+"&page_token="+*first.NextPageToken, ""))
				diff(t, "rest", rest.starts(), test.rest)
				diff(t, "has a token", rest.NextPageToken != nil, false)
			}
		})
	}
}

func TestPageOfLines(t *testing.T) {
	f := &fake{segments: numbered(3)}
	w := list(f, "GET", "?limit=2", lines)
	diff(t, "lines", strings.Count(w.Body.String(), "\n"), 2)
	token := w.Header().Get("X-RLMM-Next-Page-Token")
	diff(t, "the same token", token, *readPage(t, list(f, "GET", "?limit=2", "")).NextPageToken)
	w = list(f, "GET", "?limit=2&page_token="+token, lines)
	diff(t, "lines of the last page", strings.Count(w.Body.String(), "\n"), 1)
	diff(t, "no token", w.Header().Get("X-RLMM-Next-Page-Token"), "")
}

func TestBadListParameters(t *testing.T) {
	token := *readPage(t, list(&fake{segments: numbered(2)}, "GET", "?limit=1", "")).NextPageToken
	old := "AA" + token[2:] // version 0
	tests := []struct{ query, field, detail string }{
		{"limit=0", "limit", "within 1 and 10000: 0"},
		{"limit=-1", "limit", "within 1 and 10000: -1"},
		{"limit=10001", "limit", "within 1 and 10000: 10001"},
		{"limit=", "limit", "32-bit integer"},
		{"limit=1e3", "limit", "32-bit integer"},
		{"limit=4294967297", "limit", "32-bit integer"},
		{"limit=1&limit=2", "limit", "twice"},
		{"state=", "state", "not one of"},
		{"state=copy_segment_finished", "state", "not one of"},
		{"state=COPY_SEGMENT_STARTED&state=COPY_SEGMENT_FINISHED", "state", "twice"},
		{"page_token=", "page_token", "not a page token"},
		{"page_token=!", "page_token", "not a page token"},
		{"page_token=" + token + "%0A", "page_token", "damaged"},
		{"page_token=" + token[:8], "page_token", "a part of"},
		{"page_token=" + token + "AAAA", "page_token", "a part of"},
		{"page_token=" + old, "page_token", "version 0, not 1"},
		{"page_token=" + token[:5] + "x" + token[6:], "page_token", "damaged"},
		{"pageToken=" + token, "pageToken", "not a parameter"},
		{"offset=1", "offset", "not a parameter"},
	}
	for _, test := range tests {
		t.Run(test.query, func(t *testing.T) {
			checkArgument(t, "GET", base+"/segments?"+test.query, "", test.field, test.detail)
		})
	}
	other := "/v1/partitions/" + topicID.String() + "/4/segments?page_token=" + token
	checkArgument(t, "GET", other, "", "page_token", "of another partition")
}

func TestAccept(t *testing.T) {
	const asJSON = "application/json"
	tests := map[string]string{
		"":                                   asJSON,
		"*/*":                                asJSON,
		"application/*":                      asJSON,
		"application/json":                   asJSON,
		"Application/JSON":                   asJSON,
		"application/json; charset=utf-8":    asJSON,
		"application/json;charset=\"UTF-8\"": asJSON,
		"text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8": asJSON,
		"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2":               asJSON,
		"application/json, application/x-ndjson":                             asJSON,
		"application/x-ndjson;q=0.5, application/json":                       asJSON,
		"application/x-ndjson;q=0, */*":                                      asJSON,
		"application/x-ndjson;q=0.1, */*;q=0.2":                              asJSON,
		"not a media type":                                                   asJSON,
		"application/x-ndjson":                                               lines,
		"application/x-ndjson; charset=utf-8":                                lines,
		"application/x-ndjson, */*":                                          lines,
		"application/x-ndjson, application/json":                             lines,
		"application/x-ndjson;q=0.9, application/json;q=0.8":                 lines,
		"application/json;q=0, */*":                                          lines,
		"application/json;q=0.001, application/*;q=0.002":                    lines,
		"text/csv":                   "406",
		"text/*":                     "406",
		"application/json;q=0":       "406",
		"*/*;q=0":                    "406",
		"application/json;version=2": "406",
	}
	for accept, want := range tests {
		t.Run(accept, func(t *testing.T) {
			w := list(full(), "GET", "", accept)
			diff(t, "Vary", w.Header().Get("Vary"), "Accept")
			if want == "406" {
				checkError(t, w, 406, "not_acceptable")
				return
			}
			diff(t, "status", w.Code, 200)
			diff(t, "type", w.Header().Get("Content-Type"), want)
		})
	}
}

func TestAcceptInTwoHeaders(t *testing.T) {
	r := httptest.NewRequest("GET", base+"/segments", http.NoBody)
	r.Header["Accept"] = []string{"application/json;q=0.1", lines}
	w := httptest.NewRecorder()
	newHandler(rest.Config{Manager: full()}).ServeHTTP(w, r)
	diff(t, "type", w.Header().Get("Content-Type"), lines)
}

// Over HTTP/1.0 the end of an answer is the end of its connection, cut or not.
func TestNoLinesOverHTTP10(t *testing.T) {
	for accept, status := range map[string]int{lines: 406, lines + ", */*;q=0.1": 200} {
		r := httptest.NewRequest("GET", base+"/segments", http.NoBody)
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		newHandler(rest.Config{Manager: full()}).ServeHTTP(w, r)
		diff(t, accept, w.Code, status)
		diff(t, "type", w.Header().Get("Content-Type"), "application/json")
	}
}

func TestLines(t *testing.T) {
	w := list(full(), "GET", "", lines)
	diff(t, "body", w.Body.String(), string(golden(t))+"\n")
	w = list(&fake{}, "GET", "", lines)
	diff(t, "no segments", fmt.Sprint(w.Code, w.Body, w.Header().Get("Content-Type")), "200 "+lines)
}

func TestErrorBeforeTheFirstSegmentIsOrdinary(t *testing.T) {
	for _, query := range []string{"", "?limit=5", "?state=COPY_SEGMENT_FINISHED"} {
		for _, accept := range []string{"", lines} {
			checkError(t, list(failing(0, api.ErrIO), "GET", query, accept), 502, "io")
			checkError(t, list(failing(0, &api.NotReadyError{}), "HEAD", query, accept), 421, "not_assigned")
		}
	}
	// A page is sent when it is whole: nothing of it was.
	checkError(t, list(failing(3, api.ErrIO), "GET", "?limit=5", lines), 502, "io")
}

func TestHeadOfLists(t *testing.T) {
	server := httptest.NewServer(newHandler(rest.Config{Manager: failing(2, api.ErrIO)}))
	t.Cleanup(server.Close)
	for _, accept := range []string{"application/json", lines} {
		r, err := http.NewRequestWithContext(t.Context(), "HEAD", server.URL+base+"/segments?limit=1", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		for _, query := range []string{"limit=1", ""} {
			r.URL.RawQuery = query
			response, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			diff(t, "status", response.StatusCode, 200)
			diff(t, "type", response.Header.Get("Content-Type"), accept)
			diff(t, "length", response.ContentLength, int64(-1))
			token := response.Header.Get("X-RLMM-Next-Page-Token")
			diff(t, "token in the header", token != "", accept == lines && query != "")
		}
	}
}

// The first line is sent before the second is there.
func TestLinesAreStreamed(t *testing.T) {
	release := make(chan struct{})
	m := stepping{full(), func(yield func(api.RemoteLogSegmentMetadata, error) bool) {
		if yield(segmentNumber(0), nil) {
			<-release
			yield(segmentNumber(1), nil)
		}
	}}
	body := open(t, m, 0, "").Body
	defer body.Close()
	scanner := bufio.NewScanner(body)
	diff(t, "first line", scanner.Scan(), true)
	close(release)
	diff(t, "second line", scanner.Scan(), true)
	diff(t, "end", fmt.Sprint(scanner.Scan(), scanner.Err()), "false <nil>")
}

// open asks a server with that write timeout for lines.
func open(t *testing.T, m api.RemoteLogMetadataManager, writeTimeout time.Duration, query string) *http.Response {
	t.Helper()
	// Not newHandler: to hold a long answer against the document takes time, before its end is sent.
	server := httptest.NewUnstartedServer(rest.NewHandler(rest.Config{Manager: m}))
	server.Config.WriteTimeout = writeTimeout
	server.Start()
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+base+"/segments"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", lines)
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// The write timeout is for a list that doesn't move on, not for a long one.
func TestLongListOutlivesTheWriteTimeout(t *testing.T) {
	const writeTimeout, segments = 500 * time.Millisecond, 60
	m := stepping{full(), func(yield func(api.RemoteLogSegmentMetadata, error) bool) {
		tick := time.NewTicker(writeTimeout / 50)
		defer tick.Stop()
		for i := range segments {
			<-tick.C
			large := segmentNumber(i)
			large.CustomMetadata = api.NewCustomMetadata(make([]byte, 32<<10)) // each line is written at once
			if !yield(large, nil) {
				return
			}
		}
	}}
	response := open(t, m, writeTimeout, "")
	defer response.Body.Close()
	got, err := countLines(response)
	diff(t, "lines", fmt.Sprint(got, err), fmt.Sprint(segments, " <nil>"))
}

func countLines(response *http.Response) (n int, err error) {
	scanner := bufio.NewScanner(response.Body)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		n++
	}
	return n, scanner.Err()
}

// pagesOf goes through all pages in JSON, as a client without this package would;
// between two it calls the func.
func pagesOf(t *testing.T, m api.RemoteLogMetadataManager, limit int, between func()) []rest.Segment {
	t.Helper()
	var all []rest.Segment
	query := url.Values{"limit": {fmt.Sprint(limit)}}
	for {
		p := readPage(t, list(m, "GET", "?"+query.Encode(), ""))
		all = append(all, p.Segments...)
		if p.NextPageToken == nil {
			return all
		}
		query.Set("page_token", *p.NextPageToken)
		between()
	}
}
