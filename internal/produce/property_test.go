package produce

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"github.com/IBM/sarama"
)

// mishaps are what a broker may do with a batch; all that it says is true.
var mishaps = []step{
	works, works, hangsUp, losesAnswer,
	says(kerr.NotLeaderForPartition), appendsAndSays(kerr.NotLeaderForPartition),
	says(kerr.NotEnoughReplicas), appendsAndSays(kerr.NotEnoughReplicasAfterAppend), appendsAndSays(kerr.RequestTimedOut),
	says(kerr.TopicAuthorizationFailed), says(kerr.MessageTooLarge), says(kerr.OutOfOrderSequenceNumber), says(kerr.InvalidProducerEpoch),
	appendsAndSays(kerr.UnknownServerError),
	{append: true, silent: true},
	{silent: true},
}

// Whatever the broker does: an event that is acknowledged lies where it is said to, once;
// one that isn't published lies nowhere; one that may be lies there once at most; and each
// is told once.
func TestNothingIsLostOrDoubled(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var script []step
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(mishaps)-1), 0, 30).Draw(r, "script") {
			script = append(script, mishaps[i])
		}
		bursts := rapid.SliceOfN(rapid.IntRange(1, 8), 1, 8).Draw(r, "bursts")
		t.Run("", func(t *testing.T) { checkScript(t, script, bursts) })
		if t.Failed() {
			r.Fatal("see above")
		}
	})
}

func checkScript(t *testing.T, script []step, bursts []int) {
	b := newBroker(t, script...)
	p := b.producer()
	events := map[string]<-chan result{}
	for i, n := range bursts {
		var last <-chan result
		for j := range n {
			value := fmt.Sprintf("%d.%d", i, j)
			last = p.send(int32(j%2), value)
			events[value] = last
		}
		if i%2 == 0 { // the next burst comes on its heels
			continue
		}
		r := p.await(last)
		events[fmt.Sprintf("%d.%d", i, n-1)] = told(r)
	}
	for value, done := range events {
		checkEvent(t, b, value, p.await(done))
		if len(done) > 0 {
			t.Errorf("%s was told again", value)
		}
	}
}

func told(r result) <-chan result {
	done := make(chan result, 1)
	done <- r
	return done
}

func checkEvent(t *testing.T, b *broker, value string, got result) {
	t.Helper()
	var j, i int
	if _, err := fmt.Sscanf(value, "%d.%d", &i, &j); err != nil {
		t.Fatal(err)
	}
	lies := b.lies(j%2, value)
	switch _, maybe := errors.AsType[*UnansweredError](got.err); {
	case got.err == nil && (lies != 1 || b.at(j%2, got.offset) != value):
		t.Errorf("%s was acknowledged at %d, and lies there %d times", value, got.offset, lies)
	case maybe && lies > 1, got.err != nil && !maybe && lies > 0:
		t.Errorf("%s failed with %v, and lies there %d times", value, got.err, lies)
	}
}

// A batch takes all that fits, in order, and one event whatever its size.
func TestFits(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var events []event
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 300), 1, 50).Draw(r, "sizes") {
			events = append(events, event{value: make([]byte, n)})
		}
		limit, room := rapid.IntRange(0, 2000).Draw(r, "limit"), rapid.IntRange(-10, 2000).Draw(r, "room")
		n, size := fits(events, limit, room)
		want := batchBytes
		for _, e := range events[:n] {
			want += e.size()
		}
		switch {
		case size != want:
			r.Errorf("%d events are %d bytes, not %d", n, want, size)
		case n > 0 && size > room, n > 1 && size > limit:
			r.Errorf("%d events of %d bytes don't fit", n, size)
		case n < len(events) && size+events[n].size() <= room && (n == 0 || size+events[n].size() <= limit):
			r.Errorf("%d events, and one more would fit", n)
		}
	})
}

// A batch that a broker may have isn't sent under other sequences, nor is it ever said that
// no broker has it; and no answer is the last's that may not be.
func TestJudge(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := &batch{events: make([]event, rapid.IntRange(1, 2).Draw(r, "events"))}
		maybe := false
		for try := range 10 {
			a := answer(rapid.IntRange(int(taken), int(broken)).Draw(r, "answer"))
			last := rapid.Bool().Draw(r, "last")
			v := b.judge(a, last)
			maybe = maybe || a == unclear || a == broken
			_, told := errors.AsType[*UnansweredError](b.failure(sarama.ErrUnknown))
			switch {
			case maybe && (v == anew || v == halve), told != maybe, b.tries != try+1:
				r.Errorf("%v of answer %v, maybe %v, told %v", v, a, maybe, told)
			case last && (v == again || v == anew), (a == taken) != (v == accepted), v == halve && len(b.events) == 1:
				r.Errorf("%v of answer %v to %d events, the last %v", v, a, len(b.events), last)
			}
			if v == accepted || v == failed || v == halve {
				return
			}
		}
	})
}

// A request takes one batch of a partition, to one broker, and so many bytes, or one batch.
func TestFillRequest(t *testing.T) {
	broker, other := sarama.NewBroker("a:1"), sarama.NewBroker("b:1")
	call := func(b *sarama.Broker, partition int32, size int) *Call {
		return &Call{Broker: b, Partition: partition, Fill: func(room int) (*sarama.RecordBatch, int) {
			if size > room {
				return nil, 0
			}
			return &sarama.RecordBatch{}, size
		}}
	}
	for _, tt := range []struct {
		name  string
		calls []*Call
		want  int
	}{
		{"all", []*Call{call(broker, 0, 1), call(broker, 1, 1)}, 2},
		{"another broker", []*Call{call(broker, 0, 1), call(other, 1, 1)}, 1},
		{"the same partition", []*Call{call(broker, 0, 1), call(broker, 1, 1), call(broker, 0, 1)}, 2},
		{"just enough", []*Call{call(broker, 0, maxRequestBytes-1), call(broker, 1, 1), call(broker, 2, 1)}, 2},
		{"one alone", []*Call{call(broker, 0, 2*maxRequestBytes), call(broker, 1, 1)}, 1},
		{"no room for the second", []*Call{call(broker, 0, 1), call(broker, 1, maxRequestBytes)}, 1},
	} {
		if got := fillRequest(tt.calls); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// Steps come one after the other, each with all that came meanwhile.
func TestStage(t *testing.T) {
	steps := make(chan []int)
	s := NewStage(All, func(items []int) { steps <- items })
	s.Add(1)
	s.Add(2)
	s.Add(3, 4)
	total := 0
	for total < 4 {
		select {
		case items := <-steps:
			for i, item := range items {
				if item != total+i+1 {
					t.Errorf("%v behind %d", items, total)
				}
			}
			total += len(items)
		case <-time.After(patience):
			t.Fatal("it stopped")
		}
	}
}
