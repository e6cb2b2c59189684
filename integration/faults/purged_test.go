package faults

import (
	"slices"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/table"
)

// purgedLog is a metadata topic of one partition and the table that a fleet makes of it.
type purgedLog struct {
	t      *testing.T
	rows   map[string]*codec.Row
	input  []*sarama.ConsumerMessage
	output []*sarama.ConsumerMessage
}

// event is published and answered.
func (l *purgedLog) event(event api.RemoteLogMetadata) {
	value, err := codec.EncodeRecord(event)
	if err != nil {
		l.t.Fatal(err)
	}
	m := &sarama.ConsumerMessage{Offset: int64(len(l.input)), Value: value}
	l.input = append(l.input, m)
	a, err := foldOne(l.rows, 0, 1, m)
	if err != nil {
		l.t.Fatal(err)
	}
	l.write(a.key, a.value, table.AnswerHeaders(m.Offset, a.outcome))
}

func (l *purgedLog) write(key, value string, headers goka.Headers) {
	m := &sarama.ConsumerMessage{Offset: int64(len(l.output)), Key: []byte(key)}
	if value != "" {
		m.Value = []byte(value)
	}
	for k, v := range headers {
		m.Headers = append(m.Headers, &sarama.RecordHeader{Key: []byte(k), Value: v})
	}
	l.output = append(l.output, m)
}

// purge removes the row as of the offset, right or wrong.
func (l *purgedLog) purge(n int, offset int64) {
	key := codec.SegmentKey(purgedSegment(n).ID)
	delete(l.rows, key)
	l.write(key, "", table.AnswerHeaders(offset, codec.OutcomePurge))
}

func purgedSegment(n int) api.RemoteLogSegmentMetadata {
	start := int64(n) * 10
	return api.RemoteLogSegmentMetadata{
		ID:          api.RemoteLogSegmentID{TopicIdPartition: LoadPartitions()[0], ID: api.UUIDFromBits(1, uint64(n))},
		StartOffset: start, EndOffset: start + 9, LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{Offset: 0}),
	}
}

// newPurgedLog has the whole lives of the segments 1 and 2, at offsets 0 to 3 and 4 to 7,
// and segment 3, which isn't finished, at 8.
func newPurgedLog(t *testing.T) *purgedLog {
	l := &purgedLog{t: t, rows: map[string]*codec.Row{}}
	for n := 1; n <= 2; n++ {
		s := purgedSegment(n)
		l.event(s)
		for state := api.CopySegmentFinished; state <= api.DeleteSegmentFinished; state++ {
			l.event(api.RemoteLogSegmentMetadataUpdate{ID: s.ID, State: state})
		}
	}
	l.event(purgedSegment(3))
	return l
}

func (l *purgedLog) deletePartition() {
	for state := api.DeletePartitionMarked; state <= api.DeletePartitionFinished; state++ {
		l.event(api.RemotePartitionDeleteMetadata{TopicIdPartition: LoadPartitions()[0], State: state})
	}
}

// Only markers that nothing needs may be purged, as they are; what a fleet answers
// afterwards follows from that.
func TestCheckPurgedTable(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(*purgedLog)
		want string // empty is no finding
	}{
		{"nothing is purged", func(*purgedLog) {}, ""},
		{"a marker", func(l *purgedLog) { l.purge(1, 3) }, ""},
		{"a marker, whose segment comes again", func(l *purgedLog) { l.purge(1, 3); l.event(purgedSegment(1)) }, ""},
		{"the last marker of a deleted partition", func(l *purgedLog) { l.deletePartition(); l.purge(2, 7) }, ""},
		{"the marker of the highest offset", func(l *purgedLog) { l.purge(2, 7) }, "holds the highest offset"},
		{"a marker twice", func(l *purgedLog) { l.purge(1, 3); l.purge(1, 3) }, "purges"},
		{"a marker as it isn't", func(l *purgedLog) { l.purge(1, 2) }, "purges"},
		{"a segment", func(l *purgedLog) { l.purge(3, 8) }, "purges"},
		{"an answer is missing", func(l *purgedLog) { l.event(purgedSegment(4)); l.output = l.output[:9] }, "isn't answered"},
		{"an answer comes twice", func(l *purgedLog) {
			again := *l.output[8]
			again.Offset = 9
			l.output = append(l.output, &again)
		}, "answers 8 after 8"},
		{"a record wasn't seen", func(l *purgedLog) { l.output = slices.Delete(l.output, 3, 4) }, "wasn't seen"},
		{"an answer as if nothing were purged", func(l *purgedLog) {
			before := l.rows[codec.SegmentKey(purgedSegment(1).ID)]
			l.purge(1, 3)
			l.rows[codec.SegmentKey(purgedSegment(1).ID)] = before
			l.event(purgedSegment(1))
		}, "answer to 9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newPurgedLog(t)
			tt.do(l)
			replay, f := CheckPurgedTable(0, 1, l.output, l.input)
			if found := f.String(); (found != "") != (tt.want != "") || !strings.Contains(found, tt.want) {
				t.Errorf("found %q, want %q", found, tt.want)
			}
			if tt.want == "" {
				if f := Diff("rows", replay.Rows, RowsOf(l.output)); len(f) > 0 {
					t.Error(f)
				}
			}
		})
	}
}
