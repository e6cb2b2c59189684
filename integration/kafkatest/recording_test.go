package kafkatest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tieredlog/rlmm/api"
)

const (
	topicID   = "UpZHhnEzQuGqT8T9QFvE9w"
	segmentID = "JOw6TysnTbyDuWAbi74FZQ"

	anEvent = `{"partition":2,"offset":7,"timestamp":5,"key":null,"value":"0100ff"}`
	aState  = `{"topic":"t","partition":1,"topicId":"` + topicID + `","metadataPartition":2,"events":3,
		"segments":[{"kind":"segment","segmentId":"` + segmentID + `","epochs":[[0,10]],"customMetadata":""}],
		"epochs":[{"epoch":0,"list":["` + segmentID + `"],"highest":null,"remoteLogSize":9}],
		"get_epoch_offset_segment_nextTxn":[[0,10,"` + segmentID + `","null"]]}`
)

// folder makes a folder of files with the contents given.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	return dir
}

func parseID(t *testing.T, text string) api.UUID {
	t.Helper()
	id, err := api.ParseUUID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestRecordingIsReadWhole(t *testing.T) {
	dir := folder(t, map[string]string{
		"x-events.jsonl": anEvent + "\n" + anEvent + "\n",
		"x-state.jsonl":  aState,
		"README":         "left alone",
	})
	got, err := readRecordings(dir)
	if err != nil {
		t.Fatal(err)
	}
	event := Event{Partition: 2, Offset: 7, Timestamp: 5, Value: Hex{1, 0, 255}}
	segment := parseID(t, segmentID)
	state := State{
		Topic: "t", Partition: 1, TopicID: parseID(t, topicID), MetadataPartition: 2, Events: 3,
		Segments: []Metadata{{Kind: KindSegment, SegmentID: segment, Epochs: [][2]int64{{0, 10}}, CustomMetadata: Hex{}}},
		Epochs:   []EpochState{{List: []api.UUID{segment}, RemoteLogSize: 9}},
		Queries:  []Query{{Offset: 10, Segment: segment}},
	}
	want := []Recording{{Name: "x", Events: []Event{event, event}, States: []State{state}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("recordings (-want +got):\n%s", diff)
	}
}

func TestStatesAreSorted(t *testing.T) {
	dir := folder(t, map[string]string{
		"s": `{"topic":"b","partition":0,"topicId":"` + topicID + `"}
			{"topic":"a","partition":2,"topicId":"` + topicID + `"}
			{"topic":"a","partition":1,"topicId":"` + topicID + `"}
			{"topic":"a","partition":3,"topicId":"` + segmentID + `"}`,
	})
	states, err := ReadState(filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	var got []int32
	for _, s := range states {
		got = append(got, s.Partition)
	}
	if want := []int32{3, 1, 2, 0}; !cmp.Equal(got, want) {
		t.Errorf("partitions %v, want %v", got, want)
	}
}

func TestDamagedRecordingsAreErrors(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"empty folder":      {},
		"no pair":           {"README": ""},
		"lone events":       {"x-events.jsonl": anEvent},
		"lone state":        {"x-state.jsonl": aState},
		"second pair short": {"x-events.jsonl": anEvent, "x-state.jsonl": aState, "y-state.jsonl": aState},
		"no event":          {"x-events.jsonl": "", "x-state.jsonl": aState},
		"no state":          {"x-events.jsonl": anEvent, "x-state.jsonl": ""},
		"half an event":     {"x-events.jsonl": anEvent[:20], "x-state.jsonl": aState},
		"odd hex":           {"x-events.jsonl": `{"value":"0"}`, "x-state.jsonl": aState},
		"short query":       {"x-events.jsonl": anEvent, "x-state.jsonl": `{"get_epoch_offset_segment_nextTxn":[[0,1,"null"]]}`},
		"long query":        {"x-events.jsonl": anEvent, "x-state.jsonl": `{"get_epoch_offset_segment_nextTxn":[[0,1,"null","null",2]]}`},
		"bad segment id":    {"x-events.jsonl": anEvent, "x-state.jsonl": `{"get_epoch_offset_segment_nextTxn":[[0,1,"?","null"]]}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := readRecordings(folder(t, files)); err == nil {
				t.Errorf("no error, but %+v", got)
			}
		})
	}
}

func TestRecordingsAreTheBundledAndTheGiven(t *testing.T) {
	t.Setenv("RLMM_RECORDINGS_DIR", folder(t, map[string]string{"x-events.jsonl": anEvent, "x-state.jsonl": aState}))
	var names []string
	for _, r := range Recordings(t) {
		names = append(names, r.Name)
	}
	if want := []string{"real", "x"}; !cmp.Equal(names, want) {
		t.Errorf("names %v, want %v", names, want)
	}
	t.Setenv("RLMM_RECORDINGS_DIR", filepath.Join(os.TempDir(), "no", "such", "folder"))
	if _, err := allRecordings(); err == nil {
		t.Error("no error for a folder that isn't there")
	}
}

func TestBundledRecordingIsComplete(t *testing.T) {
	t.Setenv("RLMM_RECORDINGS_DIR", "")
	bundled := Recordings(t)[0]
	if len(bundled.Events) != 896 || len(bundled.States) != 8 {
		t.Errorf("%d events and %d states, want 896 and 8", len(bundled.Events), len(bundled.States))
	}
	events := 0
	for _, s := range bundled.States {
		events += s.Events
	}
	if events != len(bundled.Events) {
		t.Errorf("the states speak of %d events, there are %d", events, len(bundled.Events))
	}
}
