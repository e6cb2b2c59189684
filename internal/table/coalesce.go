package table

import (
	"sync"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/internal/produce"
)

// coalescer verifies what waits for a request while the one before is under way.
type coalescer struct {
	requests *produce.Requests
	verify   func(partitions []int32, again bool) error

	mu     sync.Mutex
	stages map[int32]*produce.Stage[unverified] // by broker
}

// unverified is a batch that waits to be verified, and whether it was tried before.
type unverified struct {
	*produce.Call
	again bool
}

func newCoalescer(topic string, verify func([]int32, bool) error) *coalescer {
	return &coalescer{requests: produce.NewRequests(topic), verify: verify, stages: map[int32]*produce.Stage[unverified]{}}
}

// produce sends the records, which take about so many bytes, and returns the offset of the
// first. again tells whether it was tried before.
func (c *coalescer) produce(broker *sarama.Broker, partition int32, batch *sarama.RecordBatch, size int, again bool) (base int64, err error) {
	done := make(chan struct{})
	call := &produce.Call{
		Broker: broker, Partition: partition,
		Fill: func(room int) (*sarama.RecordBatch, int) {
			if size > room {
				return nil, 0
			}
			return batch, size
		},
		Done: func(b int64, e error) {
			base, err = b, e
			close(done)
		},
	}
	c.stage(broker.ID()).Add(unverified{call, again})
	<-done
	return base, err
}

func (c *coalescer) stage(broker int32) *produce.Stage[unverified] {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stages[broker]
	if s == nil {
		s = produce.NewStage(produce.All, c.check)
		c.stages[broker] = s
	}
	return s
}

// check verifies the batches and passes them on.
func (c *coalescer) check(waiting []unverified) {
	partitions, calls, again := make([]int32, len(waiting)), make([]*produce.Call, len(waiting)), false
	for i, w := range waiting {
		partitions[i], calls[i], again = w.Partition, w.Call, again || w.again
	}
	err := c.verify(partitions, again)
	if err == nil {
		c.requests.Add(calls...)
		return
	}
	for _, call := range calls {
		call.Done(-1, err)
	}
}
