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

// AnswerHeaders are the headers of the answer to the input record at the offset.
func AnswerHeaders(offset int64, outcome codec.Outcome) goka.Headers {
	return goka.Headers{
		headerOffset:  strconv.AppendInt(nil, offset, 10),
		headerOutcome: []byte(outcome.String()),
	}
}

func isAnswer(headers goka.Headers, outcome codec.Outcome) bool {
	return string(headers[headerOutcome]) == outcome.String()
}

// PurgeHeaders are the headers of the tombstone that removes a row with this offset
// field.
func PurgeHeaders(rowOffset int64) goka.Headers { return AnswerHeaders(rowOffset, codec.OutcomePurge) }

// RepairHeaders are the headers of a row that is written again after the input was applied
// up to the offset.
func RepairHeaders(applied int64) goka.Headers { return AnswerHeaders(applied, codec.OutcomeRepair) }

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

func identityHeaders(id store.Identity) goka.Headers {
	return goka.Headers{headerCluster: []byte(id.ClusterID), headerTopic: []byte(id.MetadataTopicID.String())}
}

func fenceRecord(partition int32, writer uint32, id store.Identity) *sarama.Record {
	r := &sarama.Record{Key: []byte(codec.RejectedKey(partition))}
	r.Headers = append(r.Headers, writerHeader(writer))
	for k, v := range identityHeaders(id) {
		r.Headers = append(r.Headers, &sarama.RecordHeader{Key: []byte(k), Value: v})
	}
	return r
}

// positionRecord has a value: a tombstone would be compacted away in the end.
func positionRecord(partition int32, at store.Mark, id store.Identity) (key string, value []byte, headers goka.Headers) {
	headers = identityHeaders(id)
	headers[headerOffset] = strconv.AppendInt(nil, at.Offset, 10)
	if at.Sum != 0 {
		headers[headerSum] = numberBytes(at.Sum)
	}
	return codec.PositionKey(partition), headers[headerOffset], headers
}

func transactionalID(table string, partition int32) string {
	return table + "-" + strconv.Itoa(int(partition))
}
