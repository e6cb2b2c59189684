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
// for each, fifty partitions would wait for each other's replication. What waits for a
// request is verified while the one before is under way.
type coalescer struct {
	topic  string
	verify func(partitions []int32) error

	mu     sync.Mutex
	queues map[int32]*brokerQueue
}

// brokerQueue is what waits for one broker: first to be verified, then to be sent.
type brokerQueue struct{ verify, send stage }

// stage does one step after the other for what has come meanwhile.
type stage struct {
	step func([]*produceCall)
	// fit is how many of what waits, one at least, one step may take.
	fit func(waiting []*produceCall) int

	mu      sync.Mutex
	waiting []*produceCall
	running bool
}

func (s *stage) add(calls ...*produceCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, calls...)
	if !s.running {
		s.running = true
		go s.run()
	}
}

// run goes on until nothing waits.
func (s *stage) run() {
	for calls := s.take(); len(calls) > 0; calls = s.take() {
		s.step(calls)
	}
}

func (s *stage) take() []*produceCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running = len(s.waiting) > 0; !s.running {
		s.waiting = nil
		return nil
	}
	n := s.fit(s.waiting)
	calls := s.waiting[:n:n]
	s.waiting = s.waiting[n:]
	return calls
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
	c.queue(broker.ID()).verify.add(call)
	<-call.done
	return call.block, call.err
}

func (c *coalescer) queue(broker int32) *brokerQueue {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[broker]
	if q == nil {
		q = &brokerQueue{send: stage{step: c.request, fit: fitsRequest}}
		q.verify = stage{fit: fitsAll, step: func(calls []*produceCall) { c.check(calls, &q.send) }}
		c.queues[broker] = q
	}
	return q
}

// check verifies the calls and passes them on.
func (c *coalescer) check(calls []*produceCall, next *stage) {
	partitions := make([]int32, len(calls))
	for i, call := range calls {
		partitions[i] = call.partition
	}
	err := c.verify(partitions)
	if err == nil {
		next.add(calls...)
		return
	}
	for _, call := range calls {
		call.err = err
		close(call.done)
	}
}

func fitsAll(waiting []*produceCall) int { return len(waiting) }

// fitsRequest is how many go into one request, which has one batch of a partition.
func fitsRequest(waiting []*produceCall) int {
	n, size := 0, 0
	for n < len(waiting) {
		next := waiting[n]
		if size += next.size; n > 0 && (size > maxRequestBytes || next.broker != waiting[0].broker) {
			break
		}
		if slices.ContainsFunc(waiting[:n], func(c *produceCall) bool { return c.partition == next.partition }) {
			break // a former owner's, still on its way
		}
		n++
	}
	return n
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
