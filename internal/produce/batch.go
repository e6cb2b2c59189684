package produce

import (
	"time"

	"github.com/IBM/sarama"
)

const (
	// recordBytes is what a record takes beside its value, at most: it has no key and no
	// headers.
	recordBytes = 36
	// batchBytes is what a batch takes beside its records.
	batchBytes = 61
)

// event is a record on its way.
type event struct {
	value []byte
	time  time.Time
	done  func(offset int64, err error)
}

// size is what the event takes in a batch, at most.
func (e event) size() int { return recordBytes + len(e.value) }

// batch are events that are taken or refused together, and what became of its tries.
type batch struct {
	events  []event
	size    int
	records *sarama.RecordBatch
	tries   int
	maybe   bool // a broker may have appended it in one of them
}

// fits is how many of the events go into a batch of limit bytes, one at least, that has
// room bytes: none when not even the first one fits into those.
func fits(events []event, limit, room int) (n, size int) {
	size = batchBytes
	for n < len(events) {
		next := size + events[n].size()
		if next > room || n > 0 && next > limit {
			break
		}
		n, size = n+1, next
	}
	return n, size
}

// newBatch writes the records as Kafka's own clients do, with the times of their events.
func newBatch(events []event, size int) *batch {
	first := events[0].time.Truncate(time.Millisecond)
	rb := &sarama.RecordBatch{
		Version: 2, FirstTimestamp: first, MaxTimestamp: first,
		LastOffsetDelta: int32(len(events) - 1), Records: make([]*sarama.Record, len(events)),
	}
	records := make([]sarama.Record, len(events))
	for i, e := range events {
		at := e.time.Truncate(time.Millisecond)
		records[i] = sarama.Record{Value: e.value, OffsetDelta: int64(i), TimestampDelta: at.Sub(first)}
		rb.Records[i] = &records[i]
		if at.After(rb.MaxTimestamp) {
			rb.MaxTimestamp = at
		}
	}
	return &batch{events: events, size: size, records: rb}
}

// stamp numbers the records.
func (b *batch) stamp(id identity, seq int32) {
	b.records.ProducerID, b.records.ProducerEpoch, b.records.FirstSequence = id.id, id.epoch, seq
}

// finish tells each event its offset, none when the first one's isn't known, or the error.
func (b *batch) finish(base int64, err error) {
	for i, e := range b.events {
		if base < 0 {
			e.done(NoOffset, err)
		} else {
			e.done(base+int64(i), err)
		}
	}
}
