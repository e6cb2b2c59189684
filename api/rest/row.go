package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/tieredlog/rlmm/api"
)

// RowKind says what a [Row] holds.
type RowKind string

// The kinds of rows.
const (
	// RowSegment is a segment that isn't deleted.
	RowSegment RowKind = "segment"
	// RowHeadless is a deletion that began of a segment that was never added.
	RowHeadless RowKind = "headless"
	// RowMarker is what a finished deletion leaves of a segment.
	RowMarker RowKind = "marker"
	// RowPartitionDelete is how far a partition's deletion is.
	RowPartitionDelete RowKind = "partitionDelete"
)

// Row is a row of the table, for tools that need more than the contract tells: a
// [Segment] (kind segment), a [SegmentUpdate] (headless, marker) or a [PartitionDelete],
// with the members of the fields here before it.
type Row struct {
	Kind RowKind
	// MetadataPartition and Offset are where the last event that changed the row lies. Of
	// a negative one the member is left out: it isn't known.
	MetadataPartition int32
	Offset            int64
	// FinishedOffset is the offset of the event that first finished the segment's copy;
	// negative, and left out, when none did.
	FinishedOffset int64
	// FinishedOrder stands for FinishedOffset where offsets mean nothing, in an export:
	// the segments of a user partition that were finished are counted from 1 in that
	// order. 0, and left out, elsewhere.
	FinishedOrder int64
	// HighestOffsets is, by epoch, how far earlier lives of the segment id reached, and of
	// a marker the one that ended too.
	HighestOffsets api.LeaderEpochs
	// Segment is what there is of a segment: of a headless row and a marker only ID,
	// BrokerID, EventTimestampMs, CustomMetadata and State.
	Segment api.RemoteLogSegmentMetadata
	// Delete is of kind partitionDelete only.
	Delete api.RemotePartitionDeleteMetadata
}

// Partition is the user partition that the row is about.
func (r Row) Partition() api.TopicIdPartition {
	if r.Kind == RowPartitionDelete {
		return r.Delete.TopicIdPartition
	}
	return r.Segment.ID.TopicIdPartition
}

type rowHead struct {
	Kind              RowKind       `json:"kind"`
	MetadataPartition *int32        `json:"metadataPartition,omitempty"`
	Offset            *int64        `json:"offset,omitempty"`
	FinishedOffset    *int64        `json:"finishedOffset,omitempty"`
	FinishedOrder     int64         `json:"finishedOrder,omitempty"`
	HighestOffsets    []LeaderEpoch `json:"highestOffsets,omitempty"`
}

// MarshalJSON writes the row. An unknown kind is an error.
func (r Row) MarshalJSON() ([]byte, error) {
	head := rowHead{
		Kind: r.Kind, MetadataPartition: known(r.MetadataPartition), Offset: known(r.Offset), FinishedOffset: known(r.FinishedOffset),
		FinishedOrder: r.FinishedOrder, HighestOffsets: epochList(r.HighestOffsets),
	}
	switch r.Kind {
	case RowSegment:
		return json.Marshal(struct {
			rowHead
			plainSegment
		}{head, plainSegment(NewSegment(r.Segment))})
	case RowHeadless, RowMarker:
		return json.Marshal(struct {
			rowHead
			plainUpdate
		}{head, plainUpdate(NewSegmentUpdate(updateOf(r.Segment)))})
	case RowPartitionDelete:
		return json.Marshal(struct {
			rowHead
			plainDelete
		}{head, plainDelete(NewPartitionDelete(r.Delete))})
	}
	return nil, fmt.Errorf("%q is not a kind of row", r.Kind)
}

// known is nil for a number that stands for none.
func known[T int32 | int64](n T) *T {
	if n < 0 {
		return nil
	}
	return &n
}

func updateOf(m api.RemoteLogSegmentMetadata) api.RemoteLogSegmentMetadataUpdate {
	return api.RemoteLogSegmentMetadataUpdate{
		ID: m.ID, EventTimestampMs: m.EventTimestampMs, CustomMetadata: m.CustomMetadata, State: m.State, BrokerID: m.BrokerID,
	}
}

