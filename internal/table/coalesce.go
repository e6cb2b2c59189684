package table

import (
	"sync"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/internal/produce"
)

// coalescer verifies what waits for a request while the one before is under way.
type coalescer struct {
	requests *produce.Requests
	verify   func(partitions []int32) error

	mu     sync.Mutex
	stages map[int32]*produce.Stage[*produce.Call] // by broker
}

func newCoalescer(topic string, verify func([]int32) error) *coalescer {
	return &coalescer{requests: produce.NewRequests(topic), verify: verify, stages: map[int32]*produce.Stage[*produce.Call]{}}
}

// produce sends the batch and returns the offset of its first record. size is the batch's,
// about.
func (c *coalescer) produce(broker *sarama.Broker, partition int32, batch *sarama.RecordBatch, size int) (base int64, err error) {
	done := make(chan struct{})
	c.stage(broker.ID()).Add(&produce.Call{
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
	})
	<-done
	return base, err
}

func (c *coalescer) stage(broker int32) *produce.Stage[*produce.Call] {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stages[broker]
	if s == nil {
		s = produce.NewStage(produce.All, c.check)
		c.stages[broker] = s
	}
	return s
}

// check verifies the calls and passes them on.
func (c *coalescer) check(calls []*produce.Call) {
	partitions := make([]int32, len(calls))
	for i, call := range calls {
		partitions[i] = call.Partition
	}
	err := c.verify(partitions)
	if err == nil {
		c.requests.Add(calls...)
		return
	}
	for _, call := range calls {
		call.Done(-1, err)
	}
}
