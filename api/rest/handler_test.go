package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

const (
	addBody = `{"segmentId":"JOw6TysnTbyDuWAbi74FZQ","startOffset":100,"endOffset":249,"brokerId":1,"maxTimestampMs":-1,` +
		`"eventTimestampMs":5,"segmentLeaderEpochs":[{"leaderEpoch":0,"offset":100}],"segmentSizeInBytes":9,"state":"COPY_SEGMENT_STARTED"}`
	updateBody = `{"state":"COPY_SEGMENT_FINISHED","brokerId":1,"eventTimestampMs":6}`
	deleteBody = `{"state":"DELETE_PARTITION_MARKED","brokerId":1,"eventTimestampMs":7}`
)

type route struct {
	method, target, body string
	mutation             bool
	status               int
	answer, call         string
}

func routes(t *testing.T) map[string]route {
	t.Helper()
	segment, where := string(golden(t)), `{"metadataPartition":7,"offset":42}`
	unnamed := topicID.String() + ":-3"
	return map[string]route{
		"segment":  {"GET", base + "/segment?epoch=4&offset=200", "", false, 200, segment, "segment " + unnamed + " 4 200"},
		"list":     {"GET", base + "/segments", "", false, 200, `{"segments":[` + segment + "\n]}", "list " + unnamed},
		"by epoch": {"GET", base + "/segments?epoch=-1", "", false, 200, `{"segments":[` + segment + "\n]}", "listByEpoch " + unnamed + " -1"},
		"highest":  {"GET", base + "/highest-offset?epoch=4", "", false, 200, `{"highestOffset":249}`, "highest " + unnamed + " 4"},
		"size":     {"GET", base + "/size?epoch=4", "", false, 200, `{"bytes":117532}`, "size " + unnamed + " 4"},
		"next txn": {"GET", base + "/next-txn-segment?offset=0&epoch=4", "", false, 200, segment, "nextTxn " + unnamed + " 4 0"},
		"caught up": {
			"GET", base + "/caught-up", "", false, 200, `{"caughtUp":true}`, "caughtUp " + unnamed,
		},
		"add": {
			"POST", base + "/segments", addBody, true, 201, where,
			"add " + unnamed + "/" + segmentID.String() + " 100 249 1 -1 5 {0=100} 9 {false } COPY_SEGMENT_STARTED false",
		},
		"update": {
			"PATCH", base + "/segments/" + segmentID.String(), updateBody, true, 200, where,
			"update " + unnamed + "/" + segmentID.String() + " 6 {false } COPY_SEGMENT_FINISHED 1",
		},
		"delete": {"PUT", base + "/delete-state", deleteBody, true, 200, where, "delete " + unnamed + " DELETE_PARTITION_MARKED 7 1"},
	}
}

func TestRoutes(t *testing.T) {
	for name, r := range routes(t) {
		t.Run(name, func(t *testing.T) {
			f := full()
			w := ask(t, f, r.method, r.target, r.body)
			diff(t, "status", w.Code, r.status)
			diff(t, "body", w.Body.String(), r.answer+"\n")
			diff(t, "content type", w.Header().Get("Content-Type"), "application/json")
			diff(t, "calls", f.calls, []string{r.call})
		})
	}
}

func TestNothingFound(t *testing.T) {
	const noSegment = `{"error_code":404,"message":"no such segment","reason":"no_segment"}` + "\n"
	wants := map[string]string{
		"segment": noSegment, "highest": noSegment, "next txn": noSegment,
		"list": `{"segments":[]}` + "\n", "by epoch": `{"segments":[]}` + "\n",
		"size": `{"bytes":0}` + "\n", "caught up": `{"caughtUp":false}` + "\n",
	}
	for name, want := range wants {
		t.Run(name, func(t *testing.T) {
			r := routes(t)[name]
			diff(t, "body", ask(t, &fake{}, r.method, r.target, r.body).Body.String(), want)
		})
	}
}

