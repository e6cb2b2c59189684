package kafka

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/tieredlog/rlmm/internal/embedded"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick")) // never ends
}

// world is a broker and a connection to it.
type world struct {
	*kfake.Cluster
	t       *testing.T
	addr    string
	ctx     context.Context
	cluster *Cluster
}

func newWorld(t *testing.T) *world {
	t.Helper()
	b, err := embedded.Start(embedded.Config{})
	noError(t, err)
	t.Cleanup(b.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	c, err := Connect(ctx, Settings{Bootstrap: []string{b.Addr()}})
	noError(t, err)
	t.Cleanup(func() { noError(t, c.Close()) })
	return &world{b.Cluster(), t, b.Addr(), ctx, c}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantSame(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func (w *world) create(topic string, partitions int32, configs map[string]string) {
	w.t.Helper()
	noError(w.t, w.CreateTopic(topic, partitions, configs))
}

// produce appends n records to partition 0, one batch.
func (w *world) produce(topic string, n int, opts ...kgo.Opt) {
	w.t.Helper()
	w.produceValue(topic, n, []byte("v"), opts...)
}

func (w *world) produceValue(topic string, n int, value []byte, opts ...kgo.Opt) {
	w.t.Helper()
	w.produceRecords(records(topic, n, value), opts...)
}

// produceToAll appends n records to each of so many partitions.
func (w *world) produceToAll(topic string, partitions int32, n int) {
	w.t.Helper()
	var all []*kgo.Record
	for p := range partitions {
		for _, r := range records(topic, n, []byte("v")) {
			r.Partition = p
			all = append(all, r)
		}
	}
	w.produceRecords(all)
}

func (w *world) produceRecords(all []*kgo.Record, opts ...kgo.Opt) {
	w.t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(w.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(8<<20))...)
	noError(w.t, err)
	defer client.Close()
	noError(w.t, client.ProduceSync(w.ctx, all...).FirstErr())
}

func records(topic string, n int, value []byte) []*kgo.Record {
	all := make([]*kgo.Record, n)
	for i := range all {
		all[i] = &kgo.Record{Topic: topic, Key: []byte("k" + strconv.Itoa(i)), Value: value}
	}
	return all
}

// transact appends n records and the control record that ends their transaction.
func (w *world) transact(topic string, n int, end kgo.TransactionEndTry) {
	w.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.addr), kgo.TransactionalID("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	noError(w.t, err)
	defer client.Close()
	noError(w.t, client.BeginTransaction())
	noError(w.t, client.ProduceSync(w.ctx, records(topic, n, []byte("v"))...).FirstErr())
	noError(w.t, client.EndTransaction(w.ctx, end))
}

// transactAtOnce commits n transactions of one record each, which all begin before the
// first one ends: their control records lie together.
func (w *world) transactAtOnce(topic string, n int) {
	w.t.Helper()
	clients := make([]*kgo.Client, n)
	for i := range clients {
		client, err := kgo.NewClient(kgo.SeedBrokers(w.addr), kgo.TransactionalID(strconv.Itoa(i)), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		noError(w.t, err)
		defer client.Close()
		noError(w.t, client.BeginTransaction())
		noError(w.t, client.ProduceSync(w.ctx, records(topic, 1, []byte("v"))...).FirstErr())
		clients[i] = client
	}
	for _, client := range clients {
		noError(w.t, client.EndTransaction(w.ctx, kgo.TryCommit))
	}
}

// count observes requests of a kind, all entities of each among it.
func (w *world) count(keys ...kmsg.Key) *kfake.FaultHandle {
	return w.Fault(kfake.Fault{Keys: keys, Count: -1, Observe: true})
}
