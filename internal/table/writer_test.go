package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/store"
)

func codecTip(n int, i int32) api.TopicIdPartition {
	return api.TopicIdPartition{Topic: "t", TopicID: api.UUID{0: 1, 1: byte(n)}, Partition: i}
}

// sources are the input offsets of the answers in a partition, in table order.
func (w *world) sources(partition int32) []int64 {
	w.t.Helper()
	var all []int64
	for _, m := range w.records(partition) {
		r, err := Parse(string(m.Key), m.Value, gokaHeaders(m.Headers), m.Timestamp)
		noError(w.t, err)
		if r.Kind == Answer {
			all = append(all, r.Source)
		}
	}
	return all
}

func upTo(n int64) []int64 {
	var all []int64
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestWriterKeepsOrder(t *testing.T) {
	const n = 3000
	w := newWorld(t, nil)
	writer := w.writer()
	stores := []*store.Store{w.own(writer, 0), w.own(writer, 1)}
	var emitters sync.WaitGroup
	results := make([][]*result, partitions)
	for p := range int32(partitions) {
		emitters.Go(func() {
			for i := range int64(n) {
				results[p] = append(results[p], emit(writer, p, i))
			}
		})
	}
	emitters.Wait()
	for p := range int32(partitions) {
		w.awaitAll(results[p])
		wantSame(t, "answers", upTo(n), w.sources(p))
		w.wantExact(stores[p], p)
	}
}

func TestReadsSeeWhatIsOnItsWay(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	s := w.own(writer, 0)
	held, release := w.hold()
	key := keyOn(0, 1)
	first := wait(writer.Write(answer(key, []byte("1"), 0, codec.OutcomeApplied)))
	w.awaitClosed("the first batch", held)
	second := wait(writer.Write(answer(key, []byte("2"), 1, codec.OutcomeApplied)))
	row, err := s.Get(key)
	noError(t, err)
	wantSame(t, "row", "2", string(row))
	wantSame(t, "on disk", map[string]string{}, rowsOf(t, s))
	release()
	w.awaitAll([]*result{first, second})
	wantSame(t, "on disk", map[string]string{key: "2"}, rowsOf(t, s))
}

func TestNewOwnerFencesTheOld(t *testing.T) {
	w := newWorld(t, nil)
	old, young := w.writer(), w.writer()
	oldStore := w.own(old, 0)
	w.awaitAll([]*result{emit(old, 0, 0)})
	behind := oldStore.Committed()

	held, release := w.hold()
	results := []*result{emit(old, 0, 1)}
	w.awaitClosed("the old owner's batch", held)
	for i := range int64(40) {
		results = append(results, emit(old, 0, 2+i))
	}
	newStore := w.own(young, 0)
	release()
	for i, r := range results {
		if err := w.await(r); !errors.Is(err, sarama.ErrInvalidProducerEpoch) {
			t.Fatalf("emit %d of the old owner: %v", i, err)
		}
	}
	if err := w.await(emit(old, 0, 50)); !errors.Is(err, sarama.ErrInvalidProducerEpoch) {
		t.Fatalf("and later: %v", err)
	}
	wantSame(t, "the old owner's store", behind, oldStore.Committed())
	w.awaitAll([]*result{emit(young, 0, 1)})
	wantSame(t, "answers", []int64{0, 1}, w.sources(0))
	w.wantExact(newStore, 0)
}

// TestLateRecordBeforeTheFence: what a former owner still lands, the recovery reads.
func TestOldOwnersRecordsBeforeTheFenceCount(t *testing.T) {
	w := newWorld(t, nil)
	old, young := w.writer(), w.writer()
	w.own(old, 0)
	w.awaitAll([]*result{emit(old, 0, 0), emit(old, 0, 1)})
	s := w.own(young, 0)
	wantSame(t, "applied", int64(1), s.Position().Applied)
	w.awaitAll([]*result{emit(young, 0, 2)})
	w.wantExact(s, 0)
}

func TestReacquireBySameWriter(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	first := w.own(writer, 0)
	held, release := w.hold()
	inFlight := emit(writer, 0, 0)
	w.awaitClosed("the batch", held)
	waiting := emit(writer, 0, 1)
	acquired := make(chan error, 1)
	go func() {
		_, err := writer.Acquire(w.ctx, 0, identity)
		acquired <- err
	}()
	release()
	noError(t, <-acquired)
	for _, r := range []*result{inFlight, waiting} {
		// It got through before, or never.
		if err := w.await(r); err != nil && !errors.Is(err, errReleased) && !errors.Is(err, sarama.ErrInvalidProducerEpoch) {
			t.Fatal(err)
		}
	}
	if err := w.await(emit(writer, 0, 2)); !errors.Is(err, errNotStarted) {
		t.Fatalf("emit before the new start: %v", err)
	}
	if first.Committed().Table >= w.PartitionInfo(tableTopic, 0).HighWatermark {
		t.Fatalf("the first store is at %d, beyond the table", first.Committed().Table)
	}
}

func TestReleaseFailsWhatWaits(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	s := w.own(writer, 0)
	w.awaitAll([]*result{emit(writer, 0, 0)})
	before := s.Committed()
	held, release := w.hold()
	inFlight := emit(writer, 0, 1)
	w.awaitClosed("the batch", held)
	var waiting []*result
	for i := range int64(maxWaiting) {
		waiting = append(waiting, emit(writer, 0, 2+i))
	}
	// These block: no more may wait.
	blocked := make(chan error, 10)
	for i := range cap(blocked) {
		go func() { blocked <- w.await(emit(writer, 0, int64(5000+i))) }()
	}
	writer.Release()
	for _, r := range waiting {
		if err := w.await(r); !errors.Is(err, errReleased) {
			t.Fatalf("waiting: %v", err)
		}
	}
	for range cap(blocked) {
		if err := <-blocked; err == nil {
			t.Fatal("an emit got through after the release")
		}
	}
	if err := w.await(emit(writer, 0, 9999)); err == nil || !strings.Contains(err.Error(), "isn't owned here") {
		t.Fatalf("emit after the release: %v", err)
	}
	release()
	if err := w.await(inFlight); !errors.Is(err, errReleased) {
		t.Fatalf("in flight: %v", err)
	}
	wantSame(t, "the store", before, s.Committed())
	writer.Release() // of nothing
	s = w.own(writer, 0)
	w.awaitAll([]*result{emit(writer, 0, 2)})
	w.wantExact(s, 0)
}

func TestRetriableErrors(t *testing.T) {
	for _, e := range []*kerr.Error{
		kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.NotLeaderForPartition, kerr.LeaderNotAvailable,
		kerr.RequestTimedOut, kerr.KafkaStorageError, kerr.UnknownServerError, kerr.UnknownTopicOrPartition,
	} {
		t.Run(e.Message, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.disturbed(func() {
				w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: e, Count: 3})
			})
		})
	}
	t.Run("connection cut", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		w.disturbed(func() { w.cut(kmsg.Produce, 3) })
	})
	t.Run("connection cut behind the append", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		// The broker takes the batch, and every look at the cluster fails meanwhile.
		w.disturbed(func() {
			w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.RequestTimedOut, Count: 1})
			w.cut(kmsg.Metadata, 2)
			w.cut(kmsg.Produce, 1)
		})
	})
}

