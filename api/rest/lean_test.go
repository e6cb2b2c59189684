package rest_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// Values at the ends of their types are read like any others.
func TestSegmentOfExtremesIsReadBack(t *testing.T) {
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	all := api.UUIDFromBits(math.MaxUint64, math.MaxUint64)
	segments := map[string]rest.Segment{
		"zero": {SegmentLeaderEpochs: []rest.LeaderEpoch{}},
		"least": {
			SegmentID: all, TopicID: all, Partition: math.MinInt32, StartOffset: least, EndOffset: least, BrokerID: math.MinInt32,
			MaxTimestampMs: least, EventTimestampMs: least, SegmentSizeInBytes: math.MinInt32,
			SegmentLeaderEpochs: []rest.LeaderEpoch{{math.MinInt32, least}, {0, least}, {1, 0}},
		},
		"greatest": {
			SegmentID: all, TopicID: all, Partition: math.MaxInt32, StartOffset: most, EndOffset: most, BrokerID: math.MaxInt32,
			MaxTimestampMs: most, EventTimestampMs: most, SegmentSizeInBytes: math.MaxInt32, State: api.DeleteSegmentFinished,
			SegmentLeaderEpochs: []rest.LeaderEpoch{{math.MaxInt32, most}}, CustomMetadata: []byte{}, TxnIndexEmpty: true,
		},
	}
	for name, want := range segments {
		var got rest.Segment
		if err := json.Unmarshal([]byte(encode(t, want)), &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		diff(t, name, got, want)
	}
}

// Which members a segment must have is the same for answers as for requests.
func TestSegmentWithoutAMember(t *testing.T) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(golden(t), &members); err != nil {
		t.Fatal(err)
	}
	optional := map[string]bool{"topic": true, "customMetadata": true, "txnIndexEmpty": true}
	for member, value := range members {
		delete(members, member)
		checkMember(t, encode(t, members), member, optional[member])
		members[member] = json.RawMessage("null")
		checkMember(t, encode(t, members), member, optional[member])
		members[member] = value
	}
	for _, epoch := range []string{`{"leaderEpoch":1}`, `{"leaderEpoch":null,"offset":1}`} {
		members["segmentLeaderEpochs"] = json.RawMessage("[" + epoch + "]")
		var s rest.Segment
		err := json.Unmarshal([]byte(encode(t, members)), &s)
		if err == nil || !strings.Contains(err.Error(), "segmentLeaderEpochs[0].") {
			t.Errorf("epoch %s: got %v", epoch, err)
		}
	}
}

func checkMember(t *testing.T, text, member string, optional bool) {
	t.Helper()
	var s rest.Segment
	err := json.Unmarshal([]byte(text), &s)
	if optional {
		diff(t, member, err, nil)
		return
	}
	var argument *api.InvalidArgumentError
	if !errors.As(err, &argument) || *argument != (api.InvalidArgumentError{Field: member, Reason: "is required"}) {
		t.Errorf("without %s: got %v", member, err)
	}
}
