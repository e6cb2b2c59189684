//go:build integration

package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/integration/faults"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/processor"
)

// A record of each kind that nobody can apply, again and again among good ones: each is
// counted and told with its raw bytes, and each good one is applied, in order.
func TestPoisonAmongGoodRecords(t *testing.T) {
	for _, tt := range []struct {
		name         string
		keyed        bool // as a compacted metadata topic demands (KIP-1266)
		good, poison int
	}{
		{"unkeyed", false, 100_000, 1000},
		{"keyed, on a compacted topic", true, 10_000, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, kafkatest.Bootstrap(t))
			p, stop := w.runProcessor()
			observer := w.observe()
			if tt.keyed {
				observer.StopMutating() // managers write no keys, as Kafka's did
				kafkatest.AlterTopic(t, w.bootstrap, w.topic, "min.compaction.lag.ms", "86400000")
				kafkatest.AlterTopic(t, w.bootstrap, w.topic, "cleanup.policy", "compact")
			}
			good, poison := w.publishPoisoned(tt.good, tt.poison, tt.keyed)
			w.awaitCounted(p)
			w.awaitAnswers()
			stop()
			history := w.history()
			wantOutcomes(t, history, good, poison)
			w.wantCounted(p.Stats(), history)
			w.wantRejected(history)
			w.verify()
		})
	}
}

// runProcessor runs a processor in this process.
func (w *world) runProcessor() (p *processor.Processor, stop func()) {
	w.t.Helper()
	dir := w.t.TempDir()
	w.dirs = append(w.dirs, dir)
	p, err := processor.New(processor.Config{
		Kafka: w.settings(), MetadataTopic: w.topic, Group: w.group, DataDir: dir, CreateTopics: true, ReplicationFactor: 1,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	return p, func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("the processor ended: %v", err)
		}
	}
}

// awaitCounted waits until the processor has counted as many records as there are: to read
// the table again and again takes longer.
func (w *world) awaitCounted(p *processor.Processor) {
	w.t.Helper()
	w.await("everything is counted", func() bool {
		var counted, published int64
		for _, n := range p.Stats().Outcomes {
			counted += n
		}
		for _, end := range w.inputEnds() {
			published += end
		}
		return counted >= published
	})
}

// publishPoisoned publishes good records in their order and poison of all kinds at random
// among them.
func (w *world) publishPoisoned(good, poison int, keyed bool) (goods, poisons []*sarama.ProducerMessage) {
	w.t.Helper()
	lives := faults.NewLives(rand.New(rand.NewPCG(w.random.Uint64(), 1)), partitions)
	goods = lives.Large()
	for len(goods) < 1000 {
		goods = append(goods, lives.Next())
	}
	all := append([]*sarama.ProducerMessage{}, goods...)
	kinds := kindsOf(lives)
	for len(goods) < good || len(poisons) < poison {
		if w.random.IntN(good-len(goods)+poison-len(poisons)) < poison-len(poisons) {
			m := kinds[len(poisons)%len(kinds)]()
			poisons, all = append(poisons, m), append(all, m)
		} else {
			m := lives.Next()
			goods, all = append(goods, m), append(all, m)
		}
	}
	for n, m := range all {
		if m.Topic = w.topic; keyed {
			m.Key = sarama.StringEncoder(fmt.Sprint("K", n))
		}
	}
	w.send(all)
	return goods, poisons
}

func kindsOf(lives *faults.Lives) (kinds []func() *sarama.ProducerMessage) {
	for _, kind := range lives.Poisons() {
		kinds = append(kinds, kind)
	}
	return kinds
}

// topicLimit is what a topic takes of a batch by default (max.message.bytes).
const topicLimit = 1048588

// send appends the records to their topics, each to its partition and there in order.
func (w *world) send(records []*sarama.ProducerMessage) {
	w.t.Helper()
	cfg := w.settings().ProducerTo(topicLimit)
	cfg.Producer.Partitioner = sarama.NewManualPartitioner
	producer, err := sarama.NewSyncProducer(w.bootstrap, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	defer producer.Close()
	for len(records) > 0 {
		n := min(2000, len(records))
		if err := producer.SendMessages(records[:n]); err != nil {
			w.t.Fatal(err)
		}
		w.acknowledge(records[:n])
		records = records[n:]
	}
}

// wantOutcomes fails unless each good record is applied and each poison refused.
func wantOutcomes(t *testing.T, history *faults.History, good, poison []*sarama.ProducerMessage) {
	t.Helper()
	for _, m := range good {
		if o := history.Expected(m.Partition).Outcome(m.Offset); o != codec.OutcomeApplied {
			t.Fatalf("the good record at %d/%d is %s", m.Partition, m.Offset, o)
		}
	}
	kinds := map[codec.Outcome]int{}
	for _, m := range poison {
		o := history.Expected(m.Partition).Outcome(m.Offset)
		if kinds[o]++; !o.Rejected() {
			t.Fatalf("the poison at %d/%d is %s", m.Partition, m.Offset, o)
		}
	}
	t.Logf("%d good, %d poison: %v", len(good), len(poison), kinds)
}

// wantCounted fails unless the processor has counted each input record by its outcome.
func (w *world) wantCounted(stats processor.Stats, history *faults.History) {
	w.t.Helper()
	want := map[codec.Outcome]int64{}
	for p := range int32(partitions) {
		for o, n := range history.Expected(p).Outcomes() {
			want[o] += n
		}
	}
	if diff := cmp.Diff(want, stats.Outcomes); diff != "" {
		w.t.Errorf("outcomes: %s", diff)
	}
	if stats.Stale+stats.Foreign+stats.Gaps+stats.Resets > 0 || stats.Sessions != 1 {
		w.t.Errorf("%+v", stats)
	}
}

// wantRejected fails unless each refused record lies among the rejected, once.
func (w *world) wantRejected(history *faults.History) {
	w.t.Helper()
	rejected := map[int32][]*sarama.ConsumerMessage{}
	for _, m := range w.read(w.group+"-rejected", 0) {
		p, err := strconv.Atoi(string(goka.HeadersFromSarama(m.Headers)["rlmm.partition"]))
		if err != nil {
			w.t.Fatal(err)
		}
		rejected[int32(p)] = append(rejected[int32(p)], m)
	}
	for p := range int32(partitions) {
		if f := faults.CheckRejected(rejected[p], w.read(w.topic, p), history.Expected(p)); len(f) > 0 {
			w.t.Errorf("rejected of partition %d: %s", p, f)
		}
	}
}
