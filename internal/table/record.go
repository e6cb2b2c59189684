// Package table is the table topic: what its records mean, and the only writer of
// each of its partitions.
//
// Every input record has exactly one answer in the table: a row, or a tombstone, with
// the input's offset and the outcome in its headers. So the table's own log says how
// far the input is applied. Four other kinds of records come between: the fence that
// an owner begins with, the position that it writes down for compaction's sake, the
// tombstones of a purge, and rows that are written again since somebody else wrote under
// their keys.
package table

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/store"
)

// The headers of a table record.
const (
	// headerOffset is the offset of the input record that this one answers, decimal.
	headerOffset  = "rlmm.offset"
	headerOutcome = "rlmm.outcome"
	headerCluster = "rlmm.cluster.id"
	headerTopic   = "rlmm.topic.id"
	// headerWriter is the writer's number, headerSum the sum of the input record at
	// headerOffset: see [Record]. Builds that don't know them pass over them.
	headerWriter = "rlmm.by"
	headerSum    = "rlmm.sum"
)

// Kind says what a table record is.
type Kind uint8

// The kinds of table records.
const (
	// Answer is the answer to an input record.
	Answer Kind = iota + 1
	// Fence is an owner's first record.
	Fence
	// Progress says how far the input is applied.
	Progress
	// Purge removes a marker that nothing needs.
	Purge
	// Repair is a row as it is, or a tombstone where there is none, since somebody else
	// wrote under its key.
	Repair
)

// Record is a table record as a reader sees it.
type Record struct {
	Kind  Kind
	Key   string
	Value []byte // nil is a tombstone
	// Source is the offset of the input record (Answer), the greatest one that is
	// applied (Progress, Repair), the offset field of the removed row (Purge); −1 (Fence).
	Source  int64
	Outcome codec.Outcome // Answer, Purge and Repair only
	// ClusterID and TopicID name the metadata topic that the table is made from.
	// Fence and Progress only.
	ClusterID string
	TopicID   api.UUID
	Time      time.Time
	// Writer is a random number of the owner's that wrote the record, another one each time
	// that somebody becomes the owner. Input is the [InputSum] of the input record at Source
	// (Answer, Progress). 0 is unknown.
	Writer, Input uint32
}

// AnswerHeaders are the headers of the answer to the input record at the offset, which a
// rejected event has too.
func AnswerHeaders(offset int64, outcome codec.Outcome) goka.Headers {
	return goka.Headers{
		headerOffset:  strconv.AppendInt(nil, offset, 10),
		headerOutcome: []byte(outcome.String()),
	}
}

// Parse reads a table record. An error means that none of rlmm's writers made it.
func Parse(key string, value []byte, headers goka.Headers, at time.Time) (Record, error) {
	r := Record{Kind: Answer, Key: key, Value: value, Source: -1, Time: at}
	r.Writer, r.Input = number(headers[headerWriter]), number(headers[headerSum])
	k, err := codec.ParseKey(key)
	if err != nil {
		return r, err
	}
	offset, ok := headers[headerOffset]
	switch {
	case !ok && k.Kind != codec.KeyRejected:
		return r, fmt.Errorf("the record of %s has no header %s", key, headerOffset)
	case !ok:
		r.Kind = Fence
		return r, r.parseIdentity(headers)
	}
	if r.Source, err = strconv.ParseInt(string(offset), 10, 64); err != nil {
		return r, fmt.Errorf("header %s: %w", headerOffset, err)
	}
	if k.Kind == codec.KeyPosition {
		r.Kind = Progress
		return r, r.parseIdentity(headers)
	}
	return r, r.parseOutcome(headers)
}

func (r *Record) parseOutcome(headers goka.Headers) (err error) {
	if r.Outcome, err = codec.ParseOutcome(string(headers[headerOutcome])); err != nil {
		return fmt.Errorf("header %s: %w", headerOutcome, err)
	}
	switch r.Outcome {
	case codec.OutcomePurge:
		r.Kind = Purge
	case codec.OutcomeRepair:
		r.Kind = Repair
	}
	return nil
}

func (r *Record) parseIdentity(headers goka.Headers) (err error) {
	r.ClusterID = string(headers[headerCluster])
	if r.TopicID, err = api.ParseUUID(string(headers[headerTopic])); err != nil {
		return fmt.Errorf("header %s: %w", headerTopic, err)
	}
	return nil
}

// Change is what the record does to a store, the guard of Apply aside.
func (r Record) Change() store.Change {
	c := store.Change{
		Key: r.Key, Value: r.Value, Time: r.Time.UnixMilli(), Sum: r.Sum(),
		Applied: r.Source, Input: r.Input,
	}
	if codec.IsHidden(r.Key) {
		c.Key, c.Value = "", nil
	}
	if r.Kind == Purge || r.Kind == Repair {
		c.Applied, c.Input = -1, 0
	}
	return c
}

