package produce

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sent is a batch as a broker gets it.
type sent struct {
	id      int64
	epoch   int16
	seq     int32
	values  []string
	batch   kmsg.RecordBatch
	records []kmsg.Record
	request int // which of the broker's
}

func parse(raw []byte) sent {
	var rb kmsg.RecordBatch
	if err := rb.ReadFrom(raw); err != nil {
		panic(err)
	}
	s := sent{id: rb.ProducerID, epoch: rb.ProducerEpoch, seq: rb.FirstSequence, batch: rb}
	for b := rb.Records; len(b) > 0; {
		length, n := kbin.Varint(b)
		var r kmsg.Record
		if err := r.ReadFrom(b[:n+int(length)]); err != nil {
			panic(err)
		}
		b = b[n+int(length):]
		s.values, s.records = append(s.values, string(r.Value)), append(s.records, r)
	}
	return s
}

// log is one partition, which takes batches as Kafka's do.
type log struct {
	values    []string
	producers map[int64]*producerState
}

type producerState struct {
	epoch  int16
	cached []cachedBatch // the last five
}

type cachedBatch struct {
	first, next int32
	base        int64
}

func newLog() *log { return &log{producers: map[int64]*producerState{}} }

// append takes the batch, or finds it.
func (l *log) append(s sent) (base int64, code *kerr.Error) {
	p := l.producers[s.id]
	switch {
	case p == nil:
		p = &producerState{epoch: s.epoch}
	case s.epoch < p.epoch:
		return -1, kerr.InvalidProducerEpoch
	case s.epoch > p.epoch && s.seq != 0:
		return -1, kerr.OutOfOrderSequenceNumber
	case s.epoch > p.epoch:
		p = &producerState{epoch: s.epoch}
	case len(p.cached) > 0:
		next := NextSequence(s.seq, len(s.values))
		if i := slices.IndexFunc(p.cached, func(c cachedBatch) bool { return c.first == s.seq && c.next == next }); i >= 0 {
			return p.cached[i].base, nil
		}
		if p.cached[len(p.cached)-1].next != s.seq {
			return -1, kerr.OutOfOrderSequenceNumber
		}
	}
	base = int64(len(l.values))
	p.cached = append(p.cached, cachedBatch{s.seq, NextSequence(s.seq, len(s.values)), base})
	p.cached = p.cached[max(0, len(p.cached)-5):]
	l.producers[s.id] = p
	l.values = append(l.values, s.values...)
	return base, nil
}