// cut closes the connection at each of the next n requests.
func (w *world) cut(key kmsg.Key, n int) {
	for range n {
		w.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
			return nil, errors.New("cut"), true
		})
	}
}

// disturbed writes while the trouble is on, and wants no loss and no duplicate.
func (w *world) disturbed(trouble func()) {
	w.t.Helper()
	writer := w.writer()
	s := w.own(writer, 0)
	w.awaitAll([]*result{emit(writer, 0, 0)})
	var results []*result
	for i := range int64(200) {
		if i%50 == 10 {
			w.awaitAll(results)
			trouble()
		}
		results = append(results, emit(writer, 0, 1+i))
	}
	w.awaitAll(results)
	wantSame(w.t, "answers", upTo(201), w.sources(0))
	w.wantExact(s, 0)
}

func TestFatalErrors(t *testing.T) {
	for _, e := range []*kerr.Error{
		kerr.InvalidProducerEpoch, kerr.OutOfOrderSequenceNumber, kerr.UnknownProducerID,
		kerr.TopicAuthorizationFailed, kerr.InvalidRecord,
	} {
		t.Run(e.Message, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			writer := w.writer()
			s := w.own(writer, 0)
			w.awaitAll([]*result{emit(writer, 0, 0)})
			before := s.Committed()
			held, release := w.hold()
			results := []*result{emit(writer, 0, 1)}
			w.awaitClosed("the batch", held)
			for i := range int64(700) { // more than a batch
				results = append(results, emit(writer, 0, 2+i))
			}
			w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: e})
			release()
			var code sarama.KError
			for i, r := range append(results, emit(writer, 0, 1000)) {
				if err := w.await(r); !errors.As(err, &code) || int16(code) != e.Code {
					t.Fatalf("emit %d: %v, want %v", i, err, e)
				}
			}
			wantSame(t, "the store", before, s.Committed())
			wantSame(t, "answers", []int64{0}, w.sources(0))
			s = w.own(writer, 0)
			w.awaitAll([]*result{emit(writer, 0, 1)})
			w.wantExact(s, 0)
		})
	}
}