// failures is every kind of error that a manager returns.
func failures() map[string]failure {
	known := sample()
	cause := errors.New("broker 1: connection refused")
	where, none := api.Position{MetadataPartition: 7, Offset: 42}, api.NotPublished
	return map[string]failure{
		"argument":      {&api.InvalidArgumentError{Field: "endOffset", Reason: "1 is less than startOffset 2"}, none, 400, "invalid_argument", `"field":"endOffset","detail":"1 is less than startOffset 2"`},
		"not found":     {&api.SegmentNotFoundError{ID: id}, where, 404, "segment_not_found", `"segmentId":"JOw6TysnTbyDuWAbi74FZQ"`},
		"add twice":     {&api.InvalidAddError{ID: id, State: api.CopySegmentStarted, Known: &known}, where, 409, "invalid_add", `"state":"COPY_SEGMENT_STARTED","known":{"segmentId":"JOw6TysnTbyDuWAbi74FZQ",`},
		"add state":     {&api.InvalidAddError{ID: id, State: api.CopySegmentFinished}, where, 409, "invalid_add", `"state":"COPY_SEGMENT_FINISHED"}`},
		"transition":    {&api.InvalidSegmentTransitionError{ID: id, From: api.DeleteSegmentStarted, To: api.CopySegmentFinished}, where, 409, "invalid_segment_transition", `"from":"DELETE_SEGMENT_STARTED","to":"COPY_SEGMENT_FINISHED"`},
		"delete first":  {&api.InvalidPartitionDeleteTransitionError{TopicIdPartition: named, From: api.DeletePartitionNone, To: api.DeletePartitionStarted}, where, 409, "invalid_partition_delete_transition", `"from":"NONE","to":"DELETE_PARTITION_STARTED"`},
		"delete later":  {&api.InvalidPartitionDeleteTransitionError{TopicIdPartition: named, From: api.DeletePartitionFinished, To: api.DeletePartitionMarked}, where, 409, "invalid_partition_delete_transition", `"from":"DELETE_PARTITION_FINISHED"`},
		"not assigned":  {&api.NotReadyError{MetadataPartition: 9, Applied: -1, Target: -1}, none, 421, "not_assigned", `"metadataPartition":9`},
		"catching up":   {&api.NotReadyError{MetadataPartition: 0, Assigned: true, Applied: 3, Target: 8}, none, 503, "not_ready", `"applied":3,"target":8`},
		"not ready: io": {&api.NotReadyError{MetadataPartition: 9, Assigned: true, Applied: -1, Target: -1, Err: &api.IOError{Op: "list offsets", Err: cause}}, none, 503, "not_ready", `"cause":{"error_code":502,`},
		"closed":        {api.ErrClosed, none, 503, "closed", `"reason":"closed"`},
		"timeout":       {&api.TimeoutError{Position: where, Applied: 40}, where, 504, "timeout", `"metadataPartition":7,"offset":42,"applied":40`},
		"no progress":   {&api.TimeoutError{Position: where, Applied: -1, Err: api.ErrNoProgress}, where, 504, "timeout", `"reason":"no_progress"`},
		"unassigned":    {&api.TimeoutError{Position: where, Err: &api.NotReadyError{MetadataPartition: 7, Applied: -1, Target: -1}}, where, 504, "timeout", `"reason":"not_assigned"`},
		"ended":         {&api.TimeoutError{Position: where, Err: context.DeadlineExceeded}, where, 504, "timeout", `"reason":"deadline_exceeded"`},
		"canceled":      {&api.TimeoutError{Position: where, Err: context.Canceled}, where, 504, "timeout", `"reason":"canceled"`},
		"paused":        {&api.PausedError{MetadataPartition: 7}, none, 409, "paused", `"metadataPartition":7`},
		"busy":          {&api.BusyError{MetadataPartition: 7}, none, 409, "busy", `"metadataPartition":7`},
		"paused then":   {&api.TimeoutError{Position: where, Err: &api.PausedError{MetadataPartition: 7}}, where, 504, "timeout", `"reason":"paused"`},
		"paused before": {&api.NotReadyError{MetadataPartition: 7, Assigned: true, Err: &api.PausedError{MetadataPartition: 7}}, none, 503, "not_ready", `"reason":"paused"`},
		"shut down":     {&api.TimeoutError{Position: where, Err: api.ErrClosed}, where, 504, "timeout", `"reason":"closed"`},
		"unknown":       {&api.OutcomeUnknownError{Position: where}, where, 504, "outcome_unknown", `"metadataPartition":7,"offset":42`},
		"io":            {&api.IOError{Op: "publish the event", Err: cause}, none, 502, "io", `"op":"publish the event"`},
		"io: canceled":  {&api.IOError{Op: "wait to publish", Err: context.Canceled}, none, 502, "io", `"reason":"canceled"`},
		"no answer":     {&api.UnacknowledgedError{Op: "publish the event", Err: cause}, none, 504, "unacknowledged", `"op":"publish the event"`},
		"no answer yet": {&api.UnacknowledgedError{Op: "publish the event", Err: api.ErrClosed}, none, 504, "unacknowledged", `"reason":"closed"`},
	}
}

