package index_test

import (
	"bufio"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// script is one line of an oracle file: events in Kafka's format, and what Kafka's
// RemoteLogMetadataCache answered after some of them.
type script struct {
	Scenario    int
	Initialized bool
	Events      []string // hex
	Outcome     []string // "ok" or the class of Kafka's exception
	Checks      []struct {
		After   int
		Queries []question
	}
}

type question struct {
	Q      string
	Epoch  int32
	Offset int64
	Expect json.RawMessage
	Error  string // the class of Kafka's exception
}

// TestOracle asks what Kafka's own cache was asked. An answer equals Kafka's or falls
// under one of the differences that are meant; each is recognised by a predicate that
// proves the answer right. RLMM_ORACLE_FILES names more files, separated by colons.
func TestOracle(t *testing.T) {
	files := []string{filepath.Join("testdata", "cache-oracle.jsonl.gz")}
	files = append(files, filepath.SplitList(os.Getenv("RLMM_ORACLE_FILES"))...)
	for i, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			counts := map[string]int{}
			for s := range scripts(t, file) {
				newOracle(t, s, counts).run(s)
			}
			for _, class := range slices.Sorted(maps.Keys(counts)) {
				t.Logf("%7d %s", counts[class], class)
			}
			if i == 0 {
				checkKnownCounts(t, counts)
			}
		})
	}
}

// checkKnownCounts pins the look-ups of the file in testdata, so that no class swallows
// what was equal.
func checkKnownCounts(t *testing.T, counts map[string]int) {
	want := map[string]int{"get: equal": 62_460, "get: second add": 223, "get: lost by Kafka": 73, "get: two right segments": 36}
	for class, n := range want {
		if counts[class] != n {
			t.Errorf("%s: %d, want %d", class, counts[class], n)
		}
	}
}

func scripts(t *testing.T, file string) func(func(*script) bool) {
	return func(yield func(*script) bool) {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var r io.Reader = bufio.NewReader(f)
		if strings.HasSuffix(file, ".gz") {
			if r, err = gzip.NewReader(r); err != nil {
				t.Fatal(err)
			}
		}
		for d := json.NewDecoder(r); ; {
			s := new(script)
			if err := d.Decode(s); err == io.EOF {
				return
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if !yield(s) {
				return
			}
		}
	}
}

// oracle runs one script through fold and index, and through the model, from which the
// predicates take what is right.
type oracle struct {
	t      *testing.T
	name   string
	counts map[string]int
	table  *table
	model  *model
	// readded are the ids whose second add was refused: Kafka took it and went on
	// from there.
	readded map[api.UUID]bool
	// bodies are all epochs that a readded segment carried in any of its adds.
	bodies map[api.UUID][]api.LeaderEpochs
	// given is the last custom metadata that an update of the segment brought, and
	// cleared whether Kafka has dropped it since.
	given   map[api.UUID]api.CustomMetadata
	cleared map[api.UUID]bool
}

func newOracle(t *testing.T, s *script, counts map[string]int) *oracle {
	return &oracle{
		t: t, name: fmt.Sprint("scenario ", s.Scenario), counts: counts, table: newTable(), model: newModel(),
		readded: map[api.UUID]bool{}, bodies: map[api.UUID][]api.LeaderEpochs{},
		given: map[api.UUID]api.CustomMetadata{}, cleared: map[api.UUID]bool{},
	}
}

func (o *oracle) run(s *script) {
	applied := 0
	for _, check := range s.Checks {
		for ; applied < check.After; applied++ {
			o.apply(s, applied)
		}
		for _, q := range check.Queries {
			o.ask(q)
		}
	}
}

func (o *oracle) apply(s *script, i int) {
	value, err := hex.DecodeString(s.Events[i])
	if err != nil {
		o.t.Fatal(err)
	}
	event, err := codec.DecodeRecord(value)
	if err != nil {
		o.t.Fatalf("%s, event %d: %v", o.name, i, err)
	}
	outcome := o.table.apply(event)
	if want := o.model.apply(event); outcome != want {
		o.t.Errorf("%s, event %d: %s, the model says %s", o.name, i, outcome, want)
	}
	o.note(event, outcome)
	o.count("outcome", o.classifyOutcome(event, outcome, s.Outcome[i], s.Initialized), outcome, s.Outcome[i])
}

func (o *oracle) note(event api.RemoteLogMetadata, outcome codec.Outcome) {
	switch e := event.(type) {
	case api.RemoteLogSegmentMetadata:
		o.bodies[e.ID.ID] = append(o.bodies[e.ID.ID], e.LeaderEpochs)
		if outcome == codec.OutcomeInvalidAdd {
			o.readded[e.ID.ID] = true
		}
	case api.RemoteLogSegmentMetadataUpdate:
		if outcome == codec.OutcomeApplied {
			o.cleared[e.ID.ID] = !e.CustomMetadata.Present()
			if e.CustomMetadata.Present() {
				o.given[e.ID.ID] = e.CustomMetadata
			}
		}
	}
}

func (o *oracle) classifyOutcome(event api.RemoteLogMetadata, outcome codec.Outcome, kafka string, initialized bool) string {
	switch {
	case outcome == codec.OutcomeApplied && kafka == "ok":
		return "equal"
	case outcome == codec.OutcomeSegmentNotFound && (kafka == "RemoteResourceNotFoundException" || !initialized && kafka == "ok"):
		return "unknown id"
	case outcome == codec.OutcomeInvalidSegmentTransition && kafka == "ok":
		return "invalid transition, ignored by Kafka"
	case o.readded[keyOf(event)]:
		return "second add"
	}
	return ""
}

// count notes the class of an answer; the empty class is a failure.
func (o *oracle) count(query, class string, got, kafka any) {
	if class == "" {
		o.t.Errorf("%s: %s: got %v, Kafka %v", o.name, query, got, kafka)
		class = "unexplained"
	}
	o.counts[strings.Fields(query)[0]+": "+class]++
}

func decode[T any](t *testing.T, raw json.RawMessage) (v T) {
	if raw != nil {
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
	}
	return v
}
