package kafka

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/api"
)

// The proofs tell while nothing is in doubt.
func TestProofsTell(t *testing.T) {
	id := api.UUID{1}
	both := []int32{0, 1}
	for name, tt := range map[string]struct {
		change func(*Proofs, *provingConn, *proof)
		tells  bool
	}{
		"as it is":               {func(*Proofs, *provingConn, *proof) {}, true},
		"an old proof":           {func(_ *Proofs, _ *provingConn, f *proof) { f.at = time.Now().Add(-proofAge) }, false},
		"a connection since":     {func(p *Proofs, _ *provingConn, _ *proof) { p.dials.count.Add(1) }, false},
		"another leader":         {func(_ *Proofs, _ *provingConn, f *proof) { f.leads = []int32{1} }, false},
		"the connection ended":   {func(_ *Proofs, c *provingConn, _ *proof) { noError(t, c.Close()) }, false},
		"an unproven fetch":      {func(p *Proofs, _ *provingConn, _ *proof) { p.unproven++ }, false},
		"one partition settled":  {func(p *Proofs, _ *provingConn, _ *proof) { p.unproven++; p.settle(both[:1], 1) }, false},
		"both settled":           {func(p *Proofs, _ *provingConn, _ *proof) { p.unproven++; p.settle(both, 1) }, true},
		"settled before another": {func(p *Proofs, _ *provingConn, _ *proof) { p.unproven += 2; p.settle(both, 1) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProofs("t", id)
			c := over(p, &scripted{})
			found := proofIn(lookAnswer(0, metadataOf("t", id, 5, 6))[answerHead:], "t", brokerAddr)
			p.add(c, found)
			found.at = time.Now().Add(time.Hour) // however slow the machine is
			tt.change(p, c, found)
			topics, _ := p.told(both, p.dials.Count(), false)
			wantSame(t, "tells", tt.tells, topics != nil)
			topics, _ = p.told(both, p.dials.Count(), true)
			wantSame(t, "tells of what was kept back", false, topics != nil)
		})
	}
}

// Brokers that tell of what they lead tell together, and each tells all that it knows.
func TestProofsOfTwoBrokers(t *testing.T) {
	p := newProofs("t", api.UUID{1})
	for broker, epochs := range [][]int32{{5, 0}, {0, 6}} {
		c := over(p, &scripted{})
		p.add(c, &proof{topic: Topic{"t", api.UUID{1}, 2, epochs}, leads: []int32{int32(broker)}})
		p.live[c].at = time.Now().Add(time.Hour) // however slow the machine is
	}
	topics, _ := p.told([]int32{0, 1}, 0, false)
	epochs := map[int32]bool{}
	for _, told := range topics {
		epochs[told.LeaderEpoch(0)], epochs[told.LeaderEpoch(1)] = true, true
	}
	wantSame(t, "epochs", []int32{0, 5, 6}, slices.Sorted(maps.Keys(epochs)))
}

// Another topic that was found once is never forgotten, whatever comes after it.
func TestAnotherTopicIsNotForgotten(t *testing.T) {
	p := newProofs("t", api.UUID{1})
	c := over(p, &scripted{})
	other := Topic{Name: "t", ID: api.UUID{2}}
	p.add(c, &proof{topic: other})
	p.add(c, &proof{topic: Topic{Name: "t", ID: api.UUID{1}}, leads: []int32{0}})
	p.settle([]int32{0}, p.unproven)
	for _, anew := range []bool{false, true} {
		topics, _ := p.told([]int32{0}, 0, anew)
		wantSame(t, "told", []Topic{other}, topics)
	}
}