// UnmarshalJSON reads a row as [Segment.UnmarshalJSON] reads a segment.
func (r *Row) UnmarshalJSON(data []byte) error { return readInto(r, data, takeRow) }

func takeRow(o *object) Row {
	r := Row{
		Kind: required[RowKind](o, "kind"), MetadataPartition: knownOr(o, "metadataPartition", int32(-1)),
		Offset: knownOr(o, "offset", int64(-1)), FinishedOffset: knownOr(o, "finishedOffset", int64(-1)),
		FinishedOrder: orZero[int64](o, "finishedOrder"), HighestOffsets: takeHighest(o),
	}
	tip := takePartition(o)
	switch r.Kind {
	case RowSegment:
		r.Segment = takeSegment(o, tip).Metadata()
	case RowHeadless, RowMarker:
		u := takeUpdate(o, tip, required[api.UUID](o, "segmentId")).Metadata()
		r.Segment = api.RemoteLogSegmentMetadata{
			ID: u.ID, EventTimestampMs: u.EventTimestampMs, CustomMetadata: u.CustomMetadata, State: u.State, BrokerID: u.BrokerID,
		}
	case RowPartitionDelete:
		r.Delete = takeDelete(o, tip).Metadata()
	default:
		o.fail("kind", fmt.Sprintf("%.40q is not a kind of row", string(r.Kind)))
	}
	return r
}

func knownOr[T any](o *object, name string, unknown T) T {
	if v, ok := optional[T](o, name); ok {
		return v
	}
	return unknown
}

func takeHighest(o *object) api.LeaderEpochs {
	list := orZero[[]LeaderEpoch](o, "highestOffsets")
	entries := make([]api.EpochOffset, len(list))
	for i, e := range list {
		entries[i] = api.EpochOffset(e)
	}
	return api.NewLeaderEpochs(entries...)
}

// RowFilter chooses among rows; the zero value takes all.
type RowFilter struct {
	// Topic is a topic's name or its id, in either text; empty is any.
	Topic string
	// Partition is nil for any.
	Partition *int32
}

// Matches tells whether rows of the partition are chosen.
func (f RowFilter) Matches(tip api.TopicIdPartition) bool {
	if f.Partition != nil && *f.Partition != tip.Partition {
		return false
	}
	if f.Topic == "" || f.Topic == tip.Topic {
		return true
	}
	id, err := api.ParseUUID(f.Topic)
	return err == nil && id == tip.TopicID
}

// rows answers GET /v1/rows.
func (h *handler) rows(r *http.Request) (any, error) {
	p := readParams(r, nil, []string{paramTopic, paramPartition})
	filter := RowFilter{Topic: p.values.Get(paramTopic)}
	if p.values.Has(paramPartition) {
		n := int32(p.integer(paramPartition, 32))
		filter.Partition = &n
	}
	if p.err != nil {
		return nil, p.err
	}
	lines, err := acceptsLines(r)
	if err != nil {
		return nil, err
	}
	answer := streamOf("rows", h.Rows(r.Context(), filter), asIs[Row])
	answer.lines = lines
	return answer, nil
}

// Rows iterates over the rows of the server's metadata partitions, each in the order of
// keys: GET /v1/rows as NDJSON. An error is the last step.
func (c *Client) Rows(ctx context.Context, filter RowFilter) iter.Seq2[Row, error] {
	to := call{method: http.MethodGet, url: c.base.JoinPath("v1", "rows"), accept: typeLines}
	to.url.RawQuery = filter.query().Encode()
	return func(yield func(Row, error) bool) {
		answer, err := c.openLines(ctx, to)
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer answer.Close()
		readLines(answer, readRow, func(r Row, err error) bool { return yield(r, to.failed(err)) })
	}
}

func (f RowFilter) query() url.Values {
	q := url.Values{}
	if f.Topic != "" {
		q.Set(paramTopic, f.Topic)
	}
	if f.Partition != nil {
		q.Set(paramPartition, strconv.FormatInt(int64(*f.Partition), 10))
	}
	return q
}

func readRow(data []byte) (r Row, err error) {
	err = r.UnmarshalJSON(data)
	return r, err
}
