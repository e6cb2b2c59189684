package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/tieredlog/rlmm/api"
)

// Status is the answer of GET /v1/status: what this process runs, in the manner of Kafka
// Connect.
type Status struct {
	// Views is nil where there are none, Processor too.
	Views     *TaskGroup `json:"views,omitempty"`
	Processor *TaskGroup `json:"processor,omitempty"`
}

// TaskGroup is the consumer of some metadata partitions.
type TaskGroup struct {
	// State is the worst of the tasks': RUNNING, PAUSED, RECOVERING (it catches up, or tries
	// again) or FAILED (it doesn't heal by itself).
	State api.State `json:"state"`
	// WorkerID is where this process serves HTTP, host:port as in Connect; empty when the
	// handler wasn't told.
	WorkerID string `json:"worker_id,omitempty"`
	// Trace is what is wrong with the whole; empty when nothing is.
	Trace string `json:"trace,omitempty"`
	Tasks []Task `json:"tasks"`
}

// Task is one metadata partition of a group; see [api.PartitionStatus].
type Task struct {
	// ID is the metadata partition.
	ID    int32     `json:"id"`
	State api.State `json:"state"`
	// WorkerID is the group's.
	WorkerID    string `json:"worker_id,omitempty"`
	Applied     int64  `json:"applied"`
	Target      int64  `json:"target"`
	End         int64  `json:"end"`
	EndSeenMs   int64  `json:"endSeenMs"` // since 1970; 0 is never
	Lag         int64  `json:"lag"`
	StalenessMs int64  `json:"stalenessMs"`
	// Trace is what is wrong; empty when nothing is.
	Trace string `json:"trace,omitempty"`
}

// group shows a consumer, nil when there is none.
func (h *handler) group(status func() api.Status) *TaskGroup {
	if status == nil {
		return nil
	}
	s := status()
	g := &TaskGroup{State: s.State, WorkerID: h.WorkerID, Trace: trace(s.Err), Tasks: make([]Task, len(s.Partitions))}
	for i, p := range s.Partitions {
		g.Tasks[i] = newTask(p, h.WorkerID)
	}
	return g
}

func newTask(p api.PartitionStatus, worker string) Task {
	t := Task{
		ID: p.MetadataPartition, State: p.State, WorkerID: worker, Applied: p.Applied, Target: p.Target, End: p.End, Lag: p.Lag,
		StalenessMs: roundUp(p.Staleness), Trace: trace(p.Err),
	}
	if !p.EndSeen.IsZero() {
		t.EndSeenMs = p.EndSeen.UnixMilli()
	}
	return t
}

// roundUp is a duration in milliseconds, 0 only when it is 0.
func roundUp(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }

func trace(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (h *handler) status(r *http.Request) (any, error) {
	if err := readParams(r, nil, nil).err; err != nil {
		return nil, err
	}
	return h.consumers(), nil
}

func (h *handler) consumers() Status {
	return Status{Views: h.group(h.Views), Processor: h.group(h.Processor)}
}

// Status returns what the server runs, and how it does: GET /v1/status.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get(ctx, c, c.base.JoinPath("v1", "status"), func(data []byte) (s Status, err error) {
		return s, json.Unmarshal(data, &s)
	})
}

// The headers of an answer about a partition, from a manager that is an
// [api.FreshnessReporter].
const (
	headerMetadataPartition = "X-RLMM-Metadata-Partition"
	headerAppliedOffset     = "X-RLMM-Applied-Offset"
	headerStaleness         = "X-RLMM-Staleness-Ms"
)

// tellFreshness sets the headers of an answer that is read after this.
func (h *handler) tellFreshness(w http.ResponseWriter, r *http.Request) {
	reporter, ok := h.Manager.(api.FreshnessReporter)
	if !ok {
		return
	}
	tip, err := pathPartition(r)
	if err != nil {
		return // which the answer tells
	}
	if f, ok := reporter.Freshness(tip); ok {
		head := w.Header()
		head.Set(headerMetadataPartition, strconv.Itoa(int(f.MetadataPartition)))
		head.Set(headerAppliedOffset, strconv.FormatInt(f.Applied, 10))
		head.Set(headerStaleness, strconv.FormatInt(roundUp(f.Staleness), 10))
	}
}

type freshnessKey struct{}

// WithFreshness returns a context for a [Client]: of every answer to a read with it that
// tells how fresh it is, that is stored in f. The answer shows at least what was applied
// then. Others leave f as it is. A read that ends may be followed by another, but no two
// may run at the same time.
func WithFreshness(ctx context.Context, f *api.Freshness) context.Context {
	return context.WithValue(ctx, freshnessKey{}, f)
}

// noteFreshness reads an answer's headers for the caller that asked for it.
func noteFreshness(ctx context.Context, head http.Header) {
	into, ok := ctx.Value(freshnessKey{}).(*api.Freshness)
	if !ok {
		return
	}
	partition, err1 := strconv.ParseInt(head.Get(headerMetadataPartition), 10, 32)
	applied, err2 := strconv.ParseInt(head.Get(headerAppliedOffset), 10, 64)
	ms, err3 := strconv.ParseInt(head.Get(headerStaleness), 10, 64)
	if err1 == nil && err2 == nil && err3 == nil {
		*into = api.Freshness{MetadataPartition: int32(partition), Applied: applied, Staleness: time.Duration(ms) * time.Millisecond}
	}
}
