package source

import (
	"context"
	"fmt"
	"time"

	"github.com/lovoo/goka"
	"golang.org/x/sync/errgroup"

	"github.com/tieredlog/rlmm/internal/table"
)

// FleetPartition is how far the fleet is on a metadata partition, as the table itself tells.
type FleetPartition struct {
	MetadataPartition int32
	// Applied is the greatest offset that the table answers; −1 is none.
	Applied int64
	// End is the metadata partition's end, read at Seen, before Applied was.
	End  int64
	Seen time.Time
	// Behind is whether a data record below End isn't applied: offsets of control records,
	// and those that retention took, are no lag that a fleet could make up for.
	Behind bool
}

// maxAsked is how many metadata partitions are asked for at a time.
const maxAsked = 8

// Fleet asks Kafka how far the fleet is that writes the table. Of the table it reads the
// tail only, and of the metadata topic what lies behind it.
func (t *Topic) Fleet(ctx context.Context, tableName string) ([]FleetPartition, error) {
	if _, err := t.Topic(ctx, tableName); err != nil {
		return nil, fmt.Errorf("%w (a processor creates it)", err)
	}
	seen := time.Now()
	ends, err := t.EndOffsets(ctx, t.Name, t.all())
	if err != nil {
		return nil, err
	}
	fleet := make([]FleetPartition, t.Partitions)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxAsked)
	for p := range t.Partitions {
		group.Go(func() (err error) {
			fleet[p], err = t.fleetOn(ctx, tableName, FleetPartition{MetadataPartition: p, End: ends[p], Seen: seen})
			return err
		})
	}
	return fleet, group.Wait()
}

func (t *Topic) fleetOn(ctx context.Context, tableName string, f FleetPartition) (FleetPartition, error) {
	var err error
	if f.Applied, err = t.answered(ctx, tableName, f.MetadataPartition); err != nil {
		return f, err
	}
	if f.Applied < f.End-1 {
		_, f.Behind, err = t.FirstData(ctx, t.Name, f.MetadataPartition, f.Applied+1, f.End)
	}
	return f, err
}

// firstTail is how many offsets of the table are looked at first.
const firstTail = 16

// answered is the input offset that the table's last answer, or position, names. What has
// none comes between: fences, purges.
func (t *Topic) answered(ctx context.Context, tableName string, partition int32) (int64, error) {
	start, err := t.StartOffset(ctx, tableName, partition)
	if err != nil {
		return -1, err
	}
	end, err := t.EndOffset(ctx, tableName, partition)
	if err != nil {
		return -1, err
	}
	for tail := int64(firstTail); ; tail *= 8 {
		from := max(start, end-tail)
		applied, err := t.lastAnswer(ctx, tableName, partition, from, end)
		if err != nil || applied >= 0 || from == start {
			return applied, err
		}
	}
}

func (t *Topic) lastAnswer(ctx context.Context, tableName string, partition int32, from, end int64) (int64, error) {
	applied := int64(-1)
	for r, err := range t.Records(ctx, tableName, partition, from, end) {
		if err != nil {
			return -1, err
		}
		row, err := table.Parse(string(r.Key), r.Value, goka.HeadersFromSarama(r.Headers), time.Time{})
		if err == nil && (row.Kind == table.Answer || row.Kind == table.Progress) {
			applied = max(applied, row.Source)
		}
	}
	return applied, nil
}
