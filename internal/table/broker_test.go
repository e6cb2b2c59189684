package table

import (
	"context"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/embedded"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
)

const (
	tableTopic    = "rlmm-table"
	rejectedTopic = "rlmm-rejected"
	partitions    = 2
	patience      = 20 * time.Second
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// LevelDB leaves this one for a second after it was closed, go-metrics for ever.
		goleak.IgnoreTopFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"),
		goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// world is a broker with the table's topic.
type world struct {
	*kfake.Cluster
	t     *testing.T
	addr  string
	ctx   context.Context
	other *otherProducer
	// refused counts what the writers are told to be too large.
	refused atomic.Int64
	// rejectionsFailed counts the failed tries to send rejected events.
	rejectionsFailed atomic.Int64
}

func newWorld(t *testing.T, configs map[string]string) *world {
	t.Helper()
	b, err := embedded.Start(embedded.Config{})
	noError(t, err)
	t.Cleanup(b.Close)
	noError(t, b.Cluster().CreateTopic(tableTopic, partitions, configs))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	other := &otherProducer{sent: make(chan sent, 1000)}
	return &world{Cluster: b.Cluster(), t: t, addr: b.Addr(), ctx: ctx, other: other}
}

// writer is a writer of the table that ends with the test.
func (w *world) writer(change ...func(*sarama.Config)) *Writer {
	w.t.Helper()
	c := kafka.Settings{Bootstrap: []string{w.addr}}.Producer()
	for _, f := range change {
		f(c)
	}
	client, err := sarama.NewClient([]string{w.addr}, c)
	noError(w.t, err)
	writer := NewWriter(WriterConfig{
		Client: client, Topic: tableTopic, Partitions: partitions,
		MaxBatchBytes: 1 << 20, Refused: func(context.Context, int32) { w.refused.Add(1) }, Other: w.other,
		Verify:          func(context.Context, []int32, bool) error { return nil },
		RejectionFailed: func(context.Context, int32, error) { w.rejectionsFailed.Add(1) },
		RenewEvery:      time.Hour, Failed: func(error) {},
	})
	w.t.Cleanup(func() {
		if !client.Closed() {
			noError(w.t, writer.Close())
		}
	})
	return writer
}

// otherProducer takes the rejected events, once they are finished.
type otherProducer struct {
	sent   chan sent
	closed bool
}

// sent is a rejected event that waits to be finished.
type sent struct {
	topic, key string
	finish     func(error)
}

func (p *otherProducer) Emit(topic, key string, value []byte) *goka.Promise {
	return p.EmitWithHeaders(topic, key, value, nil)
}

func (p *otherProducer) EmitWithHeaders(topic, key string, _ []byte, _ goka.Headers) *goka.Promise {
	promise, finish := goka.NewPromiseWithFinisher()
	p.sent <- sent{topic, key, func(err error) { finish(nil, err) }}
	return promise
}

func (p *otherProducer) Close() error {
	p.closed = true
	return nil
}

// own makes the writer the owner of a partition, as a session does: fence, recover,
// go live.
func (w *world) own(writer *Writer, partition int32) *store.Store {
	w.t.Helper()
	fence, err := writer.Acquire(w.ctx, partition, identity)
	noError(w.t, err)
	s := w.replay(partition)
	noError(w.t, s.GoLive(fence))
	noError(w.t, writer.Start(partition, s))
	return s
}

// replay is a store that has read the whole partition.
func (w *world) replay(partition int32) *store.Store {
	w.t.Helper()
	s, _, err := store.Open(filepath.Join(w.t.TempDir(), "0"), store.Options{}, store.Expect{Identity: identity})
	noError(w.t, err)
	w.t.Cleanup(func() { _ = s.Close() })
	for _, m := range w.records(partition) {
		r, err := Parse(string(m.Key), m.Value, gokaHeaders(m.Headers), m.Timestamp)
		noError(w.t, err)
		ok, err := Apply(s, r)
		noError(w.t, err)
		if !ok {
			w.t.Fatalf("the record at %d of the table is stale: %+v", m.Offset, r)
		}
		noError(w.t, s.SetOffset(m.Offset))
	}
	noError(w.t, s.MarkRecovered())
	return s
}

// records reads the partition up to its end, and sees that no offset is missing.
func (w *world) records(partition int32) []*kgo.Record {
	w.t.Helper()
	end := w.PartitionInfo(tableTopic, partition).HighWatermark
	client, err := kgo.NewClient(kgo.SeedBrokers(w.addr), kgo.FetchMaxWait(50*time.Millisecond),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{tableTopic: {partition: kgo.NewOffset().AtStart()}}))
	noError(w.t, err)
	defer client.Close()
	var all []*kgo.Record
	for int64(len(all)) < end {
		fetches := client.PollFetches(w.ctx)
		noError(w.t, fetches.Err())
		all = append(all, fetches.Records()...)
	}
	for i, m := range all {
		if m.Offset != int64(i) {
			w.t.Fatalf("record %d of the table has offset %d", i, m.Offset)
		}
	}
	return all
}

