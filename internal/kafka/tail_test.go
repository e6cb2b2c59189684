package kafka

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestFirstData(t *testing.T) {
	type want struct {
		offset int64
		found  bool
	}
	none := want{}
	for _, c := range []struct {
		name      string
		fill      func(*world)
		from, end int64
		want      want
	}{
		{"empty", func(*world) {}, 0, 0, none},
		{"empty, asked beyond", func(*world) {}, 0, 5, none},
		{"first", func(w *world) { w.produce("t", 5) }, 0, 5, want{0, true}},
		{"inside a batch", func(w *world) { w.produce("t", 5) }, 3, 5, want{3, true}},
		{"at the end", func(w *world) { w.produce("t", 5) }, 5, 5, none},
		{"not below the end asked for", func(w *world) { w.produce("t", 5); w.transact("t", 1, kgo.TryCommit); w.produce("t", 1) }, 6, 7, none},
		{"negative start", func(w *world) { w.produce("t", 5) }, -1, 5, want{0, true}},
		{"committed", func(w *world) { w.transact("t", 2, kgo.TryCommit) }, 0, 3, want{0, true}},
		{"behind committed", func(w *world) { w.transact("t", 2, kgo.TryCommit) }, 2, 3, none},
		{"aborted, which a reader of all sees", func(w *world) { w.transact("t", 2, kgo.TryAbort) }, 1, 3, want{1, true}},
		{"behind aborted", func(w *world) { w.transact("t", 2, kgo.TryAbort) }, 2, 3, none},
		{"data behind control records", func(w *world) {
			w.transact("t", 2, kgo.TryAbort)
			w.produce("t", 1)
		}, 2, 4, want{3, true}},
		{"trimmed away", func(w *world) { w.produce("t", 5); noError(w.t, w.DeleteRecords("t", 0, 5)) }, 0, 5, none},
		{"trimmed in part", func(w *world) { w.produce("t", 5); noError(w.t, w.DeleteRecords("t", 0, 3)) }, 0, 5, want{3, true}},
		{"trimmed to the control record", func(w *world) {
			w.transact("t", 2, kgo.TryCommit)
			noError(w.t, w.DeleteRecords("t", 0, 2))
		}, 0, 3, none},
		{"larger than a look", func(w *world) {
			w.produceValue("t", 1, bytes.Repeat([]byte("v"), 3*fetchBytes))
			w.produce("t", 1)
		}, 0, 2, want{0, true}},
		{"behind a record larger than a look", func(w *world) {
			w.produceValue("t", 1, bytes.Repeat([]byte("v"), 3*fetchBytes))
			w.transact("t", 1, kgo.TryCommit)
		}, 2, 3, none},
		{"compacted", func(w *world) {
			for range 3 {
				w.produce("t", 4)
			}
			w.Compact()
		}, 0, 12, want{0, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.create("t", 1, map[string]string{"max.message.bytes": "8388608"})
			c.fill(w)
			offset, found, err := w.cluster.FirstData(w.ctx, "t", 0, c.from, c.end)
			noError(t, err)
			if found != c.want.found || found && offset != c.want.offset {
				t.Fatalf("got %d, %v, want %+v", offset, found, c.want)
			}
		})
	}
}

func TestDataEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		fill func(*world)
		want int64
	}{
		{"empty", func(*world) {}, 0},
		{"data", func(w *world) { w.produce("t", 5) }, 5},
		{"committed", func(w *world) { w.transact("t", 2, kgo.TryCommit) }, 2},
		{"aborted, which a reader of all sees", func(w *world) { w.produce("t", 1); w.transact("t", 2, kgo.TryAbort) }, 3},
		{"trimmed away", func(w *world) { w.produce("t", 5); noError(w.t, w.DeleteRecords("t", 0, 5)) }, 5},
		{"trimmed to the control record", func(w *world) {
			w.transact("t", 2, kgo.TryCommit)
			noError(w.t, w.DeleteRecords("t", 0, 2))
		}, 2},
		{"twenty control records", func(w *world) {
			w.produce("t", 600)
			w.transactAtOnce("t", 20)
		}, 620},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.create("t", 1, nil)
			c.fill(w)
			end, err := w.cluster.DataEnd(w.ctx, "t", 0)
			noError(t, err)
			wantSame(t, "end", c.want, end)
		})
	}
	w := newWorld(t)
	if _, err := w.cluster.DataEnd(w.ctx, "t", 0); err == nil {
		t.Error("a topic that isn't there has an end")
	}
}

func TestFirstDataErrors(t *testing.T) {
	w := newWorld(t)
	w.create("t", 1, nil)
	w.produce("t", 2)
	if _, _, err := w.cluster.FirstData(w.ctx, "t", 7, 0, 1); err == nil {
		t.Error("looked at a partition that isn't there")
	}
	w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition})
	if _, _, err := w.cluster.FirstData(w.ctx, "t", 0, 0, 2); !errors.Is(err, sarama.ErrNotLeaderForPartition) {
		t.Errorf("got %v", err)
	}
	offset, found, err := w.cluster.FirstData(w.ctx, "t", 0, 1, 2)
	if offset != 1 || !found || err != nil {
		t.Errorf("the next try: %d, %v, %v", offset, found, err)
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(w.ctx)
	cancel(stopped)
	if _, _, err := w.cluster.FirstData(ctx, "t", 0, 0, 2); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
}

// TestFirstDataOfHollowBatches: compaction leaves batches without records and offsets
// that lie in none.
func TestFirstDataOfHollowBatches(t *testing.T) {
	batch := func(first int64, last int32, deltas ...int64) *sarama.Records {
		b := &sarama.RecordBatch{Version: 2, FirstOffset: first, LastOffsetDelta: last}
		for _, d := range deltas {
			b.Records = append(b.Records, &sarama.Record{OffsetDelta: d})
		}
		return &sarama.Records{RecordBatch: b}
	}
	control := batch(20, 0, 0)
	control.RecordBatch.Control = true
	for _, c := range []struct {
		name   string
		from   int64
		sets   []*sarama.Records
		offset int64
		found  bool
		next   int64
	}{
		{"nothing", 5, nil, 0, false, 5},
		{"no batch", 5, []*sarama.Records{{}}, 0, false, 5},
		{"hollow", 5, []*sarama.Records{batch(5, 9)}, 0, false, 15},
		{"hollow, then data", 5, []*sarama.Records{batch(5, 9), batch(30, 0, 0)}, 30, true, 30},
		{"the record asked for is gone", 5, []*sarama.Records{batch(0, 9, 1, 4, 8)}, 8, true, 8},
		{"all from there on are gone", 5, []*sarama.Records{batch(0, 9, 1, 4)}, 0, false, 10},
		{"control, then data", 20, []*sarama.Records{control, batch(21, 0, 0)}, 21, true, 21},
		{"control", 20, []*sarama.Records{control}, 0, false, 21},
	} {
		t.Run(c.name, func(t *testing.T) {
			var offset int64
			next, more := recordsOf(&sarama.FetchResponseBlock{RecordsSet: c.sets}, c.from, 100, func(r Record) bool {
				offset = r.Offset
				return r.Control
			})
			if found := !more; found && offset != c.offset || found != c.found || !found && next != c.next {
				t.Fatalf("got %d, %v, %d, want %d, %v, %d", offset, !more, next, c.offset, c.found, c.next)
			}
		})
	}
}
