package source

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/processor/fold"
)

// Topic is the metadata topic as a source, and its events. It needs no fleet. Each
// reading takes in the topic as it is when it begins, from its first record: that costs
// about what a new fleet's start does, and memory for the rows that are selected in one
// metadata partition. A topic that has lost its beginning gives no rows, but a
// [BeheadedError]. An event that the table couldn't take for its size is not told from
// one that it took.
type Topic struct {
	// Cluster is the connection; it is closed with the source.
	*kafka.Cluster
	// Name and Partitions are the topic's.
	Name       string
	Partitions int32

	progress Progress
}

// OpenTopic connects to the cluster. A missing topic is [kafka.ErrNoTopic].
func OpenTopic(ctx context.Context, s kafka.Settings, topic string, progress Progress) (*Topic, error) {
	cluster, err := kafka.Connect(ctx, s)
	if err != nil {
		return nil, err
	}
	t, err := cluster.Topic(ctx, topic)
	if err != nil {
		_ = cluster.Close() // nothing is lost
		return nil, err
	}
	return &Topic{cluster, topic, t.Partitions, progress}, nil
}

// Event is a record of the metadata topic.
type Event struct {
	kafka.Record
	// Metadata is what it says, nil when it can't be decoded.
	Metadata api.RemoteLogMetadata
	// Err is why no row takes it, nil for an event that is folded.
	Err error
}

// Span is offsets of a metadata partition, from the first to the end, exclusive.
type Span struct{ From, End int64 }

// Now is where each of the metadata partitions ends now, from its beginning; without any
// named it is all of them.
func (t *Topic) Now(ctx context.Context, partitions ...int32) (map[int32]Span, error) {
	return t.spans(ctx, partitions, t.StartOffset)
}

// Since is Now from the first record at or after the time on.
func (t *Topic) Since(ctx context.Context, at time.Time, partitions ...int32) (map[int32]Span, error) {
	return t.spans(ctx, partitions, func(ctx context.Context, topic string, p int32) (int64, error) {
		return t.OffsetAt(ctx, topic, p, at)
	})
}

func (t *Topic) spans(ctx context.Context, partitions []int32, from func(context.Context, string, int32) (int64, error)) (map[int32]Span, error) {
	if len(partitions) == 0 {
		partitions = t.all()
	}
	spans := make(map[int32]Span, len(partitions))
	for _, p := range partitions {
		if p < 0 || p >= t.Partitions {
			return nil, &api.InvalidArgumentError{Field: "metadata partition", Reason: fmt.Sprintf("%d is not within 0 to %d", p, t.Partitions-1)}
		}
		start, err := from(ctx, t.Name, p)
		if err != nil {
			return nil, err
		}
		end, err := t.EndOffset(ctx, t.Name, p)
		if err != nil {
			return nil, err
		}
		spans[p] = Span{start, end}
	}
	return spans, nil
}

func (t *Topic) all() []int32 {
	all := make([]int32, t.Partitions)
	for p := range t.Partitions {
		all[p] = p
	}
	return all
}

// Whole is Now for reading rows from the events: it returns a [BeheadedError] unless the
// metadata partitions are there from their first record on.
func (t *Topic) Whole(ctx context.Context, partitions ...int32) (map[int32]Span, error) {
	spans, err := t.Now(ctx, partitions...)
	if err != nil {
		return nil, err
	}
	for _, p := range slices.Sorted(maps.Keys(spans)) {
		if start := spans[p].From; start > 0 {
			return nil, &BeheadedError{t.Name, p, start}
		}
	}
	return spans, nil
}

// BeheadedError says that a metadata partition has lost its first events, to retention or
// to somebody who deleted them. What is left doesn't make the rows.
type BeheadedError struct {
	Topic     string
	Partition int32
	// Start is the first offset that is still there.
	Start int64
}

// Error names the remedy.
func (e *BeheadedError) Error() string {
	return fmt.Sprintf("%s/%d begins at %d: the events before are gone, and without them the state can't be told from the topic; the table has it: ask a server (--server) or read a data folder (--offline)",
		e.Topic, e.Partition, e.Start)
}

// Events iterates over the records of the spans, by metadata partition and offset. An
// error is the last step.
func (t *Topic) Events(ctx context.Context, spans map[int32]Span) iter.Seq2[Event, error] {
	total, done := int64(0), int64(0)
	for _, s := range spans {
		total += s.End - s.From
	}
	return func(yield func(Event, error) bool) {
		for _, p := range slices.Sorted(maps.Keys(spans)) {
			span := spans[p]
			for r, err := range t.Records(ctx, t.Name, p, span.From, span.End) {
				if err != nil {
					yield(Event{}, err)
					return
				}
				if !yield(t.Decode(r), nil) {
					return
				}
				t.progress(done+r.Offset+1-span.From, total)
			}
			done += span.End - span.From
		}
		t.progress(total, total)
	}
}

// Decode reads a record of the topic.
func (t *Topic) Decode(r kafka.Record) Event {
	e := Event{Record: r}
	e.Metadata, e.Err = codec.DecodeRecord(r.Value)
	if e.Err == nil {
		if home := codec.MetadataPartition(e.Metadata.Partition(), t.Partitions); home != r.Partition {
			e.Err = fmt.Errorf("%s belongs on metadata partition %d of %d", e.Metadata.Partition(), home, t.Partitions)
		}
	}
	return e
}

// Covers implements [Source].
func (t *Topic) Covers(context.Context) (int, error) { return int(t.Partitions), nil }

// Rows implements [Source].
func (t *Topic) Rows(ctx context.Context, selected Selector) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		spans, err := t.Whole(ctx)
		if err != nil {
			yield(Row{}, err)
			return
		}
		at, rows := int32(-1), Folded{}
		for e, err := range t.Events(ctx, spans) {
			if err != nil {
				yield(Row{}, err)
				return
			}
			if e.Partition != at && !rows.yield(at, yield) {
				return
			}
			if e.Partition != at {
				at, rows = e.Partition, Folded{}
			}
			if e.Err == nil && selected.Matches(e.Metadata.Partition()) {
				rows.Add(e)
			}
		}
		if !rows.yield(at, yield) {
			return
		}
		if _, err := t.Whole(ctx); err != nil { // it may have been cut meanwhile
			yield(Row{}, err)
		}
	}
}

// Folded is rows by key, as far as events were added.
type Folded map[string]*codec.Row

// Add folds an event that has no Err, and returns what became of it.
func (f Folded) Add(e Event) codec.Outcome {
	key := codec.EventKey(e.Metadata)
	next, outcome := fold.Fold(f[key], e.Metadata, e.Offset)
	if next == nil {
		delete(f, key)
	} else {
		f[key] = next
	}
	return outcome
}

// InOrder iterates over the rows in the order of their keys.
func (f Folded) InOrder(yield func(*codec.Row) bool) {
	for _, key := range slices.Sorted(maps.Keys(f)) {
		if !yield(f[key]) {
			return
		}
	}
}

func (f Folded) yield(number int32, yield func(Row, error) bool) bool {
	for row := range f.InOrder {
		if !yield(Row{MetadataPartition: number, Row: *row}, nil) {
			return false
		}
	}
	return true
}
