package views_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
)

// holdPublishes makes the broker take what is published and say nothing, until the test
// ends. held is closed when the first has come.
func holdPublishes(t *testing.T, c *rlmmtest.Cluster) (held chan struct{}) {
	held = make(chan struct{})
	once := sync.OnceFunc(func() { close(held) })
	released := make(chan struct{})
	t.Cleanup(func() { close(released) })
	c.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if r.(*kmsg.ProduceRequest).Topics[0].Topic == rlmmtest.MetadataTopic {
			once()
			c.SleepControl(func() { <-released })
		}
		return nil, nil, false
	})
	return held
}

// The broker takes a publish and says nothing. A shutdown waits as long as its context
// lets it, and Close a few seconds, where the tries alone would take six minutes; nothing
// else hangs over it, and nothing is left running (the package's TestMain looks).
func TestCloseWhileAPublishHangs(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	c.RunProcessor()
	m := c.ReadyManager()
	held := holdPublishes(t, c)
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	var mutations sync.WaitGroup
	for n := range 20 {
		mutations.Go(func() {
			_, err := m.AddRemoteLogSegmentMetadata(ctx, rlmmtest.Segment(c.PartitionOn(int32(n%2), 0), n+1, 0, 9))
			if !errors.Is(err, api.ErrUnacknowledged) && !errors.Is(err, api.ErrIO) { // some haven't begun to publish
				t.Errorf("a mutation: %v", err)
			}
		})
	}
	<-held
	cancel()
	mutations.Wait()
	short, cancel := context.WithTimeout(c.Context(), 50*time.Millisecond)
	defer cancel()
	if err := m.ShutdownAndFlush(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shutdown: %v", err)
	}
	if err := m.ReconcileAssignment(short, nil); !errors.Is(err, api.ErrClosed) {
		t.Errorf("reconcile: %v", err)
	}
	m.CommittedOffset(0)
	began := time.Now()
	for range 2 {
		if err := m.Close(); !errors.Is(err, api.ErrUnacknowledged) {
			t.Errorf("close: %v", err)
		}
	}
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("closed after %v", took)
	}
}
