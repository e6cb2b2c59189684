package kafka

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestRecordsAreTheDataAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		name      string
		fill      func(*world)
		from, end int64
		want      []int64
	}{
		{"empty", func(*world) {}, 0, 0, nil},
		{"all", func(w *world) { w.produce("t", 3) }, 0, 3, []int64{0, 1, 2}},
		{"some", func(w *world) { w.produce("t", 5) }, 1, 4, []int64{1, 2, 3}},
		{"to an end that isn't there yet", func(w *world) { w.produce("t", 2) }, 0, 9, []int64{0, 1}},
		{"between control records", func(w *world) {
			w.transact("t", 1, kgo.TryCommit)
			w.produce("t", 1)
			w.transact("t", 1, kgo.TryAbort)
		}, 0, 5, []int64{0, 2, 3}},
		{"trimmed in part", func(w *world) { w.produce("t", 5); noError(w.t, w.DeleteRecords("t", 0, 3)) }, 0, 5, []int64{3, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			noError(t, w.CreateTopic("t", 1, nil))
			c.fill(w)
			var got []int64
			for r, err := range w.cluster.Records(w.ctx, "t", 0, c.from, c.end) {
				noError(t, err)
				got = append(got, r.Offset)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestOffsetAtATime(t *testing.T) {
	w := newWorld(t)
	noError(t, w.CreateTopic("t", 1, nil))
	w.produce("t", 3)
	for at, want := range map[time.Time]int64{time.UnixMilli(1): 0, time.Now().Add(time.Hour): 3} {
		if got, err := w.cluster.OffsetAt(w.ctx, "t", 0, at); got != want || err != nil {
			t.Errorf("at %s: %d, %v, want %d", at, got, err, want)
		}
	}
}

func TestFollowTakesWhatComesUntilTheContextEnds(t *testing.T) {
	w := newWorld(t)
	noError(t, w.CreateTopic("t", 1, nil))
	w.produce("t", 2)
	ctx, cancel := context.WithCancel(w.ctx)
	var got []int64
	noError(t, w.cluster.Follow(ctx, "t", map[int32]int64{0: 1}, func(r Record) error {
		got = append(got, r.Offset)
		switch r.Offset {
		case 1:
			go w.produce("t", 2)
		case 3:
			cancel()
		}
		return nil
	}))
	if !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("got %v", got)
	}
	full := errors.New("full")
	if err := w.cluster.Follow(w.ctx, "t", map[int32]int64{0: 0}, func(Record) error { return full }); !errors.Is(err, full) {
		t.Errorf("the function's error: %v", err)
	}
	if err := w.cluster.Follow(w.ctx, "t", map[int32]int64{0: 99}, func(Record) error { return nil }); err == nil {
		t.Error("an offset beyond the end was followed")
	}
}

// What is looked up is what a consumer gets, with the same timestamp.
func TestRecordAt(t *testing.T) {
	for _, timestamps := range []string{"CreateTime", "LogAppendTime"} {
		t.Run(timestamps, func(t *testing.T) {
			w := newWorld(t)
			noError(t, w.CreateTopic("t", 1, map[string]string{"message.timestamp.type": timestamps}))
			w.produce("t", 3)
			w.transact("t", 1, kgo.TryCommit) // its control record is at 4
			consumer, err := w.cluster.NewConsumer(w.ctx)
			noError(t, err)
			defer consumer.Close()
			partition, err := consumer.ConsumePartition("t", 0, 0)
			noError(t, err)
			defer partition.Close()
			for offset := range int64(4) {
				want := <-partition.Messages()
				got, found, err := w.cluster.RecordAt(w.ctx, "t", 0, offset)
				noError(t, err)
				if !found || got.Offset != offset || string(got.Value) != string(want.Value) || !got.Time.Equal(want.Timestamp) {
					t.Errorf("%d: %+v, %t, want %+v", offset, got, found, want)
				}
			}
			noError(t, w.DeleteRecords("t", 0, 1))
			for _, offset := range []int64{0, 4} {
				if _, found, err := w.cluster.RecordAt(w.ctx, "t", 0, offset); found || err != nil {
					t.Errorf("%d: %t, %v", offset, found, err)
				}
			}
			if _, _, err := w.cluster.RecordAt(w.ctx, "t", 0, 6); err == nil {
				t.Error("no error beyond the end")
			}
		})
	}
}

// A broker answers the requests of a connection one after the other.
func TestConsumersHoldUpNoQuestions(t *testing.T) {
	w := newWorld(t)
	noError(t, w.CreateTopic("t", 1, nil))
	cluster, err := Connect(w.ctx, Settings{Bootstrap: []string{w.addr}, FetchMaxWait: 10 * time.Second})
	noError(t, err)
	defer cluster.Close()
	fetching := w.count(kmsg.Fetch)
	consumer, err := cluster.NewConsumer(w.ctx)
	noError(t, err)
	partition, err := consumer.ConsumePartition("t", 0, 0)
	noError(t, err)
	noError(t, fetching.Wait(w.ctx, 1))
	ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
	defer cancel()
	_, err = cluster.EndOffset(ctx, "t", 0)
	noError(t, err)
	w.produce("t", 1)
	<-partition.Messages()
	partition.AsyncClose()
}