func TestAnotherWriterInTheTableStopsThePartition(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	s := w.own(writer, 0)
	w.awaitAll([]*result{emit(writer, 0, 0)})
	before := s.Committed()
	stranger, err := sarama.NewSyncProducer([]string{w.addr}, syncConfig())
	noError(t, err)
	defer stranger.Close()
	_, _, err = stranger.SendMessage(&sarama.ProducerMessage{Topic: tableTopic, Partition: 0, Value: sarama.StringEncoder("x")})
	noError(t, err)
	for i := range int64(2) {
		if err := w.await(emit(writer, 0, 1+i)); err == nil || !strings.Contains(err.Error(), "another writer") {
			t.Fatalf("emit %d: %v", i, err)
		}
	}
	wantSame(t, "the store", before, s.Committed())
}

func syncConfig() *sarama.Config {
	c := sarama.NewConfig()
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.Return.Successes = true
	return c
}

func TestBatchesFitTheTable(t *testing.T) {
	const limit = 4096
	w := newWorld(t, map[string]string{"max.message.bytes": strconv.Itoa(limit)})
	writer := w.writer()
	writer.cfg.MaxBatchBytes = limit
	s := w.own(writer, 0)
	seen := w.watchBatches()
	held, release := w.hold()
	results := []*result{emit(writer, 0, 0)}
	w.awaitClosed("the first batch", held)
	for i := range int64(600) {
		value := strings.Repeat("v", int(i*37%2000))
		if i%100 == 50 {
			value = strings.Repeat("v", limit-recordExtra-200) // all but fills a batch of its own
		}
		record := answer(keyOn(0, int(i%5)), []byte(value), 1+i, codec.OutcomeInvalidPartitionDeleteTransition)
		results = append(results, wait(writer.Write(record)))
	}
	release()
	w.awaitAll(results)
	for _, b := range seen.get() {
		if b.Bytes > limit {
			t.Errorf("a batch of %d bytes", b.Bytes)
		}
	}
	wantSame(t, "answers", upTo(601), w.sources(0))
	w.wantExact(s, 0)
}

// limitTable sets the table's max.message.bytes as an operator would.
func (w *world) limitTable(bytes int) {
	w.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.addr))
	noError(w.t, err)
	defer client.Close()
	set := kadm.AlterConfig{Op: kadm.SetConfig, Name: "max.message.bytes", Value: new(strconv.Itoa(bytes))}
	responses, err := kadm.NewClient(client).AlterTopicConfigs(w.ctx, []kadm.AlterConfig{set}, tableTopic)
	noError(w.t, err)
	noError(w.t, responses[0].Err)
}

// The table's limit was lowered since the writer was made, but each record still fits.
func TestBatchesThatTheTableRefusesAreHalved(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	s := w.own(writer, 0)
	held, release := w.hold()
	results := []*result{emit(writer, 0, 0)}
	w.awaitClosed("the first batch", held)
	for i := range int64(600) {
		results = append(results, emit(writer, 0, 1+i))
	}
	w.limitTable(1000)
	release()
	w.awaitAll(results)
	wantSame(t, "answers", upTo(601), w.sources(0))
	w.wantExact(s, 0)
	if n := w.refused.Load(); n != 0 {
		t.Errorf("%d single records were refused", n)
	}
}

// A record that no longer fits waits with what lies behind it until the limit is raised,
// and leaves the other partitions alone.
func TestRecordThatTheTableRefusesWaits(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	s := w.own(writer, 0)
	w.own(writer, 1)
	w.limitTable(1000)
	held, release := w.hold()
	results := []*result{emit(writer, 0, 0)}
	w.awaitClosed("the first batch", held)
	for i := range int64(20) {
		results = append(results, emit(writer, 0, 1+i))
	}
	large := wait(writer.Write(answer(keyOn(0, 0), make([]byte, 2000), 21, codec.OutcomeApplied)))
	results = append(results, large, emit(writer, 0, 22))
	release()
	for tick := time.NewTicker(time.Millisecond); w.refused.Load() < 3; <-tick.C {
		noError(t, w.ctx.Err())
	}
	w.awaitAll([]*result{emit(writer, 1, 0)})
	wantSame(t, "answers before it", upTo(21), w.sources(0))
	w.limitTable(4000)
	w.awaitAll(results)
	wantSame(t, "answers", upTo(23), w.sources(0))
	w.wantExact(s, 0)
}