type failure struct {
	err    error
	pos    api.Position
	status int
	reason string
	// member is a part of the body.
	member string
}

func TestEveryErrorOnEveryRoute(t *testing.T) {
	for name, r := range routes(t) {
		for kind, want := range failures() {
			if name == "caught up" && errors.Is(want.err, api.ErrNotAssigned) {
				continue // TestCaughtUpNotAssigned
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				f := full()
				f.pos = want.pos
				f.err = fmt.Errorf("the manager: %w", want.err)
				w := ask(t, f, r.method, r.target, r.body)
				checkError(t, w, want.status, want.reason)
				if !strings.Contains(w.Body.String(), want.member) {
					t.Errorf("%s isn't in %s", want.member, w.Body)
				}
				if r.mutation {
					published := strings.Contains(w.Body.String(), `"metadataPartition":7,"offset":42`)
					diff(t, "has a position", published, want.pos != api.NotPublished)
				}
			})
		}
	}
}

// checkError checks what all errors have.
func checkError(t *testing.T, w *httptest.ResponseRecorder, status int, reason string) {
	t.Helper()
	var e rest.Error
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	diff(t, "status", w.Code, status)
	diff(t, "error_code", e.Code, status)
	diff(t, "reason", e.Reason, reason)
	diff(t, "content type", w.Header().Get("Content-Type"), "application/json")
	diff(t, "has Retry-After", w.Header().Get("Retry-After") != "", status == 503)
	if e.Message == "" {
		t.Error("no message")
	}
}

func TestErrorBody(t *testing.T) {
	w := ask(t, &fake{err: &api.NotReadyError{MetadataPartition: 9, Assigned: true, Applied: 3, Target: 8}}, "GET", base+"/size?epoch=0", "")
	diff(t, "body", w.Body.String(), `{"error_code":503,"message":"metadata partition 9 is not ready: applied 3, waiting for 8",`+
		`"reason":"not_ready","metadataPartition":9,"applied":3,"target":8}`+"\n")
}

func TestBareSentinelsHaveTheirStatus(t *testing.T) {
	wants := map[error]int{
		api.ErrNotReady: 503, api.ErrNotAssigned: 421, api.ErrSegmentNotFound: 404, api.ErrInvalidAdd: 409,
		api.ErrInvalidSegmentTransition: 409, api.ErrInvalidPartitionDeleteTransition: 409, api.ErrInvalidArgument: 400,
		api.ErrTimeout: 504, api.ErrOutcomeUnknown: 504, api.ErrUnacknowledged: 504, api.ErrNoProgress: 504, api.ErrClosed: 503, api.ErrIO: 502, api.ErrPaused: 409, api.ErrBusy: 409,
		context.Canceled: 503, context.DeadlineExceeded: 503, errors.New("a bug"): 500,
	}
	for err, status := range wants {
		diff(t, err.Error(), ask(t, &fake{err: err}, "GET", base+"/size?epoch=0", "").Code, status)
	}
}

