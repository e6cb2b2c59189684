package rest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api/rest"
)

// checkArgument checks that a request is 400 and names the field, and that nothing
// reached the manager.
func checkArgument(t *testing.T, method, target, body, field, detail string) {
	t.Helper()
	f := full()
	w := ask(t, f, method, target, body)
	checkError(t, w, 400, "invalid_argument")
	var e rest.Error
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		t.Fatal(err)
	}
	diff(t, "field", e.Field, field)
	if !strings.Contains(e.Detail, detail) {
		t.Errorf("detail %q doesn't say %q", e.Detail, detail)
	}
	diff(t, "calls", len(f.calls), 0)
}

func TestBadPathAndParameters(t *testing.T) {
	ids := "/v1/partitions/" + topicID.String()
	tests := []struct{ target, field, detail string }{
		{"/v1/partitions/nonsense/3/size?epoch=0", "topicId", "22 characters"},
		{"/v1/partitions/AAAAAAAAAAAAAAAAAAAAAA/3/size?epoch=0", "topicId", "zero"},
		{ids + "/-1/size?epoch=0", "partition", "negative"},
		{ids + "/x/size?epoch=0", "partition", "32-bit integer"},
		{ids + "/2147483648/size?epoch=0", "partition", "32-bit integer"},
		{ids + "/00/size?epoch=0", "partition", "32-bit integer"},
		{ids + "/+0/size?epoch=0", "partition", "32-bit integer"},
		{base + "/size?epoch=%2B1", "epoch", "32-bit integer"},
		{base + "/size", "epoch", "required"},
		{base + "/size?epoch=", "epoch", "32-bit integer"},
		{base + "/size?epoch=2147483648", "epoch", "32-bit integer"},
		{base + "/size?epoch=1&epoch=1", "epoch", "twice"},
		{base + "/size?Epoch=1", "Epoch", "not a parameter"},
		{base + "/size?epoch=1&offset=2", "offset", "not a parameter"},
		{base + "/size?epoch=1;2", "query", "semicolon"},
		{base + "/segments?epock=1", "epock", "not a parameter"},
		{base + "/segment?epoch=1", "offset", "required"},
		{base + "/segment?offset=1", "epoch", "required"},
		{base + "/segment?epoch=1&offset=1.5", "offset", "64-bit integer"},
		{base + "/segment?epoch=1&offset=-1", "offset", "negative"},
		{base + "/next-txn-segment?epoch=1&offset=9223372036854775808", "offset", "64-bit integer"},
		{base + "/caught-up?epoch=1", "epoch", "not a parameter"},
	}
	for _, test := range tests {
		t.Run(test.target, func(t *testing.T) { checkArgument(t, "GET", test.target, "", test.field, test.detail) })
	}
}

func TestBadSegment(t *testing.T) {
	replace := func(old, with string) string { return strings.Replace(addBody, old, with, 1) }
	tests := map[string]struct{ body, field, detail string }{
		"empty":                {"", "body", "JSON object"},
		"null":                 {"null", "body", "JSON object"},
		"array":                {"[]", "body", "JSON object"},
		"cut":                  {addBody[:len(addBody)-1], "body", "EOF"},
		"cut in a member":      {`{"state":`, "state", "EOF"},
		"more":                 {addBody + "{}", "body", "nothing after"},
		"unknown":              {replace(`"startOffset"`, `"StartOffset"`), "StartOffset", "not known"},
		"unknown in an epoch":  {replace(`"leaderEpoch":0`, `"leaderEpoch":0,"end":1`), "segmentLeaderEpochs[0].end", "not known"},
		"twice":                {replace(`"brokerId":1`, `"brokerId":1,"brokerId":2`), "brokerId", "twice"},
		"other topic":          {replace(`{`, `{"topicId":"JOw6TysnTbyDuWAbi74FZQ",`), "topicId", "the path's"},
		"other partition":      {replace(`{`, `{"partition":4,`), "partition", "4 is not the path's 3"},
		"string for a number":  {replace(`:100,`, `:"100",`), "startOffset", "string is not a 64-bit integer"},
		"fraction":             {replace(`:100,`, `:100.5,`), "startOffset", "number 100.5 is not a 64-bit integer"},
		"broker too large":     {replace(`"brokerId":1`, `"brokerId":2147483648`), "brokerId", "number 2147483648 is not a 32-bit integer"},
		"size too large":       {replace(`"segmentSizeInBytes":9`, `"segmentSizeInBytes":3000000000`), "segmentSizeInBytes", "32-bit"},
		"offset too large":     {replace(`:249`, `:9223372036854775808`), "endOffset", "64-bit"},
		"unknown state":        {replace(`COPY_SEGMENT_STARTED`, `COPYING`), "state", "COPYING"},
		"number for a state":   {replace(`"COPY_SEGMENT_STARTED"`, `0`), "state", "number is not a string"},
		"bad segment id":       {replace(segmentID.String(), `x`), "segmentId", "Kafka id"},
		"array for an id":      {replace(`"`+segmentID.String()+`"`, `[1]`), "segmentId", "array is not a string"},
		"number for topic":     {replace(`{`, `{"topic":1,`), "topic", "number is not a string"},
		"number for a bool":    {replace(`{`, `{"txnIndexEmpty":1,`), "txnIndexEmpty", "number is not true or false"},
		"bytes as numbers":     {replace(`{`, `{"customMetadata":[1,2],`), "customMetadata", "array is not a string"},
		"not base64":           {replace(`{`, `{"customMetadata":"-_",`), "customMetadata", "base64"},
		"epochs as a map":      {replace(`[{"leaderEpoch":0,"offset":100}]`, `{"0":100}`), "segmentLeaderEpochs", "object is not an array"},
		"epoch null":           {replace(`[{"leaderEpoch":0,"offset":100}]`, `[null]`), "segmentLeaderEpochs[0]", "JSON object"},
		"epoch without offset": {replace(`"leaderEpoch":0,"offset":100`, `"leaderEpoch":0`), "segmentLeaderEpochs[0].offset", "required"},
		"epoch twice":          {replace(`[{`, `[{"leaderEpoch":0,"offset":1},{`), "segmentLeaderEpochs", "epoch 0 is there twice"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { checkArgument(t, "POST", base+"/segments", test.body, test.field, test.detail) })
	}
}

