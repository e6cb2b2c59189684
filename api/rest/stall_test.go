package rest_test

import (
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// A client that stops reading holds no more of an endless list than the buffers between
// the two, and what is held for it is let go after the write timeout.
func TestAClientThatStopsReadingIsCut(t *testing.T) {
	const most = 64 << 20 // bytes, of all buffers on the way
	var taken atomic.Int64
	ended := make(chan struct{})
	large := sample()
	large.CustomMetadata = api.NewCustomMetadata(make([]byte, 64<<10))
	m := stepping{full(), func(yield func(api.RemoteLogSegmentMetadata, error) bool) {
		defer close(ended)
		for yield(large, nil) {
			taken.Add(64 << 10)
		}
	}}
	response := open(t, m, 300*time.Millisecond, "")
	defer response.Body.Close()
	select { // nobody reads
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatalf("the list still goes on, %d bytes were taken", taken.Load())
	}
	if taken.Load() > most {
		t.Errorf("%d bytes were taken for a client that reads none", taken.Load())
	}
	if _, err := countLines(response); err == nil {
		t.Error("the client takes a part for the whole")
	}
}

// A client that reads on and on, but slower than the least rate, is cut too: each of its
// reads would else give it the write timeout again.
func TestAClientThatTricklesIsCut(t *testing.T) {
	for name, c := range map[string]struct {
		rate         int64
		part, enough int64 // bytes
		cut          bool
	}{
		// Much slower than any server, who waits for it then, and only that counts.
		"below the rate": {1 << 50, 16 << 10, math.MaxInt64, true},
		// No buffers on the way hold the half.
		"without a rate": {-1, 256 << 10, 64 << 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			large := sample()
			large.CustomMetadata = api.NewCustomMetadata(make([]byte, 64<<10))
			endless := stepping{full(), func(yield func(api.RemoteLogSegmentMetadata, error) bool) {
				for yield(large, nil) {
				}
			}}
			ctx, end := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() {
				served <- rest.Serve(ctx, l, rest.NewHandler(rest.Config{Manager: endless}), rest.ServerConfig{WriteTimeout: time.Second, MinRate: c.rate, ShutdownTimeout: -1})
			}()
			defer func() {
				end()
				t.Logf("it ends with %v", <-served) // what was cut is an error
			}()
			got, err := trickle(t, "http://"+l.Addr().String()+base+"/segments", c.part, c.enough)
			if c.cut != (err != nil) {
				t.Errorf("%d bytes came, %v", got, err)
			}
		})
	}
}

// trickle reads on, a part at a time, until it has enough or is cut.
func trickle(t *testing.T, url string, part, enough int64) (read int64, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", lines)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for read < enough {
		n, err := io.CopyN(io.Discard, response.Body, part)
		read += n
		if err != nil {
			return read, err
		}
		<-tick.C
	}
	return read, nil
}
