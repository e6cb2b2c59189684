package faults

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// Lives are records that are all good, when they are applied in their order: whole lives
// of segments.
type Lives struct {
	random     *rand.Rand
	partitions int32
	open       []api.RemoteLogSegmentMetadata // lives that have begun
	begun      int
	large      []api.RemoteLogSegmentID
}

// openLives is how many segments live at the same time.
const openLives = 200

// largeSegments is how many large segments there are.
const largeSegments = 4

// NewLives returns the records of a topic with that many partitions.
func NewLives(random *rand.Rand, partitions int32) *Lives {
	return &Lives{random: random, partitions: partitions}
}

// Next is the next good record. Every fortieth segment that is begun keeps living.
func (l *Lives) Next() *sarama.ProducerMessage {
	if len(l.open) < openLives {
		l.open = append(l.open, l.begin())
		return l.record(l.open[len(l.open)-1])
	}
	i := l.random.IntN(len(l.open))
	s := &l.open[i]
	s.State++
	record := l.record(api.RemoteLogSegmentMetadataUpdate{ID: s.ID, State: s.State, EventTimestampMs: int64(l.begun)})
	if s.State == api.DeleteSegmentFinished || s.State == api.CopySegmentFinished && s.StartOffset%4000 == 0 {
		l.open[i] = l.open[len(l.open)-1]
		l.open = l.open[:len(l.open)-1]
	}
	return record
}

func (l *Lives) begin() api.RemoteLogSegmentMetadata {
	l.begun++
	tips := LoadPartitions()
	start := int64(l.begun) * 100
	return api.RemoteLogSegmentMetadata{
		ID:          api.RemoteLogSegmentID{TopicIdPartition: tips[l.random.IntN(len(tips))], ID: api.UUIDFromBits(l.random.Uint64(), l.random.Uint64())},
		StartOffset: start, EndOffset: start + 99, SegmentSizeInBytes: 1000,
		LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: int32(l.begun / 1000), Offset: start}),
	}
}

func (l *Lives) record(event api.RemoteLogMetadata) *sarama.ProducerMessage {
	value, err := codec.EncodeRecord(event)
	if err != nil {
		panic(err)
	}
	p := codec.MetadataPartition(event.Partition(), l.partitions)
	return &sarama.ProducerMessage{Partition: p, Value: sarama.ByteEncoder(value)}
}

// Poisons are the kinds of records that must be refused.
func (l *Lives) Poisons() map[string]func() *sarama.ProducerMessage {
	return map[string]func() *sarama.ProducerMessage{
		"null":                func() *sarama.ProducerMessage { return &sarama.ProducerMessage{Partition: l.anywhere()} },
		"empty":               func() *sarama.ProducerMessage { return l.raw([]byte{}) },
		"noise":               func() *sarama.ProducerMessage { return l.raw(l.noise()) },
		"cut":                 func() *sarama.ProducerMessage { b := l.good(); return l.raw(b[:l.random.IntN(len(b))]) },
		"longer":              func() *sarama.ProducerMessage { return l.raw(append(l.good(), l.noise()...)) },
		"frame of no version": func() *sarama.ProducerMessage { return l.raw(l.with(0, 0)) },
		"frame of version 9":  func() *sarama.ProducerMessage { return l.raw(l.with(0, 9)) },
		"kind 42":             func() *sarama.ProducerMessage { return l.raw(l.with(1, 42)) },
		"snapshot":            func() *sarama.ProducerMessage { return l.raw(l.with(1, 3)) },
		"newer message":       func() *sarama.ProducerMessage { return l.raw(l.with(2, 1)) },
		"misrouted":           l.misrouted,
		"too large a row":     l.oversized,
		"duplicate add":       func() *sarama.ProducerMessage { return l.record(l.begunAgain(api.CopySegmentStarted)) },
		"add of a wrong state": func() *sarama.ProducerMessage {
			s := l.begin()
			s.State = api.CopySegmentFinished
			return l.record(s)
		},
		"update to the start": func() *sarama.ProducerMessage { return l.update(l.living().ID, api.CopySegmentStarted) },
		"update of nothing":   func() *sarama.ProducerMessage { return l.update(l.begin().ID, api.CopySegmentFinished) },
		"deletion that begins at its end": func() *sarama.ProducerMessage {
			return l.record(api.RemotePartitionDeleteMetadata{TopicIdPartition: l.begin().ID.TopicIdPartition, State: api.DeletePartitionFinished})
		},
	}
}

func (l *Lives) anywhere() int32 { return l.random.Int32N(l.partitions) }

func (l *Lives) raw(value []byte) *sarama.ProducerMessage {
	return &sarama.ProducerMessage{Partition: l.anywhere(), Value: sarama.ByteEncoder(value)}
}

// noise begins with what no frame begins with.
func (l *Lives) noise() []byte {
	b := []byte{0xee}
	for range 1 + l.random.IntN(20) {
		b = binary.BigEndian.AppendUint64(b, l.random.Uint64())
	}
	return b
}