func TestCaughtUpNotAssigned(t *testing.T) {
	w := ask(t, &fake{err: &api.NotReadyError{}}, "GET", base+"/caught-up", "")
	diff(t, "status", w.Code, 200)
	diff(t, "body", w.Body.String(), `{"caughtUp":false}`+"\n")
}

func TestRejectedBeforePublishingHasNoPosition(t *testing.T) {
	w := ask(t, &fake{err: &api.SegmentNotFoundError{ID: id}, pos: api.NotPublished}, "PATCH", base+"/segments/"+segmentID.String(), updateBody)
	if strings.Contains(w.Body.String(), "metadataPartition") {
		t.Errorf("a position in %s", w.Body)
	}
}

func TestMutationsOff(t *testing.T) {
	f := full()
	h := newHandler(rest.Config{Manager: f})
	for name, r := range routes(t) {
		w := send(h, r.method, r.target, r.body)
		if r.mutation {
			checkError(t, w, 403, "mutations_off")
		} else {
			diff(t, name, w.Code, 200)
		}
	}
	diff(t, "calls", len(f.calls), 7)
}

func TestMutationFromAnotherSite(t *testing.T) {
	f := full()
	r := httptest.NewRequest("POST", base+"/segments", strings.NewReader(addBody))
	r.Header.Set("Origin", "https://elsewhere.example")
	w := httptest.NewRecorder()
	newHandler(rest.Config{Manager: f, AllowMutations: true}).ServeHTTP(w, r)
	checkError(t, w, 403, "cross_origin")
	diff(t, "calls", len(f.calls), 0)
}

func TestNoRoute(t *testing.T) {
	tests := []struct {
		method, target string
		status         int
		reason, allow  string
	}{
		{"GET", "/v2", 404, "not_found", ""},
		{"GET", "/v1/partitions/", 404, "not_found", ""},
		{"GET", "//v1/partitions", 404, "not_found", ""},
		{"GET", "/v1/../healthz", 404, "not_found", ""},
		{"GET", base, 404, "not_found", ""},
		{"GET", base + "/segments/" + segmentID.String(), 405, "method_not_allowed", "PATCH"},
		{"POST", "/", 405, "method_not_allowed", "GET, HEAD"},
		{"DELETE", base + "/segments", 405, "method_not_allowed", "GET, HEAD, POST"},
		{"PUT", base + "/size", 405, "method_not_allowed", "GET, HEAD"},
		{"OPTIONS", "/v1/partitions", 405, "method_not_allowed", "GET, HEAD"},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.target, func(t *testing.T) {
			w := ask(t, full(), test.method, test.target, "")
			checkError(t, w, test.status, test.reason)
			diff(t, "Allow", w.Header().Get("Allow"), test.allow)
		})
	}
}

func TestServerRoutes(t *testing.T) {
	row := rest.Partition{TopicID: topicID, Topic: "orders", Partition: 3, MetadataPartition: 7, Segments: 2, Bytes: 99}
	h := newHandler(rest.Config{
		Manager:    full(),
		Partitions: func(context.Context) ([]rest.Partition, error) { return []rest.Partition{row, row}, nil },
		Info: func() rest.Info {
			return rest.Info{Version: "1.2.3", Commit: "abc", KafkaClusterID: "5L6g3nShT-eMCtK--X86sw"}
		},
	})
	shape := `{"topicId":"UpZHhnEzQuGqT8T9QFvE9w","topic":"orders","partition":3,"metadataPartition":7,"segments":2,"bytes":99}` + "\n"
	wants := map[string]string{
		"/":                 `{"version":"1.2.3","commit":"abc","kafka_cluster_id":"5L6g3nShT-eMCtK--X86sw"}` + "\n",
		"/healthz?probe=1":  `{"status":"ok"}` + "\n",
		"/readyz?verbose":   `{"status":"ok","checks":[{"name":"ready","ok":true}]}` + "\n",
		"/startupz":         `{"status":"ok"}` + "\n",
		"/v1/partitions":    `{"partitions":[` + shape + `,` + shape + "]}\n",
		"/v1/partitions?a=": `{"error_code":400,"message":"invalid argument: a: is not a parameter of this path","reason":"invalid_argument","field":"a","detail":"is not a parameter of this path"}` + "\n",
	}
	for target, want := range wants {
		diff(t, target, send(h, "GET", target, "").Body.String(), want)
	}
}

