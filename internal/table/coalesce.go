package table

import (
	"slices"
	"sync"

	"github.com/IBM/sarama"
)

// maxRequestBytes bounds a request; the least that a broker takes by default is 100 MiB.
const maxRequestBytes = 32 << 20

// coalescer joins the batches that go to one broker at the same time into one request.
// A broker answers the requests of a connection one after the other: with a request
// for each, fifty partitions would wait for each other's replication.
type coalescer struct {
	topic  string
	verify func(partitions []int32) error

	mu     sync.Mutex
	queues map[int32]*brokerQueue
}

// brokerQueue is what waits for one broker.
type brokerQueue struct {
	mu      sync.Mutex
	waiting []*produceCall
	sending bool
}

// produceCall is one partition's batch on its way.
type produceCall struct {
	broker    *sarama.Broker
	partition int32
	batch     *sarama.RecordBatch
	size      int
	done      chan struct{} // closed when block and err are set
	block     *sarama.ProduceResponseBlock
	err       error
}

func newCoalescer(topic string, verify func([]int32) error) *coalescer {
	return &coalescer{topic: topic, verify: verify, queues: map[int32]*brokerQueue{}}
}

// produce sends the batch and returns the broker's answer for its partition. size is
// the batch's, about.
func (c *coalescer) produce(broker *sarama.Broker, partition int32, batch *sarama.RecordBatch, size int) (*sarama.ProduceResponseBlock, error) {
	call := &produceCall{broker: broker, partition: partition, batch: batch, size: size, done: make(chan struct{})}
	q := c.queue(broker.ID())
	q.mu.Lock()
	q.waiting = append(q.waiting, call)
	first := !q.sending
	q.sending = true
	q.mu.Unlock()
	if first {
		go c.drain(q)
	}
	<-call.done
	return call.block, call.err
}

func (c *coalescer) queue(broker int32) *brokerQueue {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[broker]
	if q == nil {
		q = &brokerQueue{}
		c.queues[broker] = q
	}
	return q
}

// drain sends what waits, request by request, until nothing does.
func (c *coalescer) drain(q *brokerQueue) {
	for calls := q.take(); len(calls) > 0; calls = q.take() {
		c.send(calls)
	}
}

// take removes what fits into one request: at least one call, and one of a partition.
func (q *brokerQueue) take() []*produceCall {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size := 0, 0
	for n < len(q.waiting) {
		next := q.waiting[n]
		if size += next.size; n > 0 && (size > maxRequestBytes || next.broker != q.waiting[0].broker) {
			break
		}
		if slices.ContainsFunc(q.waiting[:n], func(c *produceCall) bool { return c.partition == next.partition }) {
			break // a former owner's, still on its way
		}
		n++
	}
	calls := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	q.sending = n > 0
	return calls
}

func (c *coalescer) send(calls []*produceCall) {
	partitions := make([]int32, len(calls))
	for i, call := range calls {
		partitions[i] = call.partition
	}
	if err := c.verify(partitions); err != nil {
		for _, call := range calls {
			call.err = err
			close(call.done)
		}
		return
	}
	c.request(calls)
}

func (c *coalescer) request(calls []*produceCall) {
	req := &sarama.ProduceRequest{Version: 7, RequiredAcks: sarama.WaitForAll, Timeout: int32(produceLimit.Milliseconds())}
	for _, call := range calls {
		req.AddBatch(c.topic, call.partition, call.batch)
	}
	resp, err := calls[0].broker.Produce(req)
	if err != nil {
		_ = calls[0].broker.Close() // a broken connection; the next try opens another
	}
	for _, call := range calls {
		call.err = err
		if err == nil {
			call.block, call.err = blockOf(resp, c.topic, call.partition)
		}
		close(call.done)
	}
}

func blockOf(resp *sarama.ProduceResponse, topic string, partition int32) (*sarama.ProduceResponseBlock, error) {
	block := resp.GetBlock(topic, partition)
	switch {
	case block == nil:
		return nil, sarama.ErrIncompleteResponse
	case block.Err != sarama.ErrNoError:
		return nil, block.Err
	}
	return block, nil
}