// wantExact sees that a store is just what the table says, on disk too.
func (w *world) wantExact(s *store.Store, partition int32) {
	w.t.Helper()
	replayed := w.replay(partition)
	want, got := replayed.Committed(), s.Committed()
	want.Time, got.Time = 0, 0 // the store has the time of the emit
	wantSame(w.t, "position", want, got)
	wantSame(w.t, "rows", rowsOf(w.t, replayed), rowsOf(w.t, s))
}

func rowsOf(t *testing.T, s *store.Store) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for r, err := range s.Rows(nil, nil) {
		noError(t, err)
		rows[string(r.Key)] = string(r.Value)
	}
	return rows
}

func gokaHeaders(in []kgo.RecordHeader) goka.Headers {
	h := goka.Headers{}
	for _, x := range in {
		h[x.Key] = x.Value
	}
	return h
}

func recordHeaders(in []*sarama.RecordHeader) goka.Headers {
	h := goka.Headers{}
	for _, x := range in {
		h[string(x.Key)] = x.Value
	}
	return h
}

// keyOn is a row's key on the partition; n tells keys apart.
func keyOn(partition int32, n int) string {
	for i := int32(0); ; i++ {
		tip := codecTip(n, i)
		if codec.MetadataPartition(tip, partitions) == partition {
			return codec.PartitionKey(tip)
		}
	}
}

// emit sends the answer to the input record at the offset, under one of a few keys.
func emit(w *Writer, partition int32, offset int64) *result {
	key, value := keyOn(partition, int(offset%7)), []byte("value "+strconv.FormatInt(offset, 10))
	switch offset % 10 {
	case 8:
		value = nil
	case 9:
		key, value = codec.RejectedKey(partition), nil
	}
	return wait(w.Write(answer(key, value, offset, codec.OutcomeApplied)))
}

func answer(key string, value []byte, offset int64, outcome codec.Outcome) Record {
	return Record{Kind: Answer, Key: key, Value: value, Source: offset, Outcome: outcome}
}

// result is what became of an emit.
type result struct {
	done chan struct{}
	err  error
}

func wait(p *goka.Promise) *result {
	r := &result{done: make(chan struct{})}
	p.Then(func(err error) {
		r.err = err
		close(r.done) // a second finish would panic here
	})
	return r
}

func (w *world) await(r *result) error {
	w.t.Helper()
	select {
	case <-r.done:
		return r.err
	case <-w.ctx.Done():
		w.t.Fatal("an emit was never finished")
		return nil
	}
}

func (w *world) awaitAll(results []*result) {
	w.t.Helper()
	for i, r := range results {
		if err := w.await(r); err != nil {
			w.t.Fatalf("emit %d: %v", i, err)
		}
	}
}

// batch is a produced batch as the broker gets it.
type batch struct {
	Epoch    int16
	Sequence int32
	Records  int32
	Bytes    int
}

// batches notes every batch that comes, also those that are refused.
type batches struct {
	mu  sync.Mutex
	all []batch
}

func (w *world) watchBatches() *batches {
	seen := &batches{}
	// Without the partitions it would see each request twice.
	w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Partitions: []int32{0, 1}, Count: -1, Observe: true, When: func(r kmsg.Request) bool {
		seen.add(r.(*kmsg.ProduceRequest))
		return true
	}})
	return seen
}

func (b *batches) add(r *kmsg.ProduceRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, topic := range r.Topics {
		for _, p := range topic.Partitions {
			var rb kmsg.RecordBatch
			if rb.ReadFrom(p.Records) == nil {
				b.all = append(b.all, batch{rb.ProducerEpoch, rb.FirstSequence, rb.NumRecords, len(p.Records)})
			}
		}
	}
}

func (b *batches) get() []batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]batch{}, b.all...)
}

// hold keeps the next produce request from being looked at until release is called.
// held is closed when it has come.
func (w *world) hold() (held chan struct{}, release func()) {
	held, released := make(chan struct{}), make(chan struct{})
	var taken atomic.Bool // requests of others come to the function while it sleeps
	w.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		if taken.Swap(true) {
			return nil, nil, false
		}
		close(held)
		w.SleepControl(func() { <-released })
		return nil, nil, false
	})
	release = sync.OnceFunc(func() { close(released) })
	w.t.Cleanup(release)
	return held, release
}

func (w *world) awaitClosed(what string, c chan struct{}) {
	w.t.Helper()
	select {
	case <-c:
	case <-w.ctx.Done():
		w.t.Fatalf("waited too long: %s", what)
	}
}
