package kafka

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"
)

// What is asked at a time goes in one request, but for what one has no room for: a
// partition twice.
func TestFetchesGoTogether(t *testing.T) {
	w := newWorld(t)
	w.create("t", 1, nil)
	w.create("u", 1, nil)
	w.produce("t", 3)
	w.produce("u", 2)
	leader, err := w.cluster.client.Leader("t", 0)
	noError(t, err)
	fetching := w.count(kmsg.Fetch)
	key := func(topic string, from int64) fetchKey { return fetchKey{topicPartition{topic, 0}, from, 1} }
	keys := []fetchKey{key("t", 0), key("t", 2), key("u", 1), key("none", 0)}
	answers := w.cluster.fetches.ask(leader.ID(), keys)
	wantSame(t, "requests", 2, fetching.Hits())
	wantSame(t, "answers", len(keys), len(answers))
	if answers[keys[3]].err == nil {
		t.Error("no error of a topic that isn't there")
	}
	for _, k := range keys[:3] {
		a := answers[k]
		noError(t, a.err)
		next, _ := recordsOf(a.block, k.from, 10, func(Record) bool { return true })
		if next <= k.from {
			t.Errorf("nothing of %s from %d", k.topic, k.from)
		}
	}
}

// A broker brings whole batches of the first partition only, whatever they take.
func TestLargeBatchesAreReadOfAllPartitions(t *testing.T) {
	w := newWorld(t)
	const topics = 20
	value := bytes.Repeat([]byte("v"), 3*togetherBytes)
	for i := range topics {
		w.create("t"+strconv.Itoa(i), 1, nil)
		w.produceValue("t"+strconv.Itoa(i), 1, value)
	}
	var readers errgroup.Group
	for i := range topics {
		readers.Go(func() error {
			r, found, err := w.cluster.RecordAt(w.ctx, "t"+strconv.Itoa(i), 0, 0)
			if err == nil && (!found || !bytes.Equal(r.Value, value)) {
				t.Errorf("topic %d: %t, %d bytes", i, found, len(r.Value))
			}
			return err
		})
	}
	noError(t, readers.Wait())
}
