package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// script runs command lines with a text as standard input, and returns what they printed.
func script(t *testing.T, source []string, stdin string, lines ...string) string {
	t.Helper()
	var all strings.Builder
	for _, line := range lines {
		got := execute(t, stdin, append(strings.Fields(line), source...)...)
		fmt.Fprintf(&all, "$ rlmm %s\n%s-- stderr, exit %d\n%s\n", line, got.out, got.code, strings.ReplaceAll(got.err, source[1], "ADDRESS"))
	}
	return all.String()
}

// rowsIn are the rows of a source's export, which leaves out markers that nothing needs.
func rowsIn(t *testing.T, source []string) (rows []rest.Row) {
	t.Helper()
	for line := range strings.Lines(execute(t, "", append([]string{"export"}, source...)...).out) {
		var row rest.Row
		if json.Unmarshal([]byte(line), &row) == nil {
			rows = append(rows, row)
		}
	}
	return rows
}

// listingOf is the objects that the rows say there are, as Kafka's LocalTieredStorage names
// them: but for those of one segment, and with one of a deleted segment and one of another
// system, and a file that is none.
func listingOf(t *testing.T, rows []rest.Row) (complete, planted string) {
	t.Helper()
	name := func(id api.UUID) string { return "tiered/00000000000000000000-" + id.String() + ".log\n" }
	var good, bad strings.Builder
	missing, deleted := false, false
	for _, row := range rows {
		id := row.Segment.ID.ID
		switch {
		case row.Kind == rest.RowSegment && row.Segment.State == api.CopySegmentFinished && row.Segment.ID.TopicIdPartition.Topic == "t-keep" && !missing:
			missing = true
			good.WriteString(name(id))
		case row.Kind == rest.RowSegment:
			good.WriteString(name(id))
			bad.WriteString(name(id))
		case row.Kind == rest.RowMarker && !deleted:
			deleted = true
			bad.WriteString(name(id))
		}
	}
	if !missing || !deleted {
		t.Fatalf("a finished segment: %v, a marker: %v", missing, deleted)
	}
	return good.String(), bad.String() + name(api.UUIDFromBits(0x4009, 1)) + "tiered/README.md\n"
}

// verify and orphans find each kind that is planted, the same from every source, and
// nothing else in the bundled recording.
func TestChecksFromEverySource(t *testing.T) {
	w := newWorld(t)
	complete, planted := listingOf(t, rowsIn(t, w.sources["topic"]))
	for _, name := range []string{"topic", "server", "folder"} {
		t.Run(name, func(t *testing.T) {
			source := w.sources[name]
			verified := script(t, source, planted, "verify", "verify -o json", "verify --against - --older-than 0s --no-headers")
			if name == "folder" {
				golden(t, "verify-offline", verified)
			} else {
				golden(t, "verify", verified)
			}
			golden(t, "orphans-against", script(t, source, planted, "orphans --against -", "orphans --against - -o json"))
			got := execute(t, complete, append([]string{"verify", "--against", "-", "--older-than", "0s"}, source...)...)
			if strings.Contains(got.out, "_object") || !strings.Contains(got.err, "0 have no segment id") {
				t.Errorf("a complete listing: %+v", got)
			}
		})
	}
	t.Run("repair", func(t *testing.T) { testRepair(t, w) })
}

