// Package produce writes to one topic of Kafka's: batches that go to one broker at the same
// time share a request, and an idempotent producer is made of that.
package produce

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

const (
	// maxRequestBytes bounds a request; the least that a broker takes by default is 100 MiB.
	maxRequestBytes = 32 << 20
	// answerLimit is how long a broker may wait for its replicas.
	answerLimit = 10 * time.Second
)

// Requests joins the batches that go to one broker at the same time into one request.
// A broker answers the requests of a connection one after the other: with a request for
// each, fifty partitions would wait for each other's replication. One request is under way
// to a broker; everything that comes meanwhile goes into the next one.
type Requests struct {
	topic string

	mu     sync.Mutex
	queues map[int32]*Stage[*Call]
}

// NewRequests returns the requests that write the topic.
func NewRequests(topic string) *Requests {
	return &Requests{topic: topic, queues: map[int32]*Stage[*Call]{}}
}

// Call is one partition's batch on its way.
type Call struct {
	Broker    *sarama.Broker
	Partition int32
	// Fill is asked for the batch, and about how many bytes it has, when its request is made:
	// what has come by then may be in it. It returns nil when that has no room for it.
	Fill func(room int) (batch *sarama.RecordBatch, size int)
	// Done gets the answer: the offset of the batch, negative when the broker says none, and
	// an error. It must not block, for the next request is made behind it.
	Done func(base int64, err error)

	batch *sarama.RecordBatch
}

// Add sends the calls, all to one broker, with its next requests.
func (r *Requests) Add(calls ...*Call) { r.queue(calls[0].Broker.ID()).Add(calls...) }

func (r *Requests) queue(broker int32) *Stage[*Call] {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[broker]
	if q == nil {
		q = NewStage(fillRequest, r.send)
		r.queues[broker] = q
	}
	return q
}

// fillRequest fills a request, which has one batch of a partition, and returns how many of
// the calls went into it.
func fillRequest(waiting []*Call) int {
	room := math.MaxInt // the first one goes, however large
	for n, next := range waiting {
		if next.Broker != waiting[0].Broker || slices.ContainsFunc(waiting[:n], next.sharesPartition) {
			return n // a former owner's, still on its way
		}
		batch, size := next.Fill(room)
		if batch == nil {
			return n
		}
		next.batch, room = batch, min(room, maxRequestBytes)-size
	}
	return len(waiting)
}

func (c *Call) sharesPartition(other *Call) bool { return c.Partition == other.Partition }

func (r *Requests) send(calls []*Call) {
	resp, err := r.ask(calls)
	for _, c := range calls {
		c.batch = nil
		if err != nil {
			c.Done(-1, err)
			continue
		}
		c.Done(answerOf(resp.GetBlock(r.topic, c.Partition)))
	}
}

func (r *Requests) ask(calls []*Call) (*sarama.ProduceResponse, error) {
	broker := calls[0].Broker
	if ok, err := broker.Connected(); !ok {
		return nil, notSent(err)
	}
	req := &sarama.ProduceRequest{Version: 7, RequiredAcks: sarama.WaitForAll, Timeout: int32(answerLimit.Milliseconds())}
	for _, c := range calls {
		req.AddBatch(r.topic, c.Partition, c.batch)
	}
	resp, err := broker.Produce(req)
	if err != nil {
		_ = broker.Close() // a broken connection; the next try opens another
	}
	return resp, err
}

func answerOf(block *sarama.ProduceResponseBlock) (base int64, err error) {
	switch {
	case block == nil:
		return -1, sarama.ErrIncompleteResponse
	case block.Err != sarama.ErrNoError:
		return block.Offset, block.Err
	}
	return block.Offset, nil
}

// notSentError is the failure of a try that no broker has heard of.
type notSentError struct{ error }

func (e *notSentError) Unwrap() error { return e.error }

// notSent makes the error of a connection that there isn't a [notSentError]; nil is a broker
// that was closed meanwhile.
func notSent(err error) error {
	if err == nil {
		err = sarama.ErrNotConnected
	}
	return &notSentError{err}
}