// A partition that waits so can be given up.
func TestRefusedRecordEndsWithThePartition(t *testing.T) {
	w := newWorld(t, map[string]string{"max.message.bytes": "1000"})
	writer := w.writer()
	w.own(writer, 0)
	large := wait(writer.Write(answer(keyOn(0, 0), make([]byte, 2000), 0, codec.OutcomeApplied)))
	for tick := time.NewTicker(time.Millisecond); w.refused.Load() < 1; <-tick.C {
		noError(t, w.ctx.Err())
	}
	writer.Release()
	if err := w.await(large); !errors.Is(err, errReleased) {
		t.Errorf("%v", err)
	}
}

// goka emits a key and a value; what they answer it was told before, and only once.
func TestEmitSendsTheAnswerThatWasTold(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	s := w.own(writer, 0)
	key := keyOn(0, 0)
	told := Answered{Offset: 3, Outcome: codec.OutcomeApplied, Input: 5}
	writer.Answer(0, told)
	w.awaitAll([]*result{wait(writer.Emit(tableTopic, key, []byte("row")))})
	if err := w.await(wait(writer.Emit(tableTopic, key, []byte("row")))); err == nil {
		t.Error("an answer was sent twice")
	}
	last := w.records(0)[len(w.records(0))-1]
	got, err := Parse(string(last.Key), last.Value, gokaHeaders(last.Headers), last.Timestamp)
	noError(t, err)
	wantSame(t, "told", told, Answered{got.Source, got.Outcome, got.Input})
	w.wantExact(s, 0)
}

// The answer to an event whose row would be too large says so and touches no row.
func TestTooLargeAnswerLeavesTheRow(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	s := w.own(writer, 0)
	key := keyOn(0, 0)
	old := wait(writer.Write(answer(key, []byte("old"), 0, codec.OutcomeApplied)))
	writer.Answer(0, Answered{Offset: 1, Outcome: codec.OutcomeTooLarge})
	w.awaitAll([]*result{old, wait(writer.Emit(tableTopic, key, nil))})
	value, err := s.Get(key)
	noError(t, err)
	wantSame(t, "row", "old", string(value))
	wantSame(t, "answers", upTo(2), w.sources(0))
	w.wantExact(s, 0)
}

func TestBatchesAreNoLongerThanTheStoresAre(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	w.own(writer, 0)
	seen := w.watchBatches()
	held, release := w.hold()
	results := []*result{emit(writer, 0, 0)}
	w.awaitClosed("the first batch", held)
	for i := range int64(maxWaiting) {
		results = append(results, emit(writer, 0, 1+i))
	}
	release()
	w.awaitAll(results)
	var counts []int32
	for _, b := range seen.get() {
		counts = append(counts, b.Records)
	}
	wantSame(t, "records of the batches", []int32{1, maxBatch, maxBatch, maxWaiting - 2*maxBatch}, counts)
}

// TestSequenceWraps has a broker that checks no sequence, as kfake's is one less long
// than Kafka's.
func TestSequenceWraps(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	s := w.own(writer, 0)
	writer.owners[0].seq = math.MaxInt32 - 1 // its goroutine waits
	next := s.Position().Table + 1
	seen := &batches{}
	w.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.KeepControl()
		req := r.(*kmsg.ProduceRequest)
		seen.add(req)
		resp := acknowledge(req, next)
		next += int64(seen.get()[len(seen.get())-1].Records)
		return resp, nil, true
	})
	for i := range int64(4) {
		w.awaitAll([]*result{emit(writer, 0, i)})
	}
	var got []int32
	for _, b := range seen.get() {
		got = append(got, b.Sequence)
	}
	wantSame(t, "sequences", []int32{math.MaxInt32 - 1, math.MaxInt32, 0, 1}, got)
}

