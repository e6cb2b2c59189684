package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/tieredlog/rlmm/api"
)

// maxErrorBytes is how much of an answer that isn't 2xx is read. The largest carries a
// known segment with its custom metadata.
const maxErrorBytes = 4 << 20

// call is a request of the client.
type call struct {
	method string
	url    *url.URL
	// body is sent as JSON; nil is none.
	body any
}

// get reads what take finds in the answer.
func get[T any](ctx context.Context, c *Client, from *url.URL, take func(*object) T) (T, error) {
	to := call{method: http.MethodGet, url: from}
	v, refusal, err := do(ctx, c, to, take)
	if refusal != nil {
		err = to.typed(refusal)
	}
	return v, err
}

// find is get of something that may not be there.
func find[T any](ctx context.Context, c *Client, from *url.URL, take func(*object) T) (T, bool, error) {
	v, err := get(ctx, c, from, take)
	if e, ok := errors.AsType[*Error](err); ok && e.Reason == reasonNoSegment {
		return v, false, nil
	}
	return v, err == nil, err
}

// do sends a request and reads what take finds in a 2xx answer. Any other answer is the
// refusal; the error says that there was no answer of this API.
func do[T any](ctx context.Context, c *Client, to call, take func(*object) T) (v T, refusal *Error, err error) {
	request, err := to.request(ctx)
	if err != nil {
		return v, nil, to.failed(err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return v, nil, to.failed(err)
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return v, readRefusal(response), nil
	}
	v, err = readAnswer(response.Body, take)
	if err != nil {
		err = to.failed(err)
	}
	return v, nil, err
}

func (to call) request(ctx context.Context) (*http.Request, error) {
	var body bytes.Buffer
	if to.body != nil {
		if err := newEncoder(&body).Encode(to.body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, to.method, to.url.String(), &body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if to.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

func readAnswer[T any](body io.Reader, take func(*object) T) (T, error) {
	data, err := io.ReadAll(body)
	if err != nil {
		var zero T
		return zero, err
	}
	v, err := read(data, false, take)
	if err != nil {
		// As text: the server's answer is bad, no argument of the caller's.
		err = errors.New("bad answer: " + err.Error())
	}
	return v, err
}

// readRefusal reads an answer that isn't 2xx; what isn't of this API keeps its status.
func readRefusal(response *http.Response) *Error {
	var e Error
	data, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	if err != nil || json.Unmarshal(data, &e) != nil || e.Reason == "" {
		return &Error{Code: response.StatusCode, Message: http.StatusText(response.StatusCode)}
	}
	return &e
}

// typed is the error that a refusal stands for.
func (to call) typed(refusal *Error) error {
	if err := refusal.contractError(); err != nil {
		return err
	}
	return to.failed(refusal)
}

func (to call) failed(err error) error {
	// It says method and URL itself, which are in Op already.
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return &api.IOError{Op: to.method + " " + to.url.Redacted(), Err: err}
}

// member takes one member, which must be there.
func member[T any](name string) func(*object) T {
	return func(o *object) T { return required[T](o, name) }
}

func (c *Client) partitionURL(tip api.TopicIdPartition, query url.Values, path ...string) *url.URL {
	partition := strconv.FormatInt(int64(tip.Partition), 10)
	u := c.base.JoinPath("v1", "partitions", tip.TopicID.String(), partition).JoinPath(path...)
	u.RawQuery = query.Encode()
	return u
}

func epoch(n int32) url.Values {
	return url.Values{paramEpoch: {strconv.FormatInt(int64(n), 10)}}
}

func epochOffset(n int32, offset int64) url.Values {
	q := epoch(n)
	q.Set(paramOffset, strconv.FormatInt(offset, 10))
	return q
}