// A plan does nothing until it is told to, then what it says, and nothing a second time.
func testRepair(t *testing.T, w world) {
	source := w.sources["topic"]
	var plan strings.Builder
	for _, line := range []string{"orphans --plan", "orphans marked --plan --deleted-topics", "orphans t-gone --plan --deleted-topics"} {
		got := execute(t, "", append(strings.Fields(line), source...)...)
		if got.code != 0 {
			t.Fatalf("%s: %+v", line, got)
		}
		for action := range strings.Lines(got.out) {
			if !strings.Contains(plan.String(), action) {
				plan.WriteString(action)
			}
		}
	}
	before := execute(t, "", append([]string{"dump"}, source...)...).out
	text := script(t, source, plan.String(), "repair -", "repair - -o json")
	if after := execute(t, "", append([]string{"dump"}, source...)...).out; after != before {
		t.Error("a dry run has published something")
	}
	golden(t, "repair", "# the plan\n"+plan.String()+"\n"+text+script(t, source, plan.String(), "repair - --execute", "repair - --execute -o json"))
	for _, o := range []string{"orphans", "orphans marked --deleted-topics", "orphans t-gone --deleted-topics"} {
		if got := execute(t, "", append(strings.Fields(o), source...)...); got.code != 0 {
			t.Errorf("%s, afterwards: %+v", o, got)
		}
	}
	// The fleet comes to the same.
	tip := api.TopicIdPartition{TopicID: api.UUIDFromBits(0x4001, 2), Topic: "marked"}
	awaitCaughtUp(t, w.sources["server"][1], tip)
	if diff := cmp.Diff(transcript(t, source, "partitions marked -o wide"), transcript(t, w.sources["server"], "partitions marked -o wide")); diff != "" {
		t.Errorf("-topic +server\n%s", diff)
	}
}

// A plan that is of another topic, or that can't be read, is refused whole.
func TestRepairRefuses(t *testing.T) {
	_, _, kafka := devRun(t, t.TempDir(), "--empty")
	plan := `{"action":"end_partition","metadataPartition":3,"topicId":"UpZHhnEzQuGqT8T9QFvE9w","topic":"t-keep","partition":0,"expect":{"state":"NONE","offset":-1}}`
	for _, c := range []struct {
		plan, want string
		code       int
	}{
		{plan, "on metadata partition 45 of 50, and the plan says 3", exitFailure},
		{"x", "line 1", exitFailure},
		{"", "published 0 events", 0},
		{strings.Replace(plan, `"metadataPartition":3`, `"metadataPartition":45`, 1), "published 3 events to __remote_log_metadata, 0 were rejected", 0},
	} {
		got := execute(t, c.plan, "repair", "-", "--execute", "--bootstrap", kafka)
		if got.code != c.code || !strings.Contains(got.err, c.want) {
			t.Errorf("%q: %+v", c.plan, got)
		}
	}
}

// Objects that a source doesn't know of would be unknown.
func TestAgainstNeedsAllMetadataPartitions(t *testing.T) {
	data := t.TempDir()
	plant(t, data, "views/38", finishedRow(1, 0, 99))
	list := filepath.Join(t.TempDir(), "objects.txt")
	if err := os.WriteFile(list, []byte("AAAAAAAAAAEAAAAAAAAAAQ.log\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"verify", "orphans"} {
		got := execute(t, "", verb, "--offline", data, "--against", list)
		if got.code != exitFailure || !strings.Contains(got.err, "the source tells of 1 metadata partitions, and there are 50") {
			t.Errorf("%s: %+v", verb, got)
		}
	}
	got := execute(t, "", "verify", "--offline", data, "--against", list+"x", "--partitions", "1")
	if got.code == 0 {
		t.Errorf("a listing that isn't there: %+v", got)
	}
}

func TestChecksUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"verify", "--bootstrap, --server and --offline"},
		{"doctor", "--bootstrap"},
		{"doctor --bootstrap h:1 --partitions -1", "--partitions"},
		{"doctor --bootstrap h:1 --replication-factor 0", "replication"},
		{"doctor --bootstrap h:1 --since -1s", "--since"},
		{"doctor --bootstrap h:1 --settle -1s", "--settle"},
		{"doctor --bootstrap h:1 -o xml", "xml"},
		{"repair", "arg"},
		{"repair p", "--bootstrap"},
		{"repair p --bootstrap h:1 -o xml", "xml"},
		{"orphans t --bootstrap h:1 --against f", "--against needs all topics"},
		{"orphans --bootstrap h:1 --against f --plan", "--against and --plan"},
		{"orphans --bootstrap h:1 --partitions 0", "--partitions"},
	} {
		got := execute(t, "", strings.Fields(c.args)...)
		if got.code != exitUsage || !strings.Contains(got.err, c.want) || got.out != "" {
			t.Errorf("rlmm %s: exit %d, out %q, err %q; want exit 2 and %q on stderr", c.args, got.code, got.out, got.err, c.want)
		}
	}
}
