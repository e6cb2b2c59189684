//go:build integration

package faults_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/integration/faults"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/table"
)

// joins is how many sessions a member has because of the others that come: its own, and
// one for each of them, with one to spare.
const joins = 3

// sessions is how many sessions of the group a member has processed in.
func (m *member) sessions() int { return m.logged("msg=processing ") }

func (m *member) logged(text string) int {
	m.w.t.Helper()
	b, err := os.ReadFile(m.log.Name())
	if err != nil {
		m.w.t.Fatal(err)
	}
	return strings.Count(string(b), text)
}

// wantCalm fails the test when a member has ended, or has begun anew more often than the
// trouble is reason for.
func (w *world) wantCalm(members []*member, most int) {
	w.t.Helper()
	for _, m := range members {
		select {
		case <-m.done:
			w.t.Errorf("%s has ended", m.dir)
		default:
		}
		sessions, failed, ended := m.sessions(), m.logged("session failed"), m.logged("processor ended")
		if sessions > most || failed > most || ended > most {
			w.t.Errorf("%s: %d sessions, %d that failed, %d new instances; there is reason for %d", m.dir, sessions, failed, ended, most)
		}
	}
}

func (w *world) table() string { return table.TopicOf(w.group) }

// alterTable sets a setting of the table, once that is there.
func (w *world) alterTable(setting, value string) {
	w.t.Helper()
	w.await("the table is there", func() bool {
		return w.client.RefreshMetadata(w.table()) == nil
	})
	kafkatest.AlterTopic(w.t, w.bootstrap, w.table(), setting, value)
}

