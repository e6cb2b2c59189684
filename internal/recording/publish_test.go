package recording

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/embedded"
	"github.com/tieredlog/rlmm/internal/kafka"
)

const (
	topic      = "__remote_log_metadata"
	partitions = 3
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"), // never ends
		// A producer that lost its client sleeps on for ten seconds.
		goleak.IgnoreAnyFunction("github.com/eapache/go-resiliency/breaker.(*Breaker).timer"))
}

func newBroker(t *testing.T) (*kfake.Cluster, kafka.Settings) {
	t.Helper()
	b, err := embedded.Start(embedded.Config{})
	noError(t, err)
	t.Cleanup(b.Close)
	noError(t, b.Cluster().CreateTopic(topic, partitions, nil))
	return b.Cluster(), kafka.Settings{Bootstrap: []string{b.Addr()}}
}

func stream(events []Event) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// published reads the topic as events, partition by partition.
func published(t *testing.T, c *kfake.Cluster) map[int32][]Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics(topic), kgo.FetchMaxWait(50*time.Millisecond))
	noError(t, err)
	defer client.Close()
	total, n := int64(0), int64(0)
	for _, p := range c.PartitionInfos(topic) {
		total += p.HighWatermark
	}
	all := map[int32][]Event{}
	for n < total {
		fetches := client.PollFetches(ctx)
		noError(t, fetches.Err())
		for _, r := range fetches.Records() {
			all[r.Partition] = append(all[r.Partition], Event{r.Partition, r.Offset, r.Key, r.Value})
			n++
		}
	}
	return all
}

func TestPublish(t *testing.T) {
	c, s := newBroker(t)
	var events []Event
	want := map[int32][]Event{}
	for i := range 3000 {
		p := int32(i * i % partitions)
		e := Event{Partition: p, Offset: int64(len(want[p])), Value: []byte(strconv.Itoa(i))}
		switch i % 5 {
		case 1:
			e.Value = nil
		case 2:
			e.Key = []byte("key")
		case 3:
			e.Key = []byte{}
		case 4:
			e.Value = []byte{}
		}
		events = append(events, e)
		want[p] = append(want[p], e)
	}
	n, err := Publish(t.Context(), s, topic, stream(events))
	noError(t, err)
	wantSame(t, "acknowledged", len(events), n)
	wantSame(t, "topic", want, published(t, c))
}

func TestPublishNothing(t *testing.T) {
	_, s := newBroker(t)
	n, err := Publish(t.Context(), s, topic, stream(nil))
	noError(t, err)
	wantSame(t, "acknowledged", 0, n)
}

func TestPublishKeepsOrderInTrouble(t *testing.T) {
	c, s := newBroker(t)
	var events []Event
	for i := range 2000 {
		events = append(events, Event{Partition: 0, Offset: int64(i), Value: []byte(strconv.Itoa(i))})
	}
	c.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicasAfterAppend, Count: 2},
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotLeaderForPartition, Count: 2},
	)
	n, err := Publish(t.Context(), s, topic, stream(events))
	noError(t, err)
	wantSame(t, "acknowledged", len(events), n)
	wantSame(t, "topic", map[int32][]Event{0: events}, published(t, c))
}

func TestPublishStopsAtAnError(t *testing.T) {
	bad := errors.New("bad line")
	withError := func(yield func(Event, error) bool) {
		if yield(Event{Partition: 0}, nil) && yield(Event{Partition: 1}, nil) {
			yield(Event{}, bad)
		}
	}
	// The event out of range comes first, then more than the producer's channel holds.
	outOfRange := []Event{{Partition: 0}, {Partition: partitions}}
	for range 100_000 {
		outOfRange = append(outOfRange, Event{Partition: 1})
	}
	for _, c := range []struct {
		name   string
		events iter.Seq2[Event, error]
		want   error
		part   string
		most   int
	}{
		{"of the recording", withError, bad, "bad line", 2},
		{"partition out of range", stream(outOfRange), sarama.ErrInvalidPartition, "partition 3: ", 90_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, s := newBroker(t)
			n, err := Publish(t.Context(), s, topic, c.events)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.part) {
				t.Fatalf("got %v", err)
			}
			if n < 1 || n > c.most {
				t.Errorf("%d are acknowledged, want up to %d", n, c.most)
			}
			got := 0
			for _, events := range published(t, cluster) {
				got += len(events)
			}
			wantSame(t, "acknowledged", got, n)
		})
	}
}

func TestPublishErrors(t *testing.T) {
	_, s := newBroker(t)
	for name, c := range map[string]struct {
		s     kafka.Settings
		topic string
	}{
		"no such topic": {s, "other"},
		"no brokers":    {kafka.Settings{}, topic},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			n, err := Publish(ctx, c.s, c.topic, stream([]Event{{Partition: 0}}))
			if err == nil || ctx.Err() != nil || n != 0 {
				t.Fatalf("got %d, %v", n, err)
			}
		})
	}
}