func TestMissingMembersAreNamed(t *testing.T) {
	tests := map[string]struct{ method, target, body string }{
		"add":    {"POST", base + "/segments", addBody},
		"update": {"PATCH", base + "/segments/" + segmentID.String(), updateBody},
		"delete": {"PUT", base + "/delete-state", deleteBody},
	}
	for name, test := range tests {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(test.body), &members); err != nil {
			t.Fatal(err)
		}
		for member, value := range members {
			t.Run(name+" without "+member, func(t *testing.T) {
				delete(members, member)
				checkArgument(t, test.method, test.target, encode(t, members), member, "required")
				members[member] = json.RawMessage("null")
				checkArgument(t, test.method, test.target, encode(t, members), member, "required")
				members[member] = value
			})
		}
	}
}

func TestBodyMayRepeatThePath(t *testing.T) {
	ids := `{"topic":"orders","topicId":"52964786-7133-42e1-aa4f-c4fd405bc4f7","partition":3,"segmentId":"` + segmentID.String() + `",`
	f := full()
	w := ask(t, f, "PATCH", base+"/segments/"+segmentID.String(), ids+updateBody[1:])
	diff(t, "status", w.Code, 200)
	diff(t, "calls", f.calls, []string{"update " + id.String() + " 6 {false } COPY_SEGMENT_FINISHED 1"})
}

func TestBadUpdateAndDelete(t *testing.T) {
	update, deletion := base+"/segments/"+segmentID.String(), base+"/delete-state"
	tests := map[string]struct{ method, target, body, field, detail string }{
		"other segment":     {"PATCH", update, `{"segmentId":"` + topicID.String() + `",` + updateBody[1:], "segmentId", "the path's"},
		"other topic":       {"PATCH", update, `{"topicId":"` + segmentID.String() + `",` + updateBody[1:], "topicId", "the path's"},
		"bad segment id":    {"PATCH", base + "/segments/x", updateBody, "segmentId", "Kafka id"},
		"no such partition": {"PUT", "/v1/partitions/x/0/delete-state", deleteBody, "topicId", "Kafka id"},
		"add a parameter":   {"POST", base + "/segments?epoch=1", addBody, "epoch", "not a parameter"},
		"not of an update":  {"PATCH", update, `{"startOffset":1,` + updateBody[1:], "startOffset", "not known"},
		"parameter":         {"PATCH", update + "?wait=applied", updateBody, "wait", "not a parameter"},
		"a segment's state": {"PUT", deletion, strings.Replace(deleteBody, "DELETE_PARTITION_MARKED", "COPY_SEGMENT_STARTED", 1), "state", "COPY_SEGMENT_STARTED"},
		"none":              {"PUT", deletion, strings.Replace(deleteBody, "DELETE_PARTITION_MARKED", "NONE", 1), "state", "NONE"},
		"other partition":   {"PUT", deletion, `{"partition":0,` + deleteBody[1:], "partition", "the path's"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { checkArgument(t, test.method, test.target, test.body, test.field, test.detail) })
	}
}

func TestBodyTooLarge(t *testing.T) {
	h := newHandler(rest.Config{Manager: full(), AllowMutations: true, MaxBodyBytes: 100})
	checkError(t, send(h, "POST", base+"/segments", addBody), 413, "invalid_argument")
	w := send(h, "PUT", base+"/delete-state", deleteBody)
	diff(t, "a small one", w.Code, 200)
}
