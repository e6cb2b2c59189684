package check_test

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/processor/fold"
	"github.com/tieredlog/rlmm/views/check"
)

var (
	orders   = api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 1), Topic: "orders", Partition: 3}
	payments = api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 2), Topic: "payments"}
	// now is what ages are taken at, hourAgo an hour before.
	now     = time.UnixMilli(1_700_000_000_000)
	hourAgo = now.Add(-time.Hour).UnixMilli()
)

func id(tip api.TopicIdPartition, n uint64) api.RemoteLogSegmentID {
	return api.RemoteLogSegmentID{TopicIdPartition: tip, ID: api.UUIDFromBits(9, n)}
}

func epochs(pairs ...int64) api.LeaderEpochs {
	var all []api.EpochOffset
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, api.EpochOffset{LeaderEpoch: int32(pairs[i]), Offset: pairs[i+1]})
	}
	return api.NewLeaderEpochs(all...)
}

// table stands for a store: it folds events into encoded rows.
type table struct {
	rows   map[string]string
	folded map[string]*codec.Row
	offset int64
}

func newTable(events ...api.RemoteLogMetadata) *table {
	t := &table{rows: map[string]string{}, folded: map[string]*codec.Row{}}
	t.apply(events...)
	return t
}

func (t *table) apply(events ...api.RemoteLogMetadata) {
	for _, event := range events {
		key := codec.EventKey(event)
		row, _ := fold.Fold(t.folded[key], event, t.offset)
		t.offset++
		t.folded[key] = row
		if row == nil {
			delete(t.rows, key)
		} else {
			t.rows[key] = string(codec.EncodeRow(*row))
		}
	}
}

// plant puts a row where no event would.
func (t *table) plant(row codec.Row) {
	key := codec.SegmentKey(row.Segment.ID)
	if row.Kind == codec.RowPartition {
		key = codec.PartitionKey(row.Delete.TopicIdPartition)
	}
	t.rows[key] = string(codec.EncodeRow(row))
}

// added is a segment whose copy has begun.
func added(tip api.TopicIdPartition, n uint64, start, end int64, leaderEpochs api.LeaderEpochs) api.RemoteLogSegmentMetadata {
	return api.RemoteLogSegmentMetadata{
		ID: id(tip, n), StartOffset: start, EndOffset: end, EventTimestampMs: hourAgo,
		SegmentSizeInBytes: 100, LeaderEpochs: leaderEpochs,
	}
}

func moved(tip api.TopicIdPartition, n uint64, state api.RemoteLogSegmentState) api.RemoteLogMetadata {
	return api.RemoteLogSegmentMetadataUpdate{ID: id(tip, n), State: state, EventTimestampMs: hourAgo}
}

// copied is the events of a finished copy.
func copied(tip api.TopicIdPartition, n uint64, start, end int64, leaderEpochs api.LeaderEpochs) []api.RemoteLogMetadata {
	return []api.RemoteLogMetadata{added(tip, n, start, end, leaderEpochs), moved(tip, n, api.CopySegmentFinished)}
}

func deleted(tip api.TopicIdPartition) []api.RemoteLogMetadata {
	var events []api.RemoteLogMetadata
	for state := api.DeletePartitionMarked; state <= api.DeletePartitionFinished; state++ {
		events = append(events, api.RemotePartitionDeleteMetadata{TopicIdPartition: tip, State: state, EventTimestampMs: hourAgo})
	}
	return events
}

func join(parts ...[]api.RemoteLogMetadata) (all []api.RemoteLogMetadata) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// day lets an hour pass as young.
var day = check.Options{Now: now, OrphanAge: 24 * time.Hour}