// publish appends events, in order and to their partitions.
func (w *world) publish(events ...api.RemoteLogMetadata) {
	w.t.Helper()
	cfg := w.settings().Producer()
	cfg.Producer.Partitioner = sarama.NewManualPartitioner
	producer, err := sarama.NewSyncProducer(w.bootstrap, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	defer producer.Close()
	for _, e := range events {
		value, err := codec.EncodeRecord(e)
		if err != nil {
			w.t.Fatal(err)
		}
		_, _, err = producer.SendMessage(&sarama.ProducerMessage{
			Topic: w.topic, Partition: codec.MetadataPartition(e.Partition(), partitions), Value: sarama.ByteEncoder(value),
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// Of three brokers one is away, and the table's partitions want all three. With fewer
// replicas than that Kafka takes min.insync.replicas for no more than there are.
func TestTooFewReplicasLoseNothing(t *testing.T) {
	w, brokers := newClusterWorld(t)
	members := w.startMembers(2)
	w.observe()
	shortages := 0
	published := w.underLoadOf(rate/5, func(ctx context.Context) {
		w.again(ctx, 3, func() {
			w.pause(t.Context(), 500*time.Millisecond, 2500*time.Millisecond)
			broker := brokers[w.random.IntN(len(brokers))]
			broker.Kill(t)
			w.alterTable("min.insync.replicas", "3")
			w.awaitStandstill()
			w.pause(t.Context(), time.Second, 4*time.Second)
			w.alterTable("min.insync.replicas", "2")
			broker.Restart(t)
			w.awaitAnswersBehind(0)
			shortages++
		})
	})
	w.awaitAnswers()
	w.wantCalm(members, joins+4*shortages)
	t.Logf("published %d events, %d shortages", published, shortages)
	w.finish(members)
}

// awaitStandstill waits until nothing is written to the table for seconds, while the load
// goes on. Nothing can be written to a partition without a leader either.
func (w *world) awaitStandstill() {
	w.t.Helper()
	ends := func() (sum int64) {
		for p := range int32(partitions) {
			if end, err := w.client.GetOffset(w.table(), p, sarama.OffsetNewest); err == nil {
				sum += end
			}
		}
		return sum
	}
	last, same := int64(-1), 0
	w.await("the table stands still", func() bool {
		before := last
		if last = ends(); last != before {
			same = 0
		}
		same++
		return same > 20
	})
}

// large is a segment whose row takes about so many bytes.
func (w *world) large(bytes int) api.RemoteLogSegmentMetadata {
	epochs := make([]api.EpochOffset, bytes/12)
	for i := range epochs {
		epochs[i] = api.EpochOffset{LeaderEpoch: int32(i), Offset: int64(i)}
	}
	tip := api.TopicIdPartition{TopicID: api.UUIDFromBits(7, 1), Topic: "topic-0", Partition: w.random.Int32N(10)}
	return api.RemoteLogSegmentMetadata{
		ID:          api.RemoteLogSegmentID{TopicIdPartition: tip, ID: api.RandomUUID()},
		StartOffset: 0, EndOffset: int64(len(epochs)), SegmentSizeInBytes: 1000, LeaderEpochs: api.NewLeaderEpochs(epochs...),
	}
}

// grown is an update that gives the segment custom metadata of so many bytes.
func grown(s api.RemoteLogSegmentMetadata, bytes int) api.RemoteLogSegmentMetadataUpdate {
	return api.RemoteLogSegmentMetadataUpdate{
		ID: s.ID, State: api.CopySegmentFinished, CustomMetadata: api.NewCustomMetadata(make([]byte, bytes)),
	}
}

// Rows that grow too large are refused and stay as they were. Rows that no longer fit
// because someone has lowered the table's limit wait until it is raised again.
func TestOversizedRowsLoseNothing(t *testing.T) {
	refusals := 0
	trouble(t, func(w *world, members []*member) {
		s := w.large(600_000)
		w.publish(s, grown(s, 10_000), grown(s, 600_000), grown(s, 20_000))
		w.alterTable("max.message.bytes", strconv.Itoa(20_000+w.random.IntN(100_000)))
		w.publish(w.large(150_000), grown(s, 30_000))
		w.pause(t.Context(), time.Second, 4*time.Second)
		w.alterTable("max.message.bytes", "1050636")
		w.wantCalm(members, joins)
		refusals = members[0].logged("the table refuses a record") + members[1].logged("the table refuses a record")
	})
	if t.Logf("%d refusals", refusals); refusals == 0 {
		t.Error("the broker refused nothing")
	}
}

// outage is how long a broker stays away.
func outage(t *testing.T) time.Duration {
	t.Helper()
	if seconds(t) >= 2*time.Minute {
		return time.Minute
	}
	return 15 * time.Second
}

func TestLongOutageOfTheBrokerLosesNothing(t *testing.T) {
	broker := kafkatest.Start(t)
	w := newWorld(t, broker.Bootstrap())
	members := []*member{w.newMember(), w.newMember()}
	for _, m := range members {
		m.start()
	}
	w.observe()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	published := w.load(ctx, rate)
	w.awaitAnswersBehind(0)
	broker.Kill(t)
	w.pause(ctx, outage(t), outage(t)+time.Second)
	broker.Restart(t)
	t.Logf("answers again %v after the broker is back", w.awaitAnswersBehind(0))
	stop()
	t.Logf("published %d events", <-published)
	w.awaitAnswers()
	w.wantCalm(members, joins+int(outage(t)/time.Second))
	w.finish(members)
}

// awaitAnswersBehind waits until something is answered in the partition that was
// published from now on, and returns how long that took.
func (w *world) awaitAnswersBehind(p int32) time.Duration {
	w.t.Helper()
	began, end := time.Now(), w.end(w.topic, p)
	consumer, err := sarama.NewConsumerFromClient(w.client)
	if err != nil {
		w.t.Fatal(err)
	}
	defer consumer.Close()
	answers, err := consumer.ConsumePartition(w.table(), p, w.end(w.table(), p))
	if err != nil {
		w.t.Fatal(err)
	}
	defer answers.Close()
	for timeout := time.After(patience); ; {
		select {
		case m := <-answers.Messages():
			if faults.LastAnswered([]*sarama.ConsumerMessage{m}) >= end {
				return time.Since(began).Round(100 * time.Millisecond)
			}
		case <-timeout:
			w.t.Fatalf("nothing behind %d is answered in partition %d", end, p)
		}
	}
}

// finish ends the members in order and checks.
func (w *world) finish(members []*member) {
	w.t.Helper()
	for _, m := range members {
		m.stop()
	}
	w.verify()
}

// createTable makes what a processor would, with a replica on each of three brokers.
func (w *world) createTable() {
	w.t.Helper()
	cluster, err := kafka.Connect(w.t.Context(), w.settings())
	if err != nil {
		w.t.Fatal(err)
	}
	defer cluster.Close()
	const limit = 1050636
	for _, spec := range []kafka.TopicSpec{
		kafka.TableTopic(w.table(), partitions, 3, 2, limit), kafka.RejectedTopic(w.group+"-rejected", 3, 2, limit),
	} {
		w.await(spec.Name+" is there, and each broker knows it", func() bool {
			_, err := cluster.Ensure(w.t.Context(), spec, true)
			return err == nil
		})
	}
}

// newClusterWorld is a world on three brokers, whose table is there.
func newClusterWorld(t *testing.T) (*world, []*kafkatest.Broker) {
	t.Helper()
	brokers := kafkatest.StartCluster(t, 3)
	var bootstrap []string
	for _, b := range brokers {
		bootstrap = append(bootstrap, b.Bootstrap()...)
	}
	w := newWorld(t, bootstrap)
	w.createTable()
	return w, brokers
}

// Of three brokers one is away, or the leaders move, again and again.
func TestMovingLeadersLoseNothing(t *testing.T) {
	w, brokers := newClusterWorld(t)
	members := []*member{w.newMember(), w.newMember()}
	for _, m := range members {
		m.start()
	}
	w.observe()
	ctx, stop := context.WithTimeout(t.Context(), seconds(t))
	defer stop()
	published := w.load(ctx, rate/5)
	moves, losses := 0, 0
	for ctx.Err() == nil {
		w.pause(ctx, 100*time.Millisecond, time.Second)
		if w.random.IntN(8) > 0 {
			topic := []string{w.topic, w.table()}[w.random.IntN(2)]
			kafkatest.MoveLeader(t, w.bootstrap, topic, w.random.Int32N(partitions), 1+w.random.Int32N(3))
			moves++
			continue
		}
		broker := brokers[w.random.IntN(len(brokers))]
		broker.Kill(t)
		w.pause(ctx, 100*time.Millisecond, 3*time.Second)
		broker.Restart(t)
		losses++
	}
	t.Logf("published %d events, %d moves, %d brokers lost", <-published, moves, losses)
	w.awaitAnswers()
	w.wantCalm(members, joins+4*losses)
	w.finish(members)
}
