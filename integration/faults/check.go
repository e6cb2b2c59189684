package faults

import (
	"fmt"
	"strings"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/table"
	"github.com/tieredlog/rlmm/processor/fold"
)

// Rows is the state of one metadata partition: encoded rows by their keys.
type Rows map[string]string

// answer is what the fold says to one input record.
type answer struct {
	key     string
	value   string // the row afterwards, empty for none
	outcome codec.Outcome
}

// Expected is what one metadata partition's input comes to, by brute force.
type Expected struct {
	Rows    Rows
	answers map[int64]answer // by input offset
}

// largestRow is what the table takes of a row, in bytes: a table that a processor creates
// takes as much as the metadata topic, by default 1048588, beside what a record has more.
const largestRow = 1048588

// FoldAll folds a partition's input from its beginning, as the design says it, with
// nothing but the fold.
func FoldAll(partition, partitions int32, input []*sarama.ConsumerMessage) (Expected, error) {
	e := Expected{Rows{}, map[int64]answer{}}
	rows := map[string]*codec.Row{}
	for _, m := range input {
		a, err := foldOne(rows, partition, partitions, m)
		if err != nil {
			return e, fmt.Errorf("input %d/%d: %w", m.Partition, m.Offset, err)
		}
		e.answers[m.Offset] = a
		if a.value != "" {
			e.Rows[a.key] = a.value
		} else {
			delete(e.Rows, a.key)
		}
	}
	return e, nil
}

func foldOne(rows map[string]*codec.Row, partition, partitions int32, m *sarama.ConsumerMessage) (answer, error) {
	event, err := codec.DecodeRecord(m.Value)
	switch {
	case m.Value == nil:
		return answer{codec.RejectedKey(partition), "", codec.OutcomeNullValue}, nil
	case err != nil:
		return answer{codec.RejectedKey(partition), "", codec.OutcomeUndecodable}, nil
	case codec.MetadataPartition(event.Partition(), partitions) != partition:
		return answer{codec.RejectedKey(partition), "", codec.OutcomeMisrouted}, nil
	}
	key := codec.EventKey(event)
	next, outcome := fold.Fold(rows[key], event, m.Offset)
	value := ""
	if next != nil {
		value = string(codec.EncodeRow(*next))
	}
	if len(value) > largestRow {
		return answer{codec.RejectedKey(partition), "", codec.OutcomeTooLarge}, nil
	}
	rows[key] = next
	return answer{key, value, outcome}, nil
}

// Findings are faults of a table or a store; none is right.
type Findings []string

func (f *Findings) add(format string, args ...any) {
	if len(*f) < 20 {
		*f = append(*f, fmt.Sprintf(format, args...))
	} else if len(*f) == 20 {
		*f = append(*f, "…")
	}
}

// Replay is a table partition read from its beginning.
type Replay struct {
	Rows    Rows
	Fences  int
	Purges  int
	Answers int
	// history has the rows' changes by table offset, to tell the state at any of them.
	history []change
}

type change struct {
	offset     int64
	key, value string
}

// At is the state after the table record at the offset.
func (r Replay) At(offset int64) Rows {
	rows := Rows{}
	for _, c := range r.history {
		if c.offset > offset {
			break
		}
		set(rows, c.key, c.value)
	}
	return rows
}

func set(rows Rows, key, value string) {
	if value == "" {
		delete(rows, key)
	} else {
		rows[key] = value
	}
}

// CheckTable reads the table as a stranger would, without any guard: every record
// counts, so a doubled or a late one shows. Each input record must have exactly one
// answer, in order, with the outcome and the row of the brute-force fold.
func CheckTable(records []*sarama.ConsumerMessage, want Expected) (Replay, Findings) {
	var findings Findings
	replay := Replay{Rows: Rows{}}
	last := int64(-1)
	for _, m := range records {
		r, err := table.Parse(string(m.Key), m.Value, goka.HeadersFromSarama(m.Headers), m.Timestamp)
		if err != nil {
			findings.add("table %d/%d: %v", m.Partition, m.Offset, err)
			continue
		}
		switch r.Kind {
		case table.Fence:
			replay.Fences++
			continue
		case table.Progress:
			if r.Source < last {
				findings.add("table %d/%d: position %d, but %d was answered", m.Partition, m.Offset, r.Source, last)
			}
			findings.skipped(m, want, last, r.Source+1) // a position may pass what is gone
			last = max(last, r.Source)
			continue
		case table.Purge:
			replay.Purges++
		case table.Repair:
			if row := replay.Rows[r.Key]; row != string(r.Value) {
				findings.add("table %d/%d: %s is written again as %x, it was %x", m.Partition, m.Offset, r.Key, r.Value, row)
			}
		case table.Answer:
			replay.Answers++
			if r.Source <= last {
				findings.add("table %d/%d: answers %d after %d", m.Partition, m.Offset, r.Source, last)
			}
			findings.skipped(m, want, last, r.Source)
			findings.compare(m, want.answers[r.Source], r)
			last = max(last, r.Source)
		}
		replay.change(m.Offset, r)
	}
	findings.missing(want, last)
	return replay, findings
}

func (r *Replay) change(offset int64, rec table.Record) {
	if codec.IsHidden(rec.Key) {
		return
	}
	set(r.Rows, rec.Key, string(rec.Value))
	r.history = append(r.history, change{offset, rec.Key, string(rec.Value)})
}

func (f *Findings) compare(m *sarama.ConsumerMessage, want answer, got table.Record) {
	if want.key != got.Key || want.value != string(got.Value) || want.outcome != got.Outcome {
		f.add("table %d/%d: answer to %d is %s %s %x, want %s %s %x", m.Partition, m.Offset, got.Source,
			got.Outcome, got.Key, got.Value, want.outcome, want.key, want.value)
	}
}

func (f *Findings) skipped(m *sarama.ConsumerMessage, want Expected, last, next int64) {
	for o := last + 1; o < next; o++ {
		if _, ok := want.answers[o]; ok {
			f.add("table %d/%d: no answer to %d", m.Partition, m.Offset, o)
		}
	}
}

func (f *Findings) missing(want Expected, last int64) {
	for o := range want.answers {
		if o > last {
			f.add("input %d isn't answered, the last is %d", o, last)
		}
	}
}

// Diff compares two states.
func Diff(what string, want, got Rows) Findings {
	var f Findings
	for key, value := range want {
		if got[key] != value {
			f.add("%s: %s is %x, want %x", what, key, got[key], value)
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			f.add("%s: %s shouldn't be there", what, key)
		}
	}
	return f
}

// String lists the findings.
func (f Findings) String() string { return strings.Join(f, "\n") }

// LastAnswered is the greatest input offset that table records answer, or that a position
// says to be answered, since compaction may take the answer; −1 is none.
func LastAnswered(records []*sarama.ConsumerMessage) int64 {
	last := int64(-1)
	for _, m := range records {
		r, err := table.Parse(string(m.Key), m.Value, goka.HeadersFromSarama(m.Headers), m.Timestamp)
		if err == nil && (r.Kind == table.Answer || r.Kind == table.Progress) {
			last = max(last, r.Source)
		}
	}
	return last
}

// IsCompacted tells whether no key is twice among the table records below the offset.
func IsCompacted(records []*sarama.ConsumerMessage, below int64) bool {
	seen := map[string]bool{}
	for _, m := range records {
		if m.Offset >= below {
			break
		}
		if seen[string(m.Key)] {
			return false
		}
		seen[string(m.Key)] = true
	}
	return true
}
