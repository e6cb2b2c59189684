package rest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/api/rest"
)

// FuzzHandler: whatever is asked, there is one answer of the API, never a panic, and no 500.
func FuzzHandler(f *testing.F) {
	for _, r := range requests() {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(r.Method, r.URL.Path, r.URL.RawQuery, "application/json", body)
	}
	f.Add("GET", "/v1/partitions/../../etc/passwd", "epoch=%zz", "*/*;q=x", []byte("\x00"))
	f.Add("PUT", "/admin/loggers/..%2f..%2froot\x00", "a=1&a=2", "application/x-ndjson", []byte(`{"level":`))
	f.Add("POST", base+"/segments", "", "", []byte(`{"customMetadata":"`+strings.Repeat("A", 3000)))
	f.Fuzz(func(t *testing.T, method, path, query, accept string, body []byte) {
		r := &http.Request{
			Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{"Accept": {accept}},
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(bytes.NewReader(body)),
		}
		var log strings.Builder
		cfg := everything(full())
		cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
		w := httptest.NewRecorder()
		rest.NewHandler(cfg).ServeHTTP(w, r.WithContext(t.Context()))
		if log.Len() > 0 || w.Code >= 500 || w.Code < 200 || w.Code >= 300 && w.Code < 400 {
			t.Errorf("%s %q?%q: %d\n%s", method, path, query, w.Code, log.String())
		}
		var e rest.Error
		if w.Code >= 400 && (json.Unmarshal(w.Body.Bytes(), &e) != nil || e.Code != w.Code || e.Reason == "") {
			t.Errorf("%d isn't an error of the API: %s", w.Code, w.Body)
		}
	})
}

// hostile makes requests that are wrong in some way, as bytes.
type hostile struct{ *rand.Rand }

func (h hostile) pick(of ...string) string { return of[h.IntN(len(of))] }

// mostly is good, one time in four one of the others: so that many requests get further than
// the first thing that is wrong.
func (h hostile) mostly(good string, of ...string) string {
	if h.IntN(4) > 0 {
		return good
	}
	return h.pick(of...)
}

func (h hostile) bytes(n int) string {
	b := make([]byte, h.IntN(n))
	for i := range b {
		b[i] = byte(h.IntN(256))
	}
	return string(b)
}

func (h hostile) path() string {
	odd := h.pick("..", "%2e%2e", "%00", "%ff%fe", "%2f", "....//", "~", "%252e", "\x01", url.PathEscape(h.bytes(20)), strings.Repeat("a", h.IntN(3000)), "-1", "99999999999999999999", "%F0%9F%98%80")
	return h.pick(
		"/"+odd, base+"/"+odd, "/v1/partitions/"+odd+"/0/segments", "/v1/partitions/"+topicID.String()+"/"+odd+"/size?epoch=0",
		"/admin/loggers/"+odd, "/v1/metadata-partitions/"+odd+"/pause", base+"/segment?epoch="+odd+"&offset="+odd, base+"/segments?page_token="+odd,
		base+"/segments/"+odd, base+"/segments", base+"/delete-state", base+"/segments/"+segmentID.String(), "/v1/rows?topic="+odd+"&partition="+odd, "//"+odd, "/v1//partitions", "http://elsewhere/"+odd, "*",
	)
}

func (h hostile) body() string {
	return h.pick(
		"", h.bytes(300), addBody[:h.IntN(len(addBody))], strings.Replace(addBody, h.pick("1", "a", ":", "{", `"`), h.bytes(4), 1),
		strings.Repeat("[", 2000), `{"a":`+strings.Repeat(`{"a":`, 500), strings.Repeat("x", 8192), `"\ud800"`, "null", "1e999",
	)
}