// What doesn't tell of the topic proves nothing, and who isn't the leader doesn't lead.
func TestLooksThatProveNothing(t *testing.T) {
	id := api.UUID{1}
	with := func(change func(*kmsg.MetadataResponse)) []byte {
		r := metadataOf("t", id, 5)
		change(r)
		return lookAnswer(0, r)[answerHead:]
	}
	whole := with(func(*kmsg.MetadataResponse) {})
	for name, answer := range map[string][]byte{
		"nothing":       {},
		"a part":        whole[:len(whole)-4],
		"an error":      with(func(r *kmsg.MetadataResponse) { r.Topics[0].ErrorCode = int16(sarama.ErrUnknownTopicOrPartition) }),
		"no name":       with(func(r *kmsg.MetadataResponse) { r.Topics[0].Topic = nil }),
		"no topic":      with(func(r *kmsg.MetadataResponse) { r.Topics = nil }),
		"another topic": with(func(r *kmsg.MetadataResponse) { r.Topics[0].Topic = new("u") }),
	} {
		if p := proofIn(answer, "t", brokerAddr); p != nil {
			t.Errorf("%s proves %+v", name, p)
		}
	}
	for name, answer := range map[string][]byte{
		"another leader":          with(func(r *kmsg.MetadataResponse) { r.Topics[0].Partitions[0].Leader = 2 }),
		"another address":         with(func(r *kmsg.MetadataResponse) { r.Brokers[0].Port++ }),
		"an error of a partition": with(func(r *kmsg.MetadataResponse) { r.Topics[0].Partitions[0].ErrorCode = 5 }),
		"a number out of range":   with(func(r *kmsg.MetadataResponse) { r.Topics[0].Partitions[0].Partition = 9 }),
	} {
		p := proofIn(answer, "t", brokerAddr)
		if p == nil || p.topic.ID != id || len(p.leads) != 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A look that finds nothing has the leaders asked, once.
func TestFailedLookIsCountedBeforeTheRecordsCome(t *testing.T) {
	p := newProofs("t", api.UUID{1})
	fetch := fetchAnswerOf(0, 12, 0, 7)
	none := metadataOf("t", api.UUID{})
	none.Topics[0].ErrorCode = int16(sarama.ErrUnknownTopicOrPartition)
	c := over(p, &scripted{Reader: io.MultiReader(bytes.NewReader(fetch), bytes.NewReader(lookAnswer(0, none)))})
	write(t, c, fetchRequest(12, 0))
	_, err := io.ReadFull(c, make([]byte, len(fetch)-1))
	noError(t, err)
	wantSame(t, "unproven", int64(0), p.unproven)
	_, err = io.ReadFull(c, make([]byte, 1))
	noError(t, err)
	wantSame(t, "unproven", int64(1), p.unproven)
}

// consume sends each record of the topic's first partitions that a client with proofs gets.
func (w *world) consume(topic string, id api.UUID, partitions int32) (*Proofs, <-chan *sarama.ConsumerMessage) {
	w.t.Helper()
	cfg := Settings{FetchMaxWait: 10 * time.Millisecond}.Group()
	p := NewProofs(cfg, topic, id)
	consumer, err := sarama.NewConsumer([]string{w.addr}, cfg)
	noError(w.t, err)
	w.t.Cleanup(func() { noError(w.t, consumer.Close()) })
	all := make(chan *sarama.ConsumerMessage)
	for partition := range partitions {
		pc, err := consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
		noError(w.t, err)
		w.t.Cleanup(func() { _ = pc.Close() }) // an error of the topic itself, maybe
		go func() {
			for m := range pc.Messages() {
				select {
				case all <- m:
				case <-w.ctx.Done():
				}
			}
		}()
	}
	return p, all
}

// With a broker: records that come are proven, nobody is asked about them, and the proof
// says so when they are of another topic.
func TestProofsOfABroker(t *testing.T) {
	w := newWorld(t)
	w.create("t", 3, nil)
	id := api.UUID(w.TopicInfo("t").TopicID)
	p, records := w.consume("t", id, 3)
	for range 200 {
		w.produce("t", 1)
		<-records
		dials := p.dials.Count()
		topics, _ := p.told([]int32{0, 1, 2}, dials, false)
		if topics == nil { // the machine stood still, or a connection was just made
			continue
		}
		wantSame(t, "topic", id, topics[0].ID)
		wantSame(t, "epoch", w.PartitionInfo("t", 2).Epoch, topics[0].LeaderEpoch(2))
		looks := w.count(kmsg.Metadata)
		_, before, err := p.TopicAtLeaders(w.ctx, w.cluster, []int32{0}, true)
		noError(t, err)
		wantSame(t, "dials", dials, before)
		if looks.Hits() == 0 {
			t.Error("the leader wasn't asked anew")
		}
		looks.Remove()
		return
	}
	t.Error("nothing was proven")
}

// Each broker tells of the partitions that it leads.
func TestProofsOfAllLeaders(t *testing.T) {
	brokers, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(3, "t"))
	noError(t, err)
	t.Cleanup(brokers.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	w := &world{Cluster: brokers, t: t, addr: brokers.ListenAddrs()[0], ctx: ctx}
	for p := range int32(3) {
		noError(t, brokers.MoveTopicPartition("t", p, p))
	}
	p, _ := w.consume("t", brokers.TopicInfo("t").TopicID, 3)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if topics, _ := p.told([]int32{0, 1, 2}, p.dials.Count(), false); topics != nil {
			wantSame(t, "brokers", 3, len(topics))
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("they never told together")
		}
	}
}

// Whatever becomes of the fetch, the look behind it finds the new topic.
func TestProofsOfARecreatedTopic(t *testing.T) {
	w := newWorld(t)
	w.create("t", 1, nil)
	id := api.UUID(w.TopicInfo("t").TopicID)
	w.produce("t", 1)
	p, records := w.consume("t", id, 1)
	<-records
	noError(t, w.DeleteTopic("t"))
	w.create("t", 1, nil)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		topics, _ := p.told([]int32{0}, 0, true)
		if topics != nil {
			wantSame(t, "topic", api.UUID(w.TopicInfo("t").TopicID), topics[0].ID)
			return
		}
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			t.Fatal("the new topic wasn't found")
		}
	}
}

// Whatever a broker sends is no more than no proof.
func FuzzProofIn(f *testing.F) {
	f.Add(lookAnswer(0, metadataOf("t", api.UUID{1}, 5, 6))[answerHead:])
	f.Fuzz(func(t *testing.T, answer []byte) {
		p := proofIn(answer, "t", brokerAddr)
		if p == nil {
			return
		}
		wantSame(t, "name", "t", p.topic.Name)
		for _, partition := range p.leads {
			if partition < 0 || partition >= p.topic.Partitions {
				t.Errorf("it leads %d of %d", partition, p.topic.Partitions)
			}
		}
	})
}
