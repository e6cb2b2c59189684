package kafkatest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	eventsSuffix = "-events.jsonl"
	stateSuffix  = "-state.jsonl"
)

// Event is a record of the metadata topic.
type Event struct {
	// Partition is the metadata partition.
	Partition int32 `json:"partition"`
	Offset    int64 `json:"offset"`
	// Timestamp is in milliseconds since 1970.
	Timestamp int64 `json:"timestamp"`
	// Key and Value are nil for null.
	Key   Hex `json:"key"`
	Value Hex `json:"value"`
	// Decoded is what the value says, nil when the recording doesn't tell.
	Decoded *Metadata `json:"decoded,omitempty"`
}

// Recording is a metadata topic of a real broker and what Kafka's manager answers after
// a replay of it.
type Recording struct {
	// Name is the files' name without -events.jsonl and -state.jsonl.
	Name   string
	Events []Event
	// States is sorted by topic, topic id and partition.
	States []State
}

// ReadEvents reads a file of events, one JSON object a line. A file without any is an
// error.
func ReadEvents(path string) ([]Event, error) { return readLines[Event](path) }

// ReadState reads a file of states, one JSON object a line, and sorts them by topic,
// topic id and partition. A file without any is an error.
func ReadState(path string) ([]State, error) {
	states, err := readLines[State](path)
	sortStates(states)
	return states, err
}

// Recordings returns the bundled recording and those in the folder that the environment
// variable RLMM_RECORDINGS_DIR names, as pairs of files NAME-events.jsonl and
// NAME-state.jsonl; other files are left alone. A file without its partner, a folder
// without a pair, and a file that can't be read fail the test.
func Recordings(tb testing.TB) []Recording {
	tb.Helper()
	recordings, err := allRecordings()
	if err != nil {
		tb.Fatalf("recordings: %v", err)
	}
	return recordings
}

func allRecordings() ([]Recording, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	recordings, err := readRecordings(filepath.Join(root, "integration", "testdata", "recordings"))
	dir := os.Getenv("RLMM_RECORDINGS_DIR")
	if err != nil || dir == "" {
		return recordings, err
	}
	extra, err := readRecordings(dir)
	return append(recordings, extra...), err
}

func readRecordings(dir string) ([]Recording, error) {
	names, err := recordingNames(dir)
	if err != nil {
		return nil, err
	}
	var recordings []Recording
	for _, name := range names {
		base := filepath.Join(dir, name)
		events, eventsErr := ReadEvents(base + eventsSuffix)
		states, stateErr := ReadState(base + stateSuffix)
		if err := errors.Join(eventsErr, stateErr); err != nil {
			return nil, err
		}
		recordings = append(recordings, Recording{Name: name, Events: events, States: states})
	}
	return recordings, nil
}

// recordingNames returns every name of which there is at least one of the two files.
func recordingNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, entry := range entries {
		for _, suffix := range []string{eventsSuffix, stateSuffix} {
			if name, ok := strings.CutSuffix(entry.Name(), suffix); ok {
				names[name] = true
			}
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no recording in %s", dir)
	}
	return slices.Sorted(maps.Keys(names)), nil
}

func readLines[T any](path string) ([]T, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	lines, err := decodeLines[T](file)
	if err == nil && len(lines) == 0 {
		err = errors.New("empty")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return lines, nil
}

func decodeLines[T any](r io.Reader) ([]T, error) {
	var lines []T
	for d := json.NewDecoder(r); ; {
		var line T
		switch err := d.Decode(&line); {
		case errors.Is(err, io.EOF):
			return lines, nil
		case err != nil:
			return nil, fmt.Errorf("object %d: %w", len(lines)+1, err)
		}
		lines = append(lines, line)
	}
}