func report(t *testing.T, rows map[string]string, o check.Options) check.Report {
	t.Helper()
	r, err := check.Rows(check.InOrder(rows), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// healthy is a log without gaps whose first segment is deleted, beside what comes and goes
// in a day, and a partition that was deleted as it should be.
func healthy() *table {
	return newTable(join(
		copied(orders, 1, 0, 99, epochs(0, 0)),
		copied(orders, 2, 100, 199, epochs(0, 100, 1, 150)),
		copied(orders, 3, 200, 299, epochs(1, 200, 2, 300)),
		copied(orders, 4, 300, 399, epochs(2, 300)),
		[]api.RemoteLogMetadata{
			moved(orders, 1, api.DeleteSegmentStarted), moved(orders, 1, api.DeleteSegmentFinished),
			added(orders, 5, 400, 499, epochs(2, 400)),
		},
		copied(payments, 6, 0, 99, epochs(0, 0)),
		[]api.RemoteLogMetadata{moved(payments, 6, api.DeleteSegmentStarted), moved(payments, 6, api.DeleteSegmentFinished)},
		deleted(payments),
	)...)
}

func TestHealthy(t *testing.T) {
	r := report(t, healthy().rows, day)
	const want = "7 rows, 2 partitions, 4 segments; nothing found"
	if got := r.String(); got != want || r.Faults() != nil {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := report(t, nil, day).String(); got != "0 rows, 0 partitions, 0 segments; nothing found" {
		t.Errorf("nothing: %s", got)
	}
}

// text is a report's findings with short names for its ids.
func text(r check.Report) string {
	var lines []string
	for _, f := range r.Findings {
		lines = append(lines, f.String())
	}
	short := strings.NewReplacer(
		codec.PartitionKey(orders), "ORDERS", codec.PartitionKey(payments), "PAYMENTS",
		id(orders, 1).ID.String(), "s1", id(orders, 2).ID.String(), "s2", id(orders, 3).ID.String(), "s3", id(orders, 4).ID.String(), "s4",
	)
	return short.Replace(strings.Join(lines, "\n"))
}

// TestPlanted plants each kind of finding.
func TestPlanted(t *testing.T) {
	finished := func(s api.RemoteLogSegmentMetadata) api.RemoteLogSegmentMetadata {
		s.State = api.CopySegmentFinished
		return s
	}
	one := added(orders, 1, 0, 99, epochs(0, 0))
	for _, c := range []struct {
		name    string
		table   *table
		plant   func(*table)
		options check.Options
		want    []string
	}{
		{
			name:  "gaps",
			table: newTable(join(copied(orders, 1, 0, 99, epochs(0, 0)), copied(orders, 2, 150, 199, epochs(0, 150)), copied(orders, 3, 201, 299, epochs(0, 201, 1, 250)), copied(orders, 4, 500, 599, epochs(1, 500)))...),
			want: []string{
				"gap ORDERS (orders): epoch 0: no finished segment holds 100 to 149",
				"gap ORDERS (orders): epoch 0: no finished segment holds 200 to 200",
				"gap ORDERS (orders): epoch 1: no finished segment holds 300 to 499",
			},
		},
		{
			name:  "a gap where a copy has not finished, and one where a segment is being deleted",
			table: newTable(join(copied(orders, 1, 0, 99, epochs(0, 0)), []api.RemoteLogMetadata{added(orders, 2, 100, 199, epochs(0, 100))}, copied(orders, 3, 200, 299, epochs(0, 200)), copied(orders, 4, 100, 199, epochs(0, 100)), []api.RemoteLogMetadata{moved(orders, 4, api.DeleteSegmentStarted)})...),
			want:  []string{"gap ORDERS (orders): epoch 0: no finished segment holds 100 to 199"},
		},
		{
			name:  "overlaps",
			table: newTable(join(copied(orders, 1, 0, 299, epochs(0, 0)), copied(orders, 2, 100, 199, epochs(0, 100)), copied(orders, 3, 250, 349, epochs(0, 250)))...),
			want: []string{
				"overlap ORDERS (orders): epoch 0: segments s1 and s2 both hold 100 to 199",
				"overlap ORDERS (orders): epoch 0: segments s1 and s3 both hold 250 to 299",
			},
		},
		{
			name:  "a copy that was tried again",
			table: newTable(join(copied(orders, 1, 0, 99, epochs(0, 0, 1, 50)), copied(orders, 2, 0, 99, epochs(0, 0, 1, 50)))...),
			want: []string{
				"overlap ORDERS (orders): epoch 0: segments s1 and s2 both hold 0 to 49",
				"overlap ORDERS (orders): epoch 1: segments s1 and s2 both hold 50 to 99",
			},
		},
		{
			name:  "the same offsets in different epochs are no overlap, an empty epoch is nothing",
			table: newTable(join(copied(orders, 1, 0, 99, epochs(0, 0, 1, 100)), copied(orders, 2, 50, 149, epochs(1, 50)), copied(orders, 3, 500, 599, epochs(0, 600, 2, 500)))...),
			want: []string{
				"epoch_order ORDERS (orders): epoch 2: segment s3 says that it begins at 500, and a lower one at 600",
				"epoch_order ORDERS (orders): epoch 0: segment s1 holds it up to 99, and segment s2 a higher one from 50",
			},
		},
		{
			name: "lineages that diverged",
			table: newTable(join(
				copied(orders, 1, 0, 99, epochs(0, 0)), copied(orders, 2, 100, 199, epochs(2, 100)), copied(orders, 3, 100, 149, epochs(1, 100)), copied(orders, 4, 200, 299, epochs(3, 200)),
			)...),
			want: []string{"epoch_order ORDERS (orders): epoch 1: segment s3 holds it up to 149, and segment s2 a higher one from 100"},
		},
		{
			name:    "young orphans",
			table:   newTable(added(orders, 1, 0, 99, epochs(0, 0)), added(orders, 2, 100, 199, epochs(0, 100)), moved(orders, 2, api.DeleteSegmentStarted)),
			options: check.Options{Now: now, OrphanAge: time.Hour + time.Millisecond},
		},
		{
			name:    "old orphans",
			table:   newTable(added(orders, 1, 0, 99, epochs(0, 0)), added(orders, 2, 100, 199, epochs(0, 100)), moved(orders, 2, api.DeleteSegmentStarted)),
			options: check.Options{Now: now, OrphanAge: time.Hour},
			want: []string{
				"orphan ORDERS/s1 (orders): segment s1: its copy began and never ended (last event 2023-11-14T21:13:20Z)",
				"orphan ORDERS/s2 (orders): segment s2: its deletion began and never ended (last event 2023-11-14T21:13:20Z)",
			},
		},
		{
			name:  "the deletion of a segment that was never added",
			table: newTable(moved(orders, 1, api.DeleteSegmentStarted)),
			want:  []string{"orphan ORDERS/s1 (orders): segment s1: its deletion began, and it was never added (last event 2023-11-14T21:13:20Z)"},
		},
		{
			name:  "left over from a deleted partition, without gaps",
			table: newTable(join(copied(orders, 1, 0, 99, epochs(0, 0)), copied(orders, 2, 500, 599, epochs(0, 500)), deleted(orders))...),
			want: []string{
				"orphan ORDERS/s1 (orders): segment s1: it is in COPY_SEGMENT_FINISHED, and its partition's deletion is finished (last event 2023-11-14T21:13:20Z)",
				"orphan ORDERS/s2 (orders): segment s2: it is in COPY_SEGMENT_FINISHED, and its partition's deletion is finished (last event 2023-11-14T21:13:20Z)",
			},
		},
		{
			name:    "in the store of another metadata partition",
			table:   newTable(join(copied(orders, 1, 0, 99, epochs(0, 0)), copied(payments, 2, 0, 99, epochs(0, 0)))...),
			options: check.Options{Now: now, OrphanAge: 24 * time.Hour, MetadataPartition: codec.MetadataPartition(orders, 50), MetadataPartitions: 50},
			want:    []string{"misplaced PAYMENTS/s2: lies in metadata partition 39, belongs in 30 of 50"},
		},
		{
			name: "partition after partition",
			table: newTable(join(
				copied(orders, 1, 0, 99, epochs(0, 0)), copied(orders, 2, 150, 199, epochs(0, 150)),
				copied(payments, 3, 0, 99, epochs(0, 0)), copied(payments, 4, 150, 199, epochs(0, 150)),
			)...),
			plant: func(t *table) {
				t.rows[codec.PartitionKey(orders)] = ""
				t.rows[codec.PartitionKey(payments)] = ""
			},
			want: []string{
				"row ORDERS: byte 0: version: needs 1 bytes, 0 are left",
				"gap ORDERS (orders): epoch 0: no finished segment holds 100 to 149",
				"row PAYMENTS: byte 0: version: needs 1 bytes, 0 are left",
				"gap PAYMENTS (payments): epoch 0: no finished segment holds 100 to 149",
			},
		},
		{
			name:  "bytes that are no row",
			table: newTable(added(orders, 1, 0, 99, epochs(0, 0))),
			plant: func(t *table) {
				t.rows[codec.SegmentKey(id(orders, 2))] = "\x01"
				t.rows[codec.SegmentKey(id(orders, 3))] = "\x09"
				t.rows["nonsense"] = "x"
				t.rows["!4"] = t.rows[codec.SegmentKey(id(orders, 1))]
			},
			want: []string{
				`row !4: byte 1: kind: a row of kind 1 doesn't belong under the key "!4"`,
				"row ORDERS/s2: byte 1: kind: needs 1 bytes, 0 are left",
				"row ORDERS/s3: row version 9 is newer than this reader knows (1): the fleet writes for newer releases; upgrade this one",
				`row nonsense: invalid argument: key: "nonsense" is not a key of the table`,
			},
		},
		{
			name:  "a segment under its partition's key",
			table: newTable(),
			plant: func(t *table) {
				t.rows[codec.PartitionKey(orders)] = string(codec.EncodeRow(codec.Row{Kind: codec.RowSegment, FinishedOffset: -1, Segment: one}))
			},
			want: []string{`row ORDERS: byte 1: kind: a row of kind 1 doesn't belong under the key "ORDERS"`},
		},
		{
			name:  "rows that no event makes",
			table: newTable(),
			plant: func(t *table) {
				gone := one
				gone.State = api.DeleteSegmentFinished
				two, three, four := added(orders, 2, 0, 99, epochs(0, 0)), added(orders, 3, 0, 99, epochs(0, 0)), added(orders, 4, 0, 99, epochs(0, 0))
				t.plant(codec.Row{Kind: codec.RowSegment, Offset: 5, FinishedOffset: -1, Segment: gone})
				t.plant(codec.Row{Kind: codec.RowSegment, Offset: 5, FinishedOffset: -1, Segment: finished(two)})
				t.plant(codec.Row{Kind: codec.RowSegment, Offset: 5, FinishedOffset: 3, Segment: three})
				t.plant(codec.Row{Kind: codec.RowHeadless, Offset: 5, Segment: finished(four)})
			},
			want: []string{
				"row ORDERS/s1: a row of kind 1 in state DELETE_SEGMENT_FINISHED",
				"row ORDERS/s2: in state COPY_SEGMENT_FINISHED, yet never finished",
				"row ORDERS/s3: in state COPY_SEGMENT_STARTED, yet finished at offset 3",
				"row ORDERS/s4: a row of kind 2 in state COPY_SEGMENT_FINISHED",
			},
		},
		{
			name:  "more rows that no event makes",
			table: newTable(),
			plant: func(t *table) {
				gone, two := one, finished(added(orders, 2, 0, 99, epochs(0, 0)))
				gone.State = api.DeleteSegmentFinished
				t.plant(codec.Row{Kind: codec.RowMarker, Offset: 5, FinishedOffset: 3, Segment: gone})
				t.plant(codec.Row{Kind: codec.RowSegment, Offset: 5, FinishedOffset: 6, Segment: two})
				t.plant(codec.Row{Kind: codec.RowPartition, Offset: -5, Delete: api.RemotePartitionDeleteMetadata{TopicIdPartition: orders}})
				none := added(orders, 3, 0, 99, epochs())
				t.plant(codec.Row{Kind: codec.RowSegment, Offset: 5, FinishedOffset: -1, Segment: none})
			},
			want: []string{
				"row ORDERS: changed last at offset -5",
				"row ORDERS/s1: the marker of a finished segment without a highest offset",
				"row ORDERS/s2: finished at offset 6, changed last at 5",
				"row ORDERS/s3: byte 27: leader epochs: there must be at least one",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.plant != nil {
				c.plant(c.table)
			}
			if c.options.Now.IsZero() {
				c.options = day
			}
			got := text(report(t, c.table.rows, c.options))
			if diff := cmp.Diff(strings.Join(c.want, "\n"), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// A finding says where it is, for programs too.
func TestFindingFields(t *testing.T) {
	rows := newTable(join(copied(orders, 1, 0, 99, epochs(0, 0)), copied(orders, 2, 50, 149, epochs(0, 50)), copied(orders, 3, 200, 299, epochs(0, 200)))...).rows
	rows[codec.SegmentKey(id(orders, 4))] = ""
	r := report(t, rows, day)
	s1, s2, s4 := id(orders, 1).ID, id(orders, 2).ID, id(orders, 4)
	nameless := orders
	nameless.Topic = ""
	want := []check.Finding{
		{Kind: check.Row, Key: codec.SegmentKey(s4), Partition: nameless, Segments: []api.UUID{s4.ID}, Message: r.Findings[0].Message},
		{Kind: check.Gap, Key: codec.PartitionKey(orders), Partition: orders, Span: &check.Span{LeaderEpoch: 0, First: 150, Last: 199}, Message: r.Findings[1].Message},
		{Kind: check.Overlap, Key: codec.PartitionKey(orders), Partition: orders, Segments: []api.UUID{s1, s2}, Span: &check.Span{LeaderEpoch: 0, First: 50, Last: 99}, Message: r.Findings[2].Message},
	}
	if diff := cmp.Diff(want, r.Findings); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := r.Summary(); got != "4 rows, 1 partitions, 3 segments; 3 found: 1 row 1 gap 1 overlap" {
		t.Errorf("summary: %s", got)
	}
	err := r.Faults()
	if err == nil || err.Error() != r.Findings[0].String() {
		t.Errorf("faults: %v", err)
	}
	r.Add(r)
	if len(r.Findings) != 6 || r.Rows != 8 || r.Partitions != 2 || r.Segments != 6 {
		t.Errorf("added to itself: %s", r.Summary())
	}
}

func TestRowsRefusesAnotherOrderAndFailsWithTheIteration(t *testing.T) {
	broken := errors.New("broken")
	each := func(err error, keys ...string) iter.Seq2[check.StoredRow, error] {
		return func(yield func(check.StoredRow, error) bool) {
			for _, key := range keys {
				if !yield(check.StoredRow{Key: []byte(key)}, nil) {
					return
				}
			}
			if err != nil {
				yield(check.StoredRow{}, err)
			}
		}
	}
	if _, err := check.Rows(each(broken, "a", "b"), day); !errors.Is(err, broken) {
		t.Errorf("broken: %v", err)
	}
	for _, keys := range [][]string{{"b", "a"}, {"a", "a"}} {
		if _, err := check.Rows(each(nil, keys...), day); err == nil || !strings.Contains(err.Error(), "order") {
			t.Errorf("%v: %v", keys, err)
		}
	}
}
