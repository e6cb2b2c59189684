package rest_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// aged is a fake that tells how fresh its answers are.
type aged struct {
	*fake
	freshness api.Freshness
	tells     bool
}

func (a *aged) Freshness(api.TopicIdPartition) (api.Freshness, bool) { return a.freshness, a.tells }

func TestFreshness(t *testing.T) {
	m := &aged{full(), api.Freshness{MetadataPartition: 7, Applied: 41, Staleness: 1500*time.Millisecond + 1}, true}
	h := newHandler(rest.Config{Manager: m})
	for _, path := range []string{
		"/segment?epoch=4&offset=200", "/segments", "/segments?limit=1", "/highest-offset?epoch=4", "/size?epoch=4",
		"/next-txn-segment?epoch=4&offset=0", "/caught-up", "/segment?epoch=4&offset=x",
	} {
		head := send(h, "GET", base+path, "").Header()
		for name, want := range map[string]string{"X-RLMM-Metadata-Partition": "7", "X-RLMM-Applied-Offset": "41", "X-RLMM-Staleness-Ms": "1501"} {
			diff(t, path+" "+name, head.Get(name), want)
		}
	}
	for _, path := range []string{"/v1/partitions", "/v1/partitions/x/3/size?epoch=4"} {
		diff(t, path, send(h, "GET", path, "").Header().Get("X-RLMM-Applied-Offset"), "")
	}
	m.tells = false
	diff(t, "not told", send(h, "GET", base+"/size?epoch=4", "").Header().Get("X-RLMM-Applied-Offset"), "")
}

func TestClientFreshness(t *testing.T) {
	m := &aged{full(), api.Freshness{MetadataPartition: 7, Applied: -1, Staleness: 2 * time.Second}, true}
	c := connect(t, newHandler(rest.Config{Manager: m}))
	var got api.Freshness
	ctx := rest.WithFreshness(t.Context(), &got)
	read := func(want api.Freshness) {
		t.Helper()
		if _, err := c.RemoteLogSize(ctx, tip, 0); err != nil {
			t.Fatal(err)
		}
		diff(t, "freshness", got, want)
	}
	read(m.freshness)
	m.freshness.Applied = 8
	_, _ = c.ListRemoteLogSegments(ctx, tip)
	diff(t, "of a list", got, m.freshness)
	kept := got
	m.tells = false
	read(kept)
}

func TestStatus(t *testing.T) {
	views := api.Status{State: api.StateFailed, Partitions: []api.PartitionStatus{
		{
			Freshness: api.Freshness{MetadataPartition: 3, Applied: 41}, State: api.StateRunning,
			Target: 40, End: 44, EndSeen: time.UnixMilli(1234), Lag: 2,
		},
		{
			Freshness: api.Freshness{MetadataPartition: 5, Applied: -1, Staleness: time.Microsecond}, State: api.StateFailed,
			Target: -1, End: -1, Err: errors.New("the topic was created again"),
		},
	}}
	idle := api.Status{State: api.StateRecovering, Err: errors.New("no member")}
	h := newHandler(rest.Config{
		Views: func() api.Status { return views }, Processor: func() api.Status { return idle }, WorkerID: "host-1:8083",
	})
	diff(t, "body", send(h, "GET", "/v1/status", "").Body.String(), `{"views":{"state":"FAILED","worker_id":"host-1:8083","tasks":[`+
		`{"id":3,"state":"RUNNING","worker_id":"host-1:8083","applied":41,"target":40,"end":44,"endSeenMs":1234,"lag":2,"stalenessMs":0},`+
		`{"id":5,"state":"FAILED","worker_id":"host-1:8083","applied":-1,"target":-1,"end":-1,"endSeenMs":0,"lag":0,"stalenessMs":1,"trace":"the topic was created again"}]},`+
		`"processor":{"state":"RECOVERING","worker_id":"host-1:8083","trace":"no member","tasks":[]}}`+"\n")
	got, err := connect(t, h).Status(t.Context())
	if err != nil || got.Views == nil || got.Processor == nil {
		t.Fatalf("got %+v, %v", got, err)
	}
	diff(t, "task", got.Views.Tasks[0], rest.Task{ID: 3, State: api.StateRunning, WorkerID: "host-1:8083", Applied: 41, Target: 40, End: 44, EndSeenMs: 1234, Lag: 2})
	diff(t, "processor", *got.Processor, rest.TaskGroup{State: api.StateRecovering, WorkerID: "host-1:8083", Trace: "no member", Tasks: []rest.Task{}})
	diff(t, "without parts", send(newHandler(rest.Config{}), "GET", "/v1/status", "").Code, http.StatusNotFound)
	diff(t, "a parameter", send(h, "GET", "/v1/status?verbose", "").Code, http.StatusBadRequest)
}