func acknowledge(req *kmsg.ProduceRequest, base int64) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	topic := kmsg.NewProduceResponseTopic()
	topic.Topic = req.Topics[0].Topic
	p := kmsg.NewProduceResponseTopicPartition()
	p.Partition, p.BaseOffset = req.Topics[0].Partitions[0].Partition, base
	topic.Partitions = append(topic.Partitions, p)
	resp.Topics = append(resp.Topics, topic)
	return resp
}

func TestRenewal(t *testing.T) {
	w := newWorld(t, nil)
	seen := w.watchBatches()
	writer := w.writer()
	writer.cfg.RenewEvery = 5 * time.Millisecond
	s := w.own(writer, 0)
	var results []*result
	for i := int64(0); epochs(seen.get()) < 6; i++ {
		results = append(results, emit(writer, 0, i))
		w.awaitAll(results[len(results)-1:])
	}
	wantSame(t, "answers", upTo(int64(len(results))), w.sources(0))
	w.wantExact(s, 0)
	epoch, next := int16(-1), int32(0)
	for _, b := range seen.get() {
		if b.Epoch != epoch {
			epoch, next = b.Epoch, 0
		}
		if b.Sequence != next {
			t.Fatalf("epoch %d went on with sequence %d, not %d", b.Epoch, b.Sequence, next)
		}
		next += b.Records
	}
}

func epochs(all []batch) int {
	distinct := map[int16]bool{}
	for _, b := range all {
		distinct[b.Epoch] = true
	}
	return len(distinct)
}

func TestRenewalSurvivesTrouble(t *testing.T) {
	w := newWorld(t, nil)
	seen := w.watchBatches()
	writer := w.writer()
	writer.cfg.RenewEvery = 5 * time.Millisecond
	s := w.own(writer, 0)
	w.cut(kmsg.InitProducerID, 2)
	fault := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.NotCoordinator, Count: 2})
	noError(t, fault.Wait(w.ctx, 2))
	for i := int64(0); epochs(seen.get()) < 3; i++ {
		w.awaitAll([]*result{emit(writer, 0, i)})
	}
	w.wantExact(s, 0)
}

func TestRenewalOfAFencedOwnerFails(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	writer.cfg.RenewEvery = 5 * time.Millisecond
	w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.ProducerFenced, When: func(r kmsg.Request) bool {
		return r.(*kmsg.InitProducerIDRequest).ProducerID >= 0
	}})
	w.own(writer, 0)
	o := writer.owners[0]
	select {
	case <-o.ctx.Done():
	case <-w.ctx.Done():
		t.Fatal("it goes on")
	}
	if err := w.await(emit(writer, 0, 0)); !errors.Is(err, sarama.ErrProducerFenced) {
		t.Fatal(err)
	}
}

func TestAcquire(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	for _, c := range []struct {
		name  string
		fault kfake.Fault
		want  error
	}{
		{"no right", kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.TransactionalIDAuthorizationFailed}, sarama.ErrTransactionalIDAuthorizationFailed},
		{"no right to write", kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.TopicAuthorizationFailed}, sarama.ErrTopicAuthorizationFailed},
		{"no coordinator", kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.CoordinatorNotAvailable, Count: -1}, context.DeadlineExceeded},
		{"no replicas", kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1}, context.DeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			fault := w.Fault(c.fault)
			defer fault.Remove()
			ctx, cancel := context.WithTimeout(w.ctx, 200*time.Millisecond)
			defer cancel()
			if errors.Is(c.want, sarama.KError(c.fault.Err.Code)) {
				ctx = w.ctx
			}
			if _, err := writer.Acquire(ctx, 0, identity); !errors.Is(err, c.want) || !strings.Contains(err.Error(), tableTopic+"/0") {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err := writer.Start(0, nil); err == nil {
				t.Fatal("started what wasn't acquired")
			}
		})
	}
	w.cut(kmsg.InitProducerID, 2)
	w.cut(kmsg.FindCoordinator, 1)
	w.own(writer, 0)
	w.awaitAll([]*result{emit(writer, 0, 0)})
}

// TestAcquireAfterSilence: a connection whose answer timed out is of no use any more.
func TestAcquireAfterSilence(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer(func(c *sarama.Config) { c.Net.ReadTimeout = 100 * time.Millisecond })
	w.ControlKey(int16(kmsg.InitProducerID), func(kmsg.Request) (kmsg.Response, error, bool) { return nil, nil, true })
	s := w.own(writer, 0)
	w.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) { return nil, nil, true })
	w.awaitAll([]*result{emit(writer, 0, 0)})
	w.wantExact(s, 0)
}

