package views_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/views"
)

// mostAtAStart is how many requests of a kind a start of 50 partitions may take. It takes
// 10 to 50, as they come together; one for each question of each partition would be
// hundreds.
var mostAtAStart = map[kmsg.Key]int{kmsg.Metadata: 75, kmsg.ListOffsets: 125, kmsg.DescribeConfigs: 25}

// slowly makes a request take as long as over a network: questions come together while one
// is under way.
func slowly(kmsg.Request) bool {
	time.Sleep(2 * time.Millisecond) //nolint:forbidigo // it stands for the network, nothing waits for it
	return true
}

// A start asks a cluster of many partitions about all of them at once: its time is that
// of some round trips, not of some for each partition.
func TestStartOfManyPartitionsTakesFewRequests(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 50)
	c.RunProcessor()
	for p := range c.Partitions {
		c.PublishEvents(finished(rlmmtest.Segment(c.PartitionOn(p, 0), 1, 0, 9))...)
	}
	c.WaitApplied()
	folder := t.TempDir()
	inFolder := func(cfg *views.Config) { cfg.DataDir = folder }
	for _, start := range []string{"first", "later"} {
		counts := map[kmsg.Key]*kfake.FaultHandle{}
		for key := range mostAtAStart {
			counts[key] = c.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Count: -1, Observe: true, When: slowly})
		}
		m := c.ReadyManager(inFolder)
		for key, most := range mostAtAStart {
			if n := counts[key].Hits(); n == 0 || n > most {
				t.Errorf("the %s start took %d requests %s, want 1 to %d", start, n, key.Name(), most)
			}
			counts[key].Remove()
		}
		wantSegment(t, m, c.PartitionOn(7, 0), 0, 5, rlmmtest.ID(1))
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
