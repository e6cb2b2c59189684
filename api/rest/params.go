package rest

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/tieredlog/rlmm/api"
)

const (
	paramEpoch     = "epoch"
	paramOffset    = "offset"
	paramState     = "state"
	paramLimit     = "limit"
	paramPageToken = "page_token"
	paramTopic     = "topic"
	paramPartition = "partition"
)

// query is the path and the parameters of a read about a partition.
type query struct {
	tip      api.TopicIdPartition
	epoch    int32
	hasEpoch bool
	offset   int64
}

// readQuery reads the partition of the path and the parameters. Required ones must be
// there, no others than the named may, and none twice. The parameters are for what a
// query doesn't hold.
func readQuery(r *http.Request, required, optional []string) (query, *params, error) {
	tip, err := pathPartition(r)
	if err != nil {
		return query{}, nil, err
	}
	p := readParams(r, required, optional)
	q := query{tip: tip, hasEpoch: p.values.Has(paramEpoch)}
	q.epoch = int32(p.integer(paramEpoch, 32))
	q.offset = p.integer(paramOffset, 64)
	if q.offset < 0 {
		p.fail(paramOffset, fmt.Sprintf("must not be negative: %d", q.offset))
	}
	return q, p, p.err
}

// pathPartition reads {topicId}/{partition}.
func pathPartition(r *http.Request) (api.TopicIdPartition, error) {
	id, err := pathUUID(r, "topicId")
	if err != nil {
		return api.TopicIdPartition{}, err
	}
	p, err := parseInteger("partition", r.PathValue("partition"), 32)
	if err != nil {
		return api.TopicIdPartition{}, err
	}
	tip := api.TopicIdPartition{TopicID: id, Partition: int32(p)}
	return tip, tip.Validate()
}

func pathUUID(r *http.Request, name string) (api.UUID, error) {
	id, err := api.ParseUUID(r.PathValue(name))
	if err != nil {
		return api.UUID{}, &api.InvalidArgumentError{Field: name, Reason: badValue(err, "")}
	}
	return id, nil
}

// params is a query string; its first fault stays.
type params struct {
	values url.Values
	err    error
}

func readParams(r *http.Request, required, optional []string) *params {
	values, err := url.ParseQuery(r.URL.RawQuery)
	p := &params{values: values}
	if err != nil {
		p.fail("query", err.Error())
	}
	p.refuseOthers(required, optional)
	for _, name := range required {
		if !values.Has(name) {
			p.fail(name, "is required")
		}
	}
	return p
}

func (p *params) refuseOthers(required, optional []string) {
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		switch {
		case !slices.Contains(required, name) && !slices.Contains(optional, name):
			p.fail(fmt.Sprintf("%.60s", name), "is not a parameter of this path")
		case len(p.values[name]) > 1:
			p.fail(name, "is there twice")
		}
	}
}

func (p *params) fail(name, reason string) {
	p.failWith(&api.InvalidArgumentError{Field: name, Reason: reason})
}

// failWith keeps the first fault; nil is none.
func (p *params) failWith(err error) {
	if p.err == nil {
		p.err = err
	}
}

// integer is 0 for a parameter that isn't there.
func (p *params) integer(name string, bits int) int64 {
	if !p.values.Has(name) {
		return 0
	}
	n, err := parseInteger(name, p.values.Get(name), bits)
	if err != nil {
		p.failWith(err)
	}
	return n
}

// parseInteger reads a number in the one way to write it: not 00, nor +0.
func parseInteger(name, text string, bits int) (int64, error) {
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return 0, &api.InvalidArgumentError{Field: name, Reason: fmt.Sprintf("%.40q is not a %d-bit integer", text, bits)}
	}
	return n, nil
}
