package rest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"

	"github.com/tieredlog/rlmm/api"
)

var _ api.SegmentIterator = (*Client)(nil)

// Segments is [api.SegmentIterator]'s: GET …/segments as NDJSON, a request for each
// range. Segments are read as they come and none is kept. An answer that is cut off, by
// the server too, ends with an [api.IOError]; so may a loop that takes longer over what
// is on its way than the server's write timeout. To stop early costs the connection.
func (c *Client) Segments(ctx context.Context, tip api.TopicIdPartition, after *api.SegmentCursor) iter.Seq2[api.RemoteLogSegmentMetadata, error] {
	return c.iterate(ctx, tip, url.Values{}, after)
}

// SegmentsByEpoch is [Client.Segments] for GET …/segments?epoch=E.
func (c *Client) SegmentsByEpoch(ctx context.Context, tip api.TopicIdPartition, leaderEpoch int32, after *api.SegmentCursor) iter.Seq2[api.RemoteLogSegmentMetadata, error] {
	return c.iterate(ctx, tip, epoch(leaderEpoch), after)
}

// ListRemoteLogSegments is the contract's: all of [Client.Segments].
func (c *Client) ListRemoteLogSegments(ctx context.Context, tip api.TopicIdPartition) ([]api.RemoteLogSegmentMetadata, error) {
	return collect(c.Segments(ctx, tip, nil))
}

// ListRemoteLogSegmentsByEpoch is the contract's: all of [Client.SegmentsByEpoch].
func (c *Client) ListRemoteLogSegmentsByEpoch(ctx context.Context, tip api.TopicIdPartition, leaderEpoch int32) ([]api.RemoteLogSegmentMetadata, error) {
	return collect(c.SegmentsByEpoch(ctx, tip, leaderEpoch, nil))
}

func collect(segments segmentSteps) ([]api.RemoteLogSegmentMetadata, error) {
	all := []api.RemoteLogSegmentMetadata{}
	for s, err := range segments {
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (c *Client) iterate(ctx context.Context, tip api.TopicIdPartition, q url.Values, after *api.SegmentCursor) segmentSteps {
	if after != nil {
		q.Set(paramPageToken, pageToken(tip, *after))
	}
	to := call{method: http.MethodGet, url: c.partitionURL(tip, q, "segments"), accept: typeLines}
	return func(yield func(api.RemoteLogSegmentMetadata, error) bool) {
		answer, err := c.openLines(ctx, to)
		if err != nil {
			yield(api.RemoteLogSegmentMetadata{}, err)
			return
		}
		defer answer.Close()
		readLines(answer, readSegment, func(s Segment, err error) bool { return yield(s.Metadata(), to.failed(err)) })
	}
}

// openLines minds the type of the answer, since an empty body of another one is no empty
// list, and that its end can be told from a cut.
func (c *Client) openLines(ctx context.Context, to call) (io.ReadCloser, error) {
	response, refusal, err := c.open(ctx, to)
	switch {
	case err != nil:
		return nil, err
	case refusal != nil:
		return nil, to.typed(refusal)
	}
	if err := checkLines(response); err != nil {
		_ = response.Body.Close()
		return nil, to.failed(badAnswer(err))
	}
	return response.Body, nil
}

func checkLines(response *http.Response) error {
	given := response.Header.Get("Content-Type")
	if mediaType, _, _ := mime.ParseMediaType(given); mediaType != typeLines {
		return fmt.Errorf("it is %.60q, not %s", given, typeLines)
	}
	hasEnd := response.ContentLength >= 0 || len(response.TransferEncoding) > 0 || response.Uncompressed
	if response.ProtoMajor == 1 && !hasEnd {
		return errors.New("it has no end but its connection's")
	}
	return nil
}

// readLines reads a value from each line.
func readLines[T any](body io.Reader, read func([]byte) (T, error), yield func(T, error) bool) {
	lines := bufio.NewReaderSize(body, 32<<10)
	var line []byte
	for {
		var err error
		if line, err = readLine(lines, line[:0]); errors.Is(err, io.EOF) {
			return
		}
		var v T
		if err == nil {
			v, err = read(line)
			err = badAnswer(err)
		}
		if !yield(v, err) || err != nil {
			return
		}
	}
}

func readSegment(data []byte) (s Segment, err error) {
	err = s.UnmarshalJSON(data)
	return s, err
}

// readLine appends the next line to the buffer, however long it is. After the last it is
// [io.EOF]; a line without an end is cut off.
func readLine(lines *bufio.Reader, buffer []byte) ([]byte, error) {
	for {
		part, err := lines.ReadSlice('\n')
		buffer = append(buffer, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(buffer) > 0:
			return buffer, io.ErrUnexpectedEOF
		default:
			return buffer, err
		}
	}
}