func TestPartitionsMayFailOrBeNone(t *testing.T) {
	h := newHandler(rest.Config{Manager: full(), Partitions: func(context.Context) ([]rest.Partition, error) { return nil, api.ErrIO }})
	checkError(t, send(h, "GET", "/v1/partitions", ""), 502, "io")
	none := send(newHandler(rest.Config{Manager: full()}), "GET", "/v1/partitions", "")
	diff(t, "none", none.Body.String(), `{"partitions":[]}`+"\n")
}

// A processor has probes and nothing to tell of partitions: no list is no empty list.
func TestWithoutManagerThereAreOnlyProbes(t *testing.T) {
	h := newHandler(rest.Config{})
	for path, want := range map[string]int{"/": 200, "/healthz": 200, "/readyz": 200, "/startupz": 200, "/metrics": 404, "/v1/partitions": 404} {
		if got := send(h, "GET", path, "").Code; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

func TestNotReadyListsWhatIsNot(t *testing.T) {
	h := newHandler(rest.Config{Ready: func(context.Context) error {
		return errors.Join(&api.NotReadyError{MetadataPartition: 4, Assigned: true, Applied: 1, Target: 2}, errors.New("group not joined"))
	}})
	w := send(h, "GET", "/readyz", "")
	checkError(t, w, 503, "not_ready")
	diff(t, "body", w.Body.String(), `{"error_code":503,"message":"not ready","reason":"not_ready","errors":[`+
		`{"error_code":503,"message":"metadata partition 4 is not ready: applied 1, waiting for 2","reason":"not_ready","metadataPartition":4,"applied":1,"target":2},`+
		`{"error_code":500,"message":"group not joined","reason":"internal"}]}`+"\n")
}

func TestNotReadyForOneReason(t *testing.T) {
	h := newHandler(rest.Config{Ready: func(context.Context) error { return fmt.Errorf("start: %w", api.ErrIO) }})
	diff(t, "body", send(h, "GET", "/readyz", "").Body.String(), `{"error_code":503,"message":"not ready","reason":"not_ready","errors":[`+
		`{"error_code":502,"message":"start: i/o error","reason":"io"}]}`+"\n")
}

func TestPanicIs500AndLogged(t *testing.T) {
	var logged bytes.Buffer
	f := full()
	f.before = func(context.Context) { panic("secret detail") }
	h := newHandler(rest.Config{Manager: f, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	w := send(h, "GET", base+"/segments", "")
	checkError(t, w, 500, "internal")
	if strings.Contains(w.Body.String(), "secret") || !strings.Contains(logged.String(), "secret detail") {
		t.Errorf("answered %s, logged %s", w.Body, &logged)
	}
}

func TestOnlyFaultsOfThisSideAreLogged(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"caller's":    {&api.InvalidArgumentError{Field: "offset"}, ""},
		"not ready":   {api.ErrNotReady, ""},
		"kafka's":     {api.ErrIO, "level=WARN"},
		"unexpected":  {errors.New("a bug"), "level=ERROR"},
		"client gone": {context.Canceled, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var logged bytes.Buffer
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if errors.Is(test.err, context.Canceled) {
				cancel()
			}
			h := newHandler(rest.Config{Manager: &fake{err: test.err}, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", base+"/size?epoch=0", http.NoBody))
			if test.want == "" && logged.Len() > 0 || !strings.Contains(logged.String(), test.want) {
				t.Errorf("logged %q, want %q", &logged, test.want)
			}
		})
	}
}
