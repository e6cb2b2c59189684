package scenario

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/tieredlog/rlmm/api"
)

//go:embed scripts/*.txt
var files embed.FS

// Script is one scenario.
type Script struct {
	// Name is what messages call it: that of its file without .txt, C01-epoch-boundary
	// for one.
	Name string
	// Text is its lines.
	Text string
}

// All returns the scripts, by name.
func All() ([]Script, error) {
	entries, err := files.ReadDir("scripts")
	if err != nil {
		return nil, err
	}
	var all []Script
	for _, e := range entries {
		text, err := files.ReadFile(path.Join("scripts", e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, Script{Name: strings.TrimSuffix(e.Name(), ".txt"), Text: string(text)})
	}
	return all, nil
}

// Step is one line of a script: an event, or a query.
type Step struct {
	// At is script and line, for messages.
	At string
	// Text is the line without its answer and comment.
	Text string
	// Verb is the line's first word.
	Verb string
	// Partition is the user partition that the line is about.
	Partition api.TopicIdPartition
	// Segment is the segment that the line names; zero when it names none.
	Segment api.UUID
	// Want is the answer: that of a query, or what becomes of an event, [Applied] or the
	// name of an error.
	Want string

	event  api.RemoteLogMetadata // nil for a query
	epoch  int32
	offset int64
	state  api.RemoteLogSegmentState
}

// Steps reads the script. tip gives each name of a partition a partition; it is called
// once for a name, and the lines before any name are of the partition "orders". The
// error names the line that can't be read.
func (s Script) Steps(tip func(name string) api.TopicIdPartition) ([]Step, error) {
	tips := map[string]api.TopicIdPartition{}
	current := "orders"
	var steps []Step
	for i, line := range strings.Split(s.Text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
			continue
		case fields[0] == "partition" && len(fields) == 2:
			current = fields[1]
			continue
		}
		if _, ok := tips[current]; !ok {
			tips[current] = tip(current)
		}
		step := Step{At: fmt.Sprintf("%s:%d", s.Name, i+1), Partition: tips[current]}
		if err := step.parse(line); err != nil {
			return nil, fmt.Errorf("%s: %w", step.At, err)
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// IsEvent tells whether the step is an event, not a query.
func (s Step) IsEvent() bool { return s.event != nil }
