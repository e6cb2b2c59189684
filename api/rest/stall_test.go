package rest_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/api"
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
