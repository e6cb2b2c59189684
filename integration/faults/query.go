package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/tieredlog/rlmm/api"
)

// kind is one of the contract's reads.
type kind int

const (
	findSegment kind = iota
	highestOffset
	listSegments
	listByEpoch
	logSize
	nextTxn
	kinds // how many there are
)

// query is a question of the contract.
type query struct {
	kind   kind
	tip    api.TopicIdPartition
	epoch  int32
	offset int64
}

// text is an answer in a form that can be compared and shown. All fields are in it.
type text string

// The segments of loads and mutators lie below these.
const (
	epochs  = 5
	offsets = 1100
)

// randomQuery asks anything of the partition.
func randomQuery(random *rand.Rand, tip api.TopicIdPartition) query {
	return query{kind(random.IntN(int(kinds))), tip, random.Int32N(epochs), random.Int64N(offsets)}
}

// allQueries are the questions that tell all about the partition: each query, in each
// epoch, around each offset where an answer may change.
func allQueries(tip api.TopicIdPartition) []query {
	all := []query{{kind: listSegments, tip: tip}}
	for epoch := range int32(epochs) {
		for _, k := range []kind{highestOffset, listByEpoch, logSize} {
			all = append(all, query{kind: k, tip: tip, epoch: epoch})
		}
		for offset := int64(0); offset < offsets; offset += 50 {
			for _, k := range []kind{findSegment, nextTxn} {
				all = append(all, query{k, tip, epoch, offset}, query{k, tip, epoch, offset + 49})
			}
		}
	}
	return all
}

// ask asks a manager.
func (q query) ask(ctx context.Context, m api.RemoteLogMetadataManager) (text, error) {
	switch q.kind {
	case findSegment:
		return foundText(m.RemoteLogSegmentMetadata(ctx, q.tip, q.epoch, q.offset))
	case highestOffset:
		n, found, err := m.HighestOffsetForEpoch(ctx, q.tip, q.epoch)
		return numberText(n, found), err
	case listSegments:
		return listText(m.ListRemoteLogSegments(ctx, q.tip))
	case listByEpoch:
		return listText(m.ListRemoteLogSegmentsByEpoch(ctx, q.tip, q.epoch))
	case logSize:
		n, err := m.RemoteLogSize(ctx, q.tip, q.epoch)
		return numberText(n, true), err
	}
	return foundText(m.NextSegmentWithTxnIndex(ctx, q.tip, q.epoch, q.offset))
}

// of is the true answer in a state.
func (q query) of(s State) text {
	switch q.kind {
	case findSegment:
		m, found := s.Find(q.epoch, q.offset)
		return segmentText(m, found)
	case highestOffset:
		return numberText(s.Highest(q.epoch))
	case listSegments:
		return segmentsText(s.List())
	case listByEpoch:
		return segmentsText(s.ListByEpoch(q.epoch))
	case logSize:
		return numberText(s.Size(q.epoch), true)
	}
	m, found := s.Next(q.epoch, q.offset)
	return segmentText(m, found)
}

// String is the question's name in the contract.
func (k kind) String() string {
	return [kinds]string{
		"RemoteLogSegmentMetadata", "HighestOffsetForEpoch", "ListRemoteLogSegments", "ListRemoteLogSegmentsByEpoch",
		"RemoteLogSize", "NextSegmentWithTxnIndex",
	}[k]
}

// String is the question in the contract's words.
func (q query) String() string {
	switch q.kind {
	case listSegments:
		return fmt.Sprintf("%s(%s)", q.kind, q.tip)
	case findSegment, nextTxn:
		return fmt.Sprintf("%s(%s, %d, %d)", q.kind, q.tip, q.epoch, q.offset)
	}
	return fmt.Sprintf("%s(%s, %d)", q.kind, q.tip, q.epoch)
}

const none text = "none"

func numberText(n int64, found bool) text {
	if !found {
		return none
	}
	return text(fmt.Sprint(n))
}

func foundText(m api.RemoteLogSegmentMetadata, found bool, err error) (text, error) {
	return segmentText(m, found), err
}

func segmentText(m api.RemoteLogSegmentMetadata, found bool) text {
	if !found {
		return none
	}
	return segmentsText([]api.RemoteLogSegmentMetadata{m})
}

func listText(l []api.RemoteLogSegmentMetadata, err error) (text, error) { return segmentsText(l), err }

func segmentsText(l []api.RemoteLogSegmentMetadata) text {
	var b strings.Builder
	for _, m := range l {
		fmt.Fprintf(&b, "[%s %s %d–%d %s size %d max %d event %d broker %d custom %t %x txn empty %t]", m.ID, m.State,
			m.StartOffset, m.EndOffset, m.LeaderEpochs, m.SegmentSizeInBytes, m.MaxTimestampMs, m.EventTimestampMs,
			m.BrokerID, m.CustomMetadata.Present(), m.CustomMetadata.Bytes(), m.TxnIndexEmpty)
	}
	return text(b.String())
}