// CheckVersion returns a [codec.RowVersionError] for a row that this release can't read.
// To pass it by, or to keep it unread, would be to answer without it.
func (r Record) CheckVersion() error { return codec.CheckRowVersion(r.Change().Value) }

// Apply stages the record in a store that reads the table. It returns false, and
// moves the store past the record all the same, for an answer that isn't newer than
// what is applied and for a purge or repair of a row that is newer: with one writer
// none of them happens.
func Apply(s *store.Store, r Record) (bool, error) {
	change, ok := r.Change(), true
	switch r.Kind {
	case Answer:
		ok = r.Source > s.Position().Applied
	case Purge, Repair:
		var err error
		if ok, err = supersedes(s, r); err != nil {
			return false, err
		}
	}
	if !ok {
		change = store.Change{Applied: -1, Time: change.Time, Sum: change.Sum}
	}
	s.Stage(change)
	return ok, nil
}

// supersedes tells whether the record is of the row as it is, or as it became since by
// records that compaction took.
func supersedes(s *store.Store, r Record) (bool, error) {
	value, err := s.Get(r.Key)
	if value == nil || err != nil {
		return err == nil, err
	}
	row, err := DecodeRow(r.Key, value)
	return err == nil && row.Offset <= r.Source, err
}

// encoded is a record as it is sent, with its headers, in one piece of memory.
type encoded struct {
	sarama.Record
	headers [headersOfAnswer]sarama.RecordHeader
	list    [headersOfAnswer]*sarama.RecordHeader
	numbers [28]byte // an offset and two numbers of four bytes
}

const headersOfAnswer = 4

// The headers' keys as sarama takes them; it doesn't change them.
var (
	keyOffset  = []byte(headerOffset)
	keyOutcome = []byte(headerOutcome)
	keyCluster = []byte(headerCluster)
	keyTopic   = []byte(headerTopic)
	keyWriter  = []byte(headerWriter)
	keySum     = []byte(headerSum)
)

// outcomeTexts are the outcomes as sarama takes them.
var outcomeTexts = func() (texts [codec.OutcomeRepair + 1][]byte) {
	for o := range texts {
		texts[o] = []byte(codec.Outcome(o).String())
	}
	return texts
}()

// encode is the record as Parse reads it. Its time is that of the batch.
func (r Record) encode() *sarama.Record {
	e := &encoded{Record: sarama.Record{Key: []byte(r.Key), Value: r.Value}}
	e.Headers = e.list[:0]
	numbers := e.numbers[:0]
	if r.Kind != Fence {
		numbers = strconv.AppendInt(numbers, r.Source, 10)
		e.add(keyOffset, numbers)
	}
	if r.Outcome != 0 {
		e.add(keyOutcome, outcomeTexts[r.Outcome])
	} else {
		e.add(keyCluster, []byte(r.ClusterID))
		e.add(keyTopic, []byte(r.TopicID.String()))
	}
	numbers = e.addNumber(keyWriter, r.Writer, numbers)
	e.addNumber(keySum, r.Input, numbers)
	return &e.Record
}

func (e *encoded) add(key, value []byte) {
	n := len(e.Headers)
	if n < len(e.headers) {
		e.headers[n] = sarama.RecordHeader{Key: key, Value: value}
		e.Headers = append(e.Headers, &e.headers[n])
		return
	}
	e.Headers = append(e.Headers, &sarama.RecordHeader{Key: key, Value: value})
}

// addNumber adds no header for 0.
func (e *encoded) addNumber(key []byte, n uint32, numbers []byte) []byte {
	if n == 0 {
		return numbers
	}
	at := len(numbers)
	numbers = binary.BigEndian.AppendUint32(numbers, n)
	e.add(key, numbers[at:])
	return numbers
}

func fenceOf(partition int32, id store.Identity) Record {
	return Record{
		Kind: Fence, Key: codec.RejectedKey(partition), Source: -1,
		ClusterID: id.ClusterID, TopicID: id.MetadataTopicID,
	}
}

// positionOf has a value: a tombstone would be compacted away in the end.
func positionOf(partition int32, at store.Mark, id store.Identity) Record {
	return Record{
		Kind: Progress, Key: codec.PositionKey(partition), Value: strconv.AppendInt(nil, at.Offset, 10),
		Source: at.Offset, Input: at.Sum, ClusterID: id.ClusterID, TopicID: id.MetadataTopicID,
	}
}

func transactionalID(table string, partition int32) string {
	return table + "-" + strconv.Itoa(int(partition))
}