// request is one with a right length, a wrong one, or chunks that are none.
func (h hostile) request() string {
	method := h.mostly(h.pick("GET", "POST", "PUT", "PATCH"), "HEAD", "DELETE", "OPTIONS", "TRACE", "get", "\x00", h.bytes(6))
	head := h.mostly("", "Accept: "+h.bytes(40)+"\r\n", "Authorization: Bearer "+h.bytes(60)+"\r\n", "Expect: 100-continue\r\n", "X: "+strings.Repeat("y", h.IntN(9000))+"\r\n", "Host: b\r\n", ":\r\n", "Cookie: a\r\n b\r\n", "Content-Type: text/html\r\n")
	body := h.body()
	length := h.mostly(fmt.Sprintf("Content-Length: %d\r\n", len(body)), fmt.Sprintf("Content-Length: %d\r\n", h.IntN(9000)), "Content-Length: -1\r\n", "Transfer-Encoding: chunked\r\n", "Content-Length: 1\r\nContent-Length: 2\r\n", "Content-Length: 99999999999999999999\r\n", "")
	version := h.mostly("HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "", "HTTP/1.1\r\nX")
	return method + " " + h.path() + " " + version + "\r\nHost: a\r\nConnection: close\r\n" + head + length + "\r\n" + body
}

// allowed are the answers to what is malformed; a request that came out right is 2xx.
var allowed = []int{
	100, 200, 201, 202, 204, 400, 403, 404, 405, 406, 413, 414, 417, 421, 431, 501, 505,
}

// Ten thousand of them, from a seed: each has an answer, or its connection is cut; nothing
// panics, nothing is 500, and neither memory nor goroutines grow.
func TestTenThousandHostileRequests(t *testing.T) {
	const seed, all, warm = 8, 10_000, 2_000
	var log lockedLog
	cfg := everything(full())
	cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
	address := serveHostile(t, cfg, rest.ServerConfig{ReadTimeout: 5 * time.Second})
	h, statuses := hostile{rand.New(rand.NewPCG(seed, seed))}, map[int]int{}
	var heap uint64
	for i := range all {
		if i == warm {
			heap = liveHeap()
		}
		request := h.request()
		status := tell(t, address, request)
		statuses[status]++
		if status != 0 && !slices.Contains(allowed, status) {
			t.Errorf("request %d of seed %d: %d\n%q", i, seed, status, request)
		}
	}
	if now := liveHeap(); now > heap+4<<20 {
		t.Errorf("the heap grew from %d to %d bytes", heap, now)
	}
	if log.String() != "" {
		t.Errorf("it logs errors: %.2000s", log.String())
	}
	t.Logf("answers by status, 0 is none: %v", statuses)
	if statuses[400] < all/4 || statuses[404] < all/50 || statuses[0] > all/2 {
		t.Errorf("the requests aren't what they are meant to be: %v", statuses)
	}
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func serveHostile(t *testing.T, cfg rest.Config, limits rest.ServerConfig) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	limits.ShutdownTimeout = -1
	go func() { served <- rest.Serve(ctx, l, rest.NewHandler(cfg), limits) }()
	t.Cleanup(func() {
		end()
		t.Logf("it ends with %v", <-served) // what was cut is an error
	})
	return l.Addr().String()
}

// tell sends the bytes and returns the status of the answer, 0 when there is none. It
// says that nothing more comes, as a length that is too great would have the server wait.
func tell(t *testing.T, address, request string) int {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, request) // the answer may come before all is sent
	_ = conn.(*net.TCPConn).CloseWrite()
	answer := bufio.NewReader(conn)
	response, err := http.ReadResponse(answer, nil)
	if err == nil && response.StatusCode == http.StatusContinue {
		response, err = http.ReadResponse(answer, nil)
	}
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// Clients that send a header, or a body, byte by byte or not at all are cut, and so are
// idle ones; a header that is too large has an answer.
func TestSlowAndHugeRequestsAreCut(t *testing.T) {
	limits := rest.ServerConfig{ReadHeaderTimeout: 300 * time.Millisecond, ReadTimeout: 600 * time.Millisecond, IdleTimeout: 300 * time.Millisecond, MaxHeaderBytes: 4 << 10}
	address := serveHostile(t, everything(full()), limits)
	post := fmt.Sprintf("POST %s/segments HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{", base)
	for name, c := range map[string]struct {
		begin, drip string
		want        string // of the answer; "" is none
	}{
		"nothing":                {"", "", ""},
		"a header that ends not": {"GET / HTTP/1.1\r\n", "a: b\r\n", ""},
		"a body that drips":      {post, " ", "400"},
		"a body that stops":      {post, "", "400"},
		"idle afterwards":        {"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", "", "200"},
		"a huge header":          {"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("y", 64<<10) + "\r\n\r\n", "", "431"},
		"a huge line":            {"GET /" + strings.Repeat("y", 64<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", "", "431"},
		"a huge body":            {fmt.Sprintf("PUT %s/delete-state HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n%s", base, strings.Repeat(" ", 16<<10)), "", "413"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := untilCut(t, address, c.begin, c.drip); !strings.HasPrefix(strings.TrimPrefix(got, "HTTP/1.1 "), c.want) || c.want == "" && got != "" {
				t.Errorf("the answer is %.100q, want %s", got, c.want)
			}
		})
	}
}

// untilCut sends on and on until the server cuts the connection, and returns what it said.
func untilCut(t *testing.T, address, begin, drip string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, begin)
	cut := make(chan string, 1)
	go func() {
		said, _ := io.ReadAll(conn)
		cut <- string(said)
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(time.Minute)
	for {
		select {
		case said := <-cut:
			return said
		case <-tick.C:
			_, _ = io.WriteString(conn, drip)
		case <-timeout:
			t.Fatal("the connection is held")
		}
	}
}

// A crowd of slow clients doesn't keep others from an answer.
func TestSlowClientsDontHoldUpOthers(t *testing.T) {
	address := serveHostile(t, everything(full()), rest.ServerConfig{})
	for range 500 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost:"); err != nil {
			t.Fatal(err)
		}
	}
	c := client(t, "http://"+address, nil)
	size, err := c.RemoteLogSize(t.Context(), tip, 0)
	diff(t, "size", []any{size, err}, []any{int64(117532), nil})
}

// lockedLog is written by requests while the test reads it.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