// good is a good record's value.
func (l *Lives) good() []byte {
	value, err := codec.EncodeRecord(l.begin())
	if err != nil {
		panic(err)
	}
	return value
}

// with is a good record's value with one byte changed.
func (l *Lives) with(at int, b byte) []byte {
	value := l.good()
	value[at] = b
	return value
}

func (l *Lives) living() api.RemoteLogSegmentMetadata { return l.open[l.random.IntN(len(l.open))] }

func (l *Lives) begunAgain(state api.RemoteLogSegmentState) api.RemoteLogSegmentMetadata {
	s := l.living()
	s.State = state
	return s
}

func (l *Lives) update(id api.RemoteLogSegmentID, state api.RemoteLogSegmentState) *sarama.ProducerMessage {
	return l.record(api.RemoteLogSegmentMetadataUpdate{ID: id, State: state})
}

func (l *Lives) misrouted() *sarama.ProducerMessage {
	m := l.record(l.begin())
	m.Partition = (m.Partition + 1 + l.random.Int32N(l.partitions-1)) % l.partitions
	return m
}

// Large are good records that come before all others: segments with so many epochs that
// no great custom metadata fits into their rows. They are of partitions of their own.
func (l *Lives) Large() []*sarama.ProducerMessage {
	epochs := make([]api.EpochOffset, largestRow/2/12)
	for i := range epochs {
		epochs[i] = api.EpochOffset{LeaderEpoch: int32(i), Offset: int64(i)}
	}
	records := make([]*sarama.ProducerMessage, largeSegments)
	for i := range records {
		s := l.begin()
		s.ID.TopicIdPartition = api.TopicIdPartition{TopicID: api.UUIDFromBits(8, 1), Topic: "large", Partition: int32(i)}
		s.StartOffset, s.EndOffset, s.LeaderEpochs = 0, int64(len(epochs)), api.NewLeaderEpochs(epochs...)
		l.large = append(l.large, s.ID)
		records[i] = l.record(s)
	}
	return records
}

// oversized is a record that the topic takes, and whose row the table doesn't.
func (l *Lives) oversized() *sarama.ProducerMessage {
	return l.record(api.RemoteLogSegmentMetadataUpdate{
		ID: l.large[l.random.IntN(len(l.large))], State: api.CopySegmentFinished,
		CustomMetadata: api.NewCustomMetadata(make([]byte, largestRow-1000)),
	})
}

// Outcome is what becomes of the input record at the offset.
func (e Expected) Outcome(offset int64) codec.Outcome { return e.answers[offset].outcome }

// Outcomes counts what becomes of the input.
func (e Expected) Outcomes() map[codec.Outcome]int64 {
	counts := map[codec.Outcome]int64{}
	for _, a := range e.answers {
		counts[a.outcome]++
	}
	return counts
}

// CheckRejected compares the rejected events of a metadata partition, in any order, with
// its input: each record that is refused lies there once, with its offset, the outcome, a
// reason and its raw bytes.
func CheckRejected(rejected, input []*sarama.ConsumerMessage, want Expected) Findings {
	var f Findings
	by := map[string]*sarama.ConsumerMessage{}
	for _, m := range rejected {
		offset := string(goka.HeadersFromSarama(m.Headers)["rlmm.offset"])
		if by[offset] != nil {
			f.add("input %s is rejected twice", offset)
		}
		by[offset] = m
	}
	for _, m := range input {
		offset, outcome := fmt.Sprint(m.Offset), want.answers[m.Offset].outcome
		got := by[offset]
		delete(by, offset)
		switch {
		case got == nil && outcome.Rejected():
			f.add("input %d/%s is %s, and isn't among the rejected", m.Partition, offset, outcome)
		case got != nil && !outcome.Rejected():
			f.add("input %d/%s is %s, and is among the rejected", m.Partition, offset, outcome)
		case got != nil:
			f.rejection(got, m, outcome)
		}
	}
	for offset := range by {
		f.add("rejected is %q, which isn't an input offset", offset)
	}
	return f
}

func (f *Findings) rejection(got, m *sarama.ConsumerMessage, outcome codec.Outcome) {
	headers := goka.HeadersFromSarama(got.Headers)
	if s := string(headers["rlmm.outcome"]); s != outcome.String() {
		f.add("input %d/%d is rejected as %s, want %s", m.Partition, m.Offset, s, outcome)
	}
	if len(headers["rlmm.reason"]) == 0 {
		f.add("input %d/%d is rejected without a reason", m.Partition, m.Offset)
	}
	if string(got.Value) != string(m.Value) || (got.Value == nil) != (m.Value == nil) {
		f.add("input %d/%d is rejected with %d other bytes, want its %d", m.Partition, m.Offset, len(got.Value), len(m.Value))
	}
}
