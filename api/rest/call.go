package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
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
	// accept is the type of the answer, JSON when it is empty.
	accept string
}

// get reads an answer.
func get[T any](ctx context.Context, c *Client, from *url.URL, decode func([]byte) (T, error)) (T, error) {
	to := call{method: http.MethodGet, url: from}
	v, refusal, err := do(ctx, c, to, decode)
	if refusal != nil {
		err = to.typed(refusal)
	}
	return v, err
}

// find is get of something that may not be there.
func find[T any](ctx context.Context, c *Client, from *url.URL, decode func([]byte) (T, error)) (T, bool, error) {
	v, err := get(ctx, c, from, decode)
	if e, ok := errors.AsType[*Error](err); ok && e.Reason == reasonNoSegment {
		return v, false, nil
	}
	return v, err == nil, err
}

// do sends a request and reads a 2xx answer. Any other answer is the refusal; the error
// says that there was no answer of this API.
func do[T any](ctx context.Context, c *Client, to call, decode func([]byte) (T, error)) (v T, refusal *Error, err error) {
	response, refusal, err := c.open(ctx, to)
	if refusal != nil || err != nil {
		return v, refusal, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err == nil {
		v, err = decode(data)
		err = badAnswer(err)
	}
	return v, nil, to.failed(err)
}

// open sends a request and returns a 2xx answer, whose body the caller closes.
func (c *Client) open(ctx context.Context, to call) (answer *http.Response, refusal *Error, err error) {
	request, err := to.request(ctx)
	if err != nil {
		return nil, nil, to.failed(err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, to.failed(err)
	}
	noteFreshness(ctx, response.Header)
	if response.StatusCode >= 200 && response.StatusCode <= 299 {
		return response, nil, nil
	}
	defer response.Body.Close()
	return nil, readRefusal(response), nil
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
	request.Header.Set("Accept", cmp.Or(to.accept, typeJSON))
	if to.body != nil {
		request.Header.Set("Content-Type", typeJSON)
	}
	return request, nil
}

// badAnswer keeps the text only: the server's answer is bad, no argument of the
// caller's.
func badAnswer(err error) error {
	if err == nil {
		return nil
	}
	return errors.New("bad answer: " + err.Error())
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
	err := refusal.contractError()
	switch {
	case err == nil:
		return to.failed(refusal)
	case len(refusal.Errors) > 0:
		return fmt.Errorf("%w: %w", err, to.each(refusal))
	}
	return err
}

// each joins what a refusal lists.
func (to call) each(refusal *Error) error {
	all := make([]error, len(refusal.Errors))
	for i, one := range refusal.Errors {
		all[i] = to.typed(one)
	}
	return errors.Join(all...)
}

// harmless are the refusals, beside the contract's, of a server that has done nothing.
var harmless = []string{
	reasonMutationsOff, reasonControlOff, reasonCrossOrigin, reasonUnauthorized, reasonForbidden, reasonCredentials, reasonNotFound, reasonMethodNotAllowed, reasonNotAcceptable,
	reasonCanceled, reasonDeadlineExceeded,
}

// refused is typed for a mutation, of which a proxy's answer, say, tells nothing.
func (to call) refused(refusal *Error) error {
	err := to.typed(refusal)
	if refusal.contractError() == nil && !slices.Contains(harmless, refusal.Reason) {
		return unanswered(err)
	}
	return err
}

// unanswered is the error of a mutation without an answer of this API: unless no
// connection came about, the server may have published its event.
func unanswered(err error) error {
	failed, ok := errors.AsType[*api.IOError](err)
	dial, dialed := errors.AsType[*net.OpError](err)
	if !ok || dialed && dial.Op == "dial" {
		return err
	}
	return &api.UnacknowledgedError{Op: failed.Op, Err: failed.Err}
}

// failed is the error of a call without an answer of this API; nil stays nil.
func (to call) failed(err error) error {
	if err == nil {
		return nil
	}
	// It says method and URL itself, which are in Op already.
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return &api.IOError{Op: to.method + " " + to.url.Redacted(), Err: err}
}

// member reads one member, which must be there.
func member[T any](name string) func([]byte) (T, error) {
	return members(func(o *object) T { return required[T](o, name) })
}

// members reads what take finds in an object.
func members[T any](take func(*object) T) func([]byte) (T, error) {
	return func(data []byte) (T, error) { return read(data, false, take) }
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
