//go:build integration

package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/integration/faults"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/views"
)

// Programs of this binary that tell how much they need, at GET /weight, which the command
// doesn't: a processor that purges all the time, and a server of a manager. They take the
// address to listen at too.
const (
	keptProcessorVerb = "kept-processor"
	keptViewVerb      = "kept-view"
)

// smallStore has buffers that are full after seconds: those of 1 MiB, one or two for each
// partition, take minutes, which looks like a leak.
var smallStore = views.Store{WriteBuffer: 64 << 10, BlockCache: 64 << 10}

func runKeptProcessor(ctx context.Context, args []string) error {
	p, err := newPurging(args)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.Run(ctx) })
	group.Go(func() error {
		return serveWeight(ctx, args[4], http.NotFoundHandler(), func() int {
			running, _ := p.Running()
			return len(running)
		})
	})
	return group.Wait()
}

func runKeptView(ctx context.Context, args []string) error {
	m, err := views.NewManager(ctx, views.Config{
		Kafka: views.Kafka{Bootstrap: args[:1]}, MetadataTopic: args[1], Group: args[2], DataDir: args[3],
		Store: smallStore,
	})
	if err != nil {
		return err
	}
	defer m.Close()
	if err := m.ReconcileAssignment(ctx, everyPartition()); err != nil {
		return err
	}
	api := rest.NewHandler(rest.Config{Manager: m, AllowMutations: true})
	return serveWeight(ctx, args[4], api, func() int { return len(m.AssignedMetadataPartitions()) })
}

// serveWeight serves the handler and, beside it, what this process needs.
func serveWeight(ctx context.Context, address string, h http.Handler, partitions func() int) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("GET /weight", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(weigh(partitions()))
	})
	return rest.Serve(ctx, l, mux, rest.ServerConfig{})
}

// weigh is what this process needs: the least of some, since some of the heap is on its
// way at any time.
func weigh(partitions int) faults.Weight {
	least := faults.Weight{HeapBytes: 1 << 62, Goroutines: runtime.NumGoroutine(), Partitions: partitions}
	for range 5 {
		runtime.GC()
		runtime.GC() // what pools hold goes with the second one
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		least.HeapBytes = min(least.HeapBytes, s.HeapAlloc)
	}
	return least
}

// kept is a process that is never killed and tells what it needs.
type kept struct {
	*member
	name    string
	address string
}

func (w *world) newKept(name, verb, bootstrap string) *kept {
	w.t.Helper()
	address := kafkatest.FreeAddress(w.t)
	return &kept{w.newProgram(verb, bootstrap, address), name, address}
}

// weight asks the process what it needs.
func (k *kept) weight() (weight faults.Weight, err error) {
	ctx, cancel := context.WithTimeout(k.w.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+k.address+"/weight", nil)
	if err != nil {
		return weight, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return weight, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&weight); err != nil {
		return weight, err
	}
	weight.RSSBytes, err = k.rss()
	return weight, err
}

// rss is what of the process is in memory.
func (k *kept) rss() (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", k.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseUint(strings.Fields(string(b))[1], 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

// awaitWhole waits until the process has every partition, and weighs it then.
func (k *kept) awaitWhole(began time.Time) (weight faults.Weight) {
	k.w.t.Helper()
	k.w.await(k.name+" has every partition", func() bool {
		var err error
		weight, err = k.weight()
		return err == nil && weight.Partitions == partitions
	})
	weight.AtSeconds = time.Since(began).Seconds()
	return weight
}

// A kept process that holds more than it did is found: it is what is said to be weighed.
func TestWeightTellsOfWhatIsHeld(t *testing.T) {
	before := weigh(0)
	held := make([]byte, 64<<20)
	after := weigh(0)
	runtime.KeepAlive(held)
	if after.HeapBytes < before.HeapBytes+32<<20 {
		t.Errorf("%d bytes before, %d with 64 MiB more", before.HeapBytes, after.HeapBytes)
	}
}