func TestWritePosition(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	s := w.own(writer, 1)
	noError(t, writer.WritePosition(w.ctx, 1, -1, identity))
	wantSame(t, "applied", int64(-1), s.Committed().Applied)
	noError(t, writer.WritePosition(w.ctx, 1, 41, identity))
	wantSame(t, "applied", int64(41), s.Committed().Applied)
	last := w.records(1)[2]
	got, err := Parse(string(last.Key), last.Value, gokaHeaders(last.Headers), at)
	noError(t, err)
	wantSame(t, "record", Record{
		Kind: Progress, Key: codec.PositionKey(1), Value: []byte("41"), Source: 41,
		ClusterID: "cluster", TopicID: identity.MetadataTopicID, Time: at, Writer: writer.owners[1].number,
	}, got)
	w.wantExact(s, 1)
	if err := writer.WritePosition(w.ctx, 0, 1, identity); err == nil {
		t.Fatal("wrote the position of a partition of another")
	}

	// What is answered while the position is on its way lies before it in the table.
	answer := emit(writer, 1, 45)
	noError(t, writer.WritePosition(w.ctx, 1, 41, identity))
	w.awaitAll([]*result{answer})
	wantSame(t, "applied", int64(45), s.Committed().Applied)
	records := w.records(1)
	wantSame(t, "position", "45", string(records[len(records)-1].Value))

	held, _ := w.hold()
	ctx, cancel := context.WithCancelCause(w.ctx)
	stopped := errors.New("stopped")
	go func() {
		<-held
		cancel(stopped)
	}()
	if err := writer.WritePosition(ctx, 1, 42, identity); !errors.Is(err, stopped) {
		t.Fatalf("got %v", err)
	}
}

func TestEmitErrors(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer()
	key := keyOn(0, 1)
	record := func(key string) Record { return answer(key, nil, 1, codec.OutcomeApplied) }
	refused := func(what string, r *result) {
		t.Helper()
		if w.await(r) == nil {
			t.Errorf("%s: no error", what)
		}
	}
	refused("not owned", wait(writer.Write(record(key))))
	if err := writer.Start(0, nil); err == nil {
		t.Error("started what isn't owned")
	}
	_, err := writer.Acquire(w.ctx, 0, identity)
	noError(t, err)
	refused("not started", wait(writer.Write(record(key))))
	s := w.own(writer, 0)
	refused("answers nothing", wait(writer.Emit(tableTopic, key, nil)))
	writer.Answer(0, Answered{Offset: 1, Outcome: codec.OutcomeApplied})
	refused("no key of the table, of goka", wait(writer.Emit(tableTopic, "\x00position", nil)))
	refused("no key of the table", wait(writer.Write(record("\x00position"))))
	refused("other partition", wait(writer.Write(record(keyOn(1, 1)))))
	w.awaitAll([]*result{wait(writer.Write(record(key)))})
	w.wantExact(s, 0)
	refused("rejection of a partition not owned", wait(writer.Emit(rejectedTopic, codec.RejectedKey(1), nil)))
}

// TestCloseEndsEverything: also while a batch is on its way that nobody answers. What
// the writer leaves behind TestMain finds.
func TestCloseEndsEverything(t *testing.T) {
	w := newWorld(t, nil)
	writer := w.writer(func(c *sarama.Config) { c.Net.ReadTimeout = 300 * time.Millisecond })
	s := w.own(writer, 0)
	_, err := writer.Acquire(w.ctx, 1, identity) // never started
	noError(t, err)
	before := s.Committed()
	held, _ := w.hold()
	inFlight := emit(writer, 0, 0)
	w.awaitClosed("the batch", held)
	waiting := emit(writer, 0, 1)
	noError(t, writer.Close())
	for _, r := range []*result{inFlight, waiting, emit(writer, 0, 2)} {
		if w.await(r) == nil {
			t.Error("acknowledged after Close")
		}
	}
	wantSame(t, "the store", before, s.Committed())
	if !w.other.closed || !writer.cfg.Client.Closed() {
		t.Error("something is open still")
	}
}

func TestTransactionalID(t *testing.T) {
	wantSame(t, "id", "rlmm-table-42", transactionalID("rlmm-table", 42))
}

func ExampleAnswerHeaders() {
	for k, v := range AnswerHeaders(17, codec.OutcomeInvalidAdd) {
		if k == headerOffset {
			fmt.Println(k, string(v))
		}
	}
	// Output: rlmm.offset 17
}
