package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/tieredlog/rlmm/api"
)

// Client is a [api.RemoteLogMetadataManager], and a [api.SegmentIterator], that asks a
// server of [NewHandler]. Its methods return what the server's manager returned: the
// same values, positions and typed errors. Errors below those (a NotReadyError's Err)
// keep their type when they are the contract's or a context's, else their text.
//
// When the server can't be reached, the context ends or the answer is not of this API,
// the error is an [api.IOError]; of a mutation that may have reached the server it is an
// [api.UnacknowledgedError], and to try again is safe. An answer of a status that the contract has
// no error for (403 where mutations are off) is an [Error] within it, found with
// [errors.As].
//
// A client limits no call by itself: give a context with a deadline, longer than the
// server's wait (120 s) for mutations. It is safe for concurrent use.
type Client struct {
	base *url.URL
	http *http.Client
}

var _ api.RemoteLogMetadataManager = (*Client)(nil)

// NewClient returns a client of the server at base, http://127.0.0.1:8083 for one; a
// path in it goes before the API's. A nil httpClient is [http.DefaultClient]. A base
// that isn't an http or https URL is an [api.InvalidArgumentError].
func NewClient(base string, httpClient *http.Client) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &api.InvalidArgumentError{Field: "url", Reason: fmt.Sprintf("%.200q is not an http URL", base)}
	}
	if httpClient == nil {
		httpClient = http.DefaultClient
	}
	return &Client{base: u, http: httpClient}, nil
}

// AddRemoteLogSegmentMetadata is the contract's: POST …/segments.
func (c *Client) AddRemoteLogSegmentMetadata(ctx context.Context, metadata api.RemoteLogSegmentMetadata) (api.Position, error) {
	return c.mutate(ctx, http.MethodPost, metadata, NewSegment(metadata), "segments")
}

// UpdateRemoteLogSegmentMetadata is the contract's: PATCH …/segments/{segmentId}.
func (c *Client) UpdateRemoteLogSegmentMetadata(ctx context.Context, update api.RemoteLogSegmentMetadataUpdate) (api.Position, error) {
	return c.mutate(ctx, http.MethodPatch, update, NewSegmentUpdate(update), "segments", update.ID.ID.String())
}

// PutRemotePartitionDeleteMetadata is the contract's: PUT …/delete-state.
func (c *Client) PutRemotePartitionDeleteMetadata(ctx context.Context, metadata api.RemotePartitionDeleteMetadata) (api.Position, error) {
	return c.mutate(ctx, http.MethodPut, metadata, NewPartitionDelete(metadata), "delete-state")
}

// mutate sends an event, which the server would refuse if it weren't valid.
func (c *Client) mutate(ctx context.Context, method string, event api.RemoteLogMetadata, body any, path ...string) (api.Position, error) {
	if err := event.Validate(); err != nil {
		return api.NotPublished, err
	}
	to := call{method: method, url: c.partitionURL(event.Partition(), nil, path...), body: body}
	if ctx.Err() != nil {
		return api.NotPublished, to.failed(context.Cause(ctx))
	}
	pos, refusal, err := do(ctx, c, to, members(takePosition))
	switch {
	case err != nil:
		return api.NotPublished, unanswered(err)
	case refusal != nil:
		return refusal.position(), to.refused(refusal)
	}
	return pos, nil
}

// RemoteLogSegmentMetadata is the contract's: GET …/segment.
func (c *Client) RemoteLogSegmentMetadata(ctx context.Context, tip api.TopicIdPartition, leaderEpoch int32, offset int64) (api.RemoteLogSegmentMetadata, bool, error) {
	return c.segment(ctx, c.partitionURL(tip, epochOffset(leaderEpoch, offset), "segment"))
}

// NextSegmentWithTxnIndex is the contract's: GET …/next-txn-segment.
func (c *Client) NextSegmentWithTxnIndex(ctx context.Context, tip api.TopicIdPartition, leaderEpoch int32, offset int64) (api.RemoteLogSegmentMetadata, bool, error) {
	return c.segment(ctx, c.partitionURL(tip, epochOffset(leaderEpoch, offset), "next-txn-segment"))
}

func (c *Client) segment(ctx context.Context, from *url.URL) (api.RemoteLogSegmentMetadata, bool, error) {
	s, found, err := find(ctx, c, from, readSegment)
	if !found {
		return api.RemoteLogSegmentMetadata{}, false, err
	}
	return s.Metadata(), true, nil
}

// HighestOffsetForEpoch is the contract's: GET …/highest-offset.
func (c *Client) HighestOffsetForEpoch(ctx context.Context, tip api.TopicIdPartition, leaderEpoch int32) (int64, bool, error) {
	return find(ctx, c, c.partitionURL(tip, epoch(leaderEpoch), "highest-offset"), member[int64]("highestOffset"))
}

// RemoteLogSize is the contract's: GET …/size.
func (c *Client) RemoteLogSize(ctx context.Context, tip api.TopicIdPartition, leaderEpoch int32) (int64, error) {
	return get(ctx, c, c.partitionURL(tip, epoch(leaderEpoch), "size"), member[int64]("bytes"))
}

// CaughtUp is the contract's: GET …/caught-up.
func (c *Client) CaughtUp(ctx context.Context, tip api.TopicIdPartition) (bool, error) {
	return get(ctx, c, c.partitionURL(tip, nil, "caught-up"), member[bool]("caughtUp"))
}

// IsReady is the contract's. It tries a read, the size of epoch 0, and is false when
// that fails for whatever reason.
func (c *Client) IsReady(ctx context.Context, tip api.TopicIdPartition) bool {
	_, err := c.RemoteLogSize(ctx, tip, 0)
	return err == nil
}

// Partitions returns the partitions that the server's assignment covers, in its order:
// GET /v1/partitions.
func (c *Client) Partitions(ctx context.Context) ([]Partition, error) {
	return get(ctx, c, c.base.JoinPath("v1", "partitions"), member[[]Partition]("partitions"))
}

// Ready returns nil when the server is ready, else what isn't, joined: GET /readyz.
func (c *Client) Ready(ctx context.Context) error {
	to := call{method: http.MethodGet, url: c.base.JoinPath("readyz")}
	_, refusal, err := do(ctx, c, to, member[string]("status"))
	if refusal == nil {
		return err
	}
	if len(refusal.Errors) == 0 {
		return to.typed(refusal)
	}
	return to.each(refusal)
}
