package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

var (
	topicID   = api.UUIDFromBits(0x52964786713342e1, 0xaa4fc4fd405bc4f7)
	segmentID = api.UUIDFromBits(0x24ec3a4f2b274dbc, 0x83b9601b8bbe0565)
	tip       = api.TopicIdPartition{TopicID: topicID, Partition: 3}
	named     = api.TopicIdPartition{TopicID: topicID, Topic: "orders", Partition: 3}
	id        = api.RemoteLogSegmentID{TopicIdPartition: named, ID: segmentID}
	base      = "/v1/partitions/" + topicID.String() + "/3"
)

func sample() api.RemoteLogSegmentMetadata {
	return api.RemoteLogSegmentMetadata{
		ID: id, StartOffset: 100, EndOffset: 249, BrokerID: 1, MaxTimestampMs: 1796032616935, EventTimestampMs: 1796032617197,
		SegmentSizeInBytes: 117532, State: api.CopySegmentFinished, TxnIndexEmpty: true,
		LeaderEpochs:   api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: 0, Offset: 100}, api.EpochOffset{LeaderEpoch: 4, Offset: 180}),
		CustomMetadata: api.NewCustomMetadata([]byte("lab:\xff")),
	}
}

// fake is a manager that answers what it is told to and notes what it was asked.
type fake struct {
	segments []api.RemoteLogSegmentMetadata
	highest  int64
	found    bool
	size     int64
	caughtUp bool
	pos      api.Position
	err      error
	// before runs at the start of each call.
	before func(context.Context)

	mu    sync.Mutex
	calls []string
}

func (f *fake) called(ctx context.Context, what string, args ...any) {
	f.mu.Lock()
	f.calls = append(f.calls, what+strings.TrimSuffix(fmt.Sprintln(append([]any{""}, args...)...), "\n"))
	f.mu.Unlock()
	if f.before != nil {
		f.before(ctx)
	}
}

func (f *fake) AddRemoteLogSegmentMetadata(ctx context.Context, m api.RemoteLogSegmentMetadata) (api.Position, error) {
	f.called(ctx, "add", m.ID, m.StartOffset, m.EndOffset, m.BrokerID, m.MaxTimestampMs, m.EventTimestampMs, m.LeaderEpochs,
		m.SegmentSizeInBytes, m.CustomMetadata, m.State, m.TxnIndexEmpty)
	return f.pos, f.err
}

func (f *fake) UpdateRemoteLogSegmentMetadata(ctx context.Context, u api.RemoteLogSegmentMetadataUpdate) (api.Position, error) {
	f.called(ctx, "update", u.ID, u.EventTimestampMs, u.CustomMetadata, u.State, u.BrokerID)
	return f.pos, f.err
}

func (f *fake) PutRemotePartitionDeleteMetadata(ctx context.Context, d api.RemotePartitionDeleteMetadata) (api.Position, error) {
	f.called(ctx, "delete", d.TopicIdPartition, d.State, d.EventTimestampMs, d.BrokerID)
	return f.pos, f.err
}

func (f *fake) one() api.RemoteLogSegmentMetadata {
	if !f.found {
		return api.RemoteLogSegmentMetadata{}
	}
	return f.segments[0]
}

func (f *fake) RemoteLogSegmentMetadata(ctx context.Context, tip api.TopicIdPartition, epoch int32, offset int64) (api.RemoteLogSegmentMetadata, bool, error) {
	f.called(ctx, "segment", tip, epoch, offset)
	return f.one(), f.found, f.err
}

func (f *fake) HighestOffsetForEpoch(ctx context.Context, tip api.TopicIdPartition, epoch int32) (int64, bool, error) {
	f.called(ctx, "highest", tip, epoch)
	return f.highest, f.found, f.err
}

func (f *fake) ListRemoteLogSegments(ctx context.Context, tip api.TopicIdPartition) ([]api.RemoteLogSegmentMetadata, error) {
	f.called(ctx, "list", tip)
	return f.segments, f.err
}

func (f *fake) ListRemoteLogSegmentsByEpoch(ctx context.Context, tip api.TopicIdPartition, epoch int32) ([]api.RemoteLogSegmentMetadata, error) {
	f.called(ctx, "listByEpoch", tip, epoch)
	return f.segments, f.err
}

func (f *fake) RemoteLogSize(ctx context.Context, tip api.TopicIdPartition, epoch int32) (int64, error) {
	f.called(ctx, "size", tip, epoch)
	return f.size, f.err
}

func (f *fake) NextSegmentWithTxnIndex(ctx context.Context, tip api.TopicIdPartition, epoch int32, offset int64) (api.RemoteLogSegmentMetadata, bool, error) {
	f.called(ctx, "nextTxn", tip, epoch, offset)
	return f.one(), f.found, f.err
}

func (f *fake) CaughtUp(ctx context.Context, tip api.TopicIdPartition) (bool, error) {
	f.called(ctx, "caughtUp", tip)
	return f.caughtUp, f.err
}

func (f *fake) IsReady(context.Context, api.TopicIdPartition) bool { return f.err == nil }

// full is a fake that finds something for every question.
func full() *fake {
	return &fake{
		segments: []api.RemoteLogSegmentMetadata{sample()}, found: true, highest: 249, size: 117532, caughtUp: true,
		pos: api.Position{MetadataPartition: 7, Offset: 42},
	}
}

// ask sends one request to a handler with mutations on.
func ask(t *testing.T, f *fake, method, target, body string) *httptest.ResponseRecorder {
	t.Helper()
	return send(newHandler(rest.Config{Manager: f, AllowMutations: true}), method, target, body)
}

func send(h http.Handler, method, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(api.CustomMetadata{}), cmpopts.EquateErrors()); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
