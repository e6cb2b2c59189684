package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// perSegment reports time and allocations by segment.
func perSegment(b *testing.B, segments int, read func()) {
	b.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	for b.Loop() {
		read()
		n += segments
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/segment")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(n), "allocs/segment")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(n), "B/segment")
}

func BenchmarkDecodeSegment(b *testing.B) {
	text, err := json.Marshal(rest.NewSegment(sample()))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var s rest.Segment
		if err := s.UnmarshalJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}

// benchAnswer is a client of a server that sends what the API sends for 10,000 segments,
// written beforehand: what is measured is the client.
func benchAnswer(b *testing.B, segments int) *rest.Client {
	b.Helper()
	f := &fake{segments: make([]api.RemoteLogSegmentMetadata, segments)}
	for i := range f.segments {
		f.segments[i] = sample()
	}
	h := rest.NewHandler(rest.Config{Manager: f})
	var answer *httptest.ResponseRecorder
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer == nil {
			answer = httptest.NewRecorder()
			h.ServeHTTP(answer, r)
		}
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		_, _ = w.Write(answer.Body.Bytes())
	}))
	b.Cleanup(server.Close)
	c, err := rest.NewClient(server.URL, server.Client())
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func BenchmarkClientList(b *testing.B) {
	for _, segments := range []int{10, 10_000} {
		b.Run(fmt.Sprint(segments), func(b *testing.B) {
			c := benchAnswer(b, segments)
			perSegment(b, segments, func() {
				if all, err := c.ListRemoteLogSegments(context.Background(), tip); err != nil || len(all) != segments {
					b.Fatal(len(all), err)
				}
			})
		})
	}
}

func BenchmarkClientIterate(b *testing.B) {
	const segments = 10_000
	c := benchAnswer(b, segments)
	perSegment(b, segments, func() {
		for _, err := range c.Segments(context.Background(), tip, nil) {
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkServeList writes 10,000 segments in both forms, and pages of 100.
func BenchmarkServeList(b *testing.B) {
	const segments = 10_000
	f := &fake{segments: make([]api.RemoteLogSegmentMetadata, segments)}
	for i := range f.segments {
		f.segments[i] = sample()
	}
	for _, accept := range []string{"application/json", lines} {
		b.Run(accept, func(b *testing.B) {
			perSegment(b, segments, func() { list(f, "GET", "", accept) })
		})
	}
	b.Run("page", func(b *testing.B) {
		perSegment(b, 100, func() { list(f, "GET", "?limit=100", "") })
	})
}