// TestPublishEndsWithTheContext: also when the broker says nothing, or nothing of use,
// for ever.
func TestPublishEndsWithTheContext(t *testing.T) {
	for name, disturb := range map[string]func(*kfake.Cluster){
		"all is well": func(*kfake.Cluster) {},
		"silence": func(c *kfake.Cluster) {
			c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				return nil, nil, true
			})
		},
		"too few replicas": func(c *kfake.Cluster) {
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, s := newBroker(t)
			disturb(c)
			stopped := errors.New("stopped")
			ctx, cancel := context.WithCancelCause(t.Context())
			endless := func(yield func(Event, error) bool) {
				for i := 0; yield(Event{Partition: 0}, nil); i++ {
					if i == 100 {
						cancel(stopped)
					}
				}
			}
			started := time.Now()
			if _, err := Publish(ctx, s, topic, endless); !errors.Is(err, stopped) {
				t.Fatalf("got %v", err)
			}
			if took := time.Since(started); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// largeAdds are adds of one partition with custom metadata of the size.
func largeAdds(t *testing.T, n, size int) []Event {
	t.Helper()
	tip := api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 2), Topic: "orders"}
	events := make([]Event, n)
	for i := range events {
		value, err := codec.EncodeRecord(api.RemoteLogSegmentMetadata{
			ID:        api.RemoteLogSegmentID{TopicIdPartition: tip, ID: api.UUIDFromBits(3, uint64(i)+1)},
			EndOffset: 9, LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{}),
			CustomMetadata: api.NewCustomMetadata(make([]byte, size)),
		})
		noError(t, err)
		events[i] = Event{Partition: 1, Offset: int64(i), Value: value}
	}
	return events
}

// What is sent while the broker is busy goes into one batch, which must not grow beyond
// what the topic takes.
func TestPublishKeepsBatchesWithinTheTopicsLimit(t *testing.T) {
	c, s := newBroker(t)
	events := largeAdds(t, 2000, 6000)
	n, err := Publish(t.Context(), s, topic, stream(events))
	noError(t, err)
	wantSame(t, "acknowledged", len(events), n)
	if got := published(t, c); len(got) != 1 || !reflect.DeepEqual(events, got[1]) { // a diff of so much takes minutes
		t.Errorf("the topic holds %d records, not those published", len(got[1]))
	}
}

func TestMissingIsWhatALoadCutShortLeft(t *testing.T) {
	var events []Event
	want := map[int32][]Event{}
	for i := range 90 {
		p := int32(i * i % partitions)
		e := Event{Partition: p, Offset: int64(len(want[p])), Value: []byte(strconv.Itoa(i))}
		events = append(events, e)
		want[p] = append(want[p], e)
	}
	uneven := []Event{}
	for _, e := range events {
		if e.Partition == 1 && len(uneven) < 7 {
			uneven = append(uneven, e)
		}
	}
	for _, tt := range []struct {
		name string
		held []Event
	}{
		{"nothing held", nil},
		{"the first ones held", events[:40]},
		{"one partition is ahead", uneven},
		{"everything held", events},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, s := newBroker(t)
			_, err := Publish(t.Context(), s, topic, stream(tt.held))
			noError(t, err)
			cluster, err := kafka.Connect(t.Context(), s)
			noError(t, err)
			defer cluster.Close()
			missing, err := Missing(t.Context(), cluster, topic, stream(events))
			noError(t, err)
			n, err := Publish(t.Context(), s, topic, missing)
			noError(t, err)
			wantSame(t, "published", len(events)-len(tt.held), n)
			wantSame(t, "topic", want, published(t, c))
		})
	}
}

func TestMissingTellsErrors(t *testing.T) {
	_, s := newBroker(t)
	_, err := Publish(t.Context(), s, topic, stream([]Event{{Partition: 0}}))
	noError(t, err)
	cluster, err := kafka.Connect(t.Context(), s)
	noError(t, err)
	defer cluster.Close()
	if _, err := Missing(t.Context(), cluster, "other", stream(nil)); !errors.Is(err, kafka.ErrNoTopic) {
		t.Errorf("no such topic: %v", err)
	}
	bad := errors.New("bad line")
	missing, err := Missing(t.Context(), cluster, topic, func(yield func(Event, error) bool) { yield(Event{}, bad) })
	noError(t, err)
	n, err := Publish(t.Context(), s, topic, missing)
	if n != 0 || !errors.Is(err, bad) {
		t.Errorf("a bad line where a record is held: %d, %v", n, err)
	}
}
