package check

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tieredlog/rlmm/api"
)

// Kind says what a finding is about.
type Kind string

// The kinds of findings. The first four are faults: the store, or this program, is wrong.
// The others are what right rows tell, and for an operator to judge.
const (
	// Row is a row that doesn't decode, or that no event makes.
	Row Kind = "row"
	// Misplaced is a row in the store of a metadata partition that isn't its own.
	Misplaced Kind = "misplaced"
	// Index is an answer of the index that differs from that of a scan.
	Index Kind = "index"
	// Counter is a total that a server tells and that differs from what its rows come to.
	Counter Kind = "counter"
	// Gap is offsets of an epoch, between its first finished segment's start and its
	// highest offset, that no finished segment of the epoch holds.
	Gap Kind = "gap"
	// Overlap is offsets of an epoch that two finished segments of it hold. Copies that
	// were tried again leave such.
	Overlap Kind = "overlap"
	// EpochOrder is leader epochs that don't ascend with the offsets: within a segment, or
	// where finished segments hold offsets of an epoch at or after the first of a higher
	// one. Lineages that diverged, after an unclean election for one, leave such.
	EpochOrder Kind = "epoch_order"
	// Orphan is a segment whose remote objects may be left for good: a copy or a deletion
	// that began long ago and never ended, the deletion of a segment that was never added,
	// a segment left over from a deleted partition.
	Orphan Kind = "orphan"
	// MissingObject is a finished segment without an object in a listing.
	MissingObject Kind = "missing_object"
	// UnknownObject is an object in a listing whose segment no row tells of.
	UnknownObject Kind = "unknown_object"
	// DeletedObject is an object in a listing whose segment is deleted.
	DeletedObject Kind = "deleted_object"
)

// Kinds are all kinds, in the order in which reports count them.
var Kinds = [...]Kind{Row, Misplaced, Index, Counter, Gap, Overlap, EpochOrder, Orphan, MissingObject, UnknownObject, DeletedObject}

// IsFault tells whether findings of the kind mean that the store or this program is wrong.
func (k Kind) IsFault() bool { return k == Row || k == Misplaced || k == Index || k == Counter }

// Finding is one thing that was found.
type Finding struct {
	Kind Kind
	// Key is the table's key of the row, or of the partition (Index, Counter,
	// Gap, Overlap, EpochOrder); the object's name (UnknownObject, DeletedObject).
	Key string
	// Partition is the user partition; the zero value when the key is none.
	Partition api.TopicIdPartition
	// Segments are the segments that the finding is about: one of an Orphan, an object and
	// a segment's row, two of an Overlap and of an EpochOrder between segments.
	Segments []api.UUID
	// Span is where a Gap, an Overlap or an EpochOrder is; nil of the others.
	Span *Span
	// Message says what was found, in words.
	Message string
}

// Span is a range of offsets of a leader epoch, both ends inclusive.
type Span struct {
	LeaderEpoch int32
	First, Last int64
}

// String is the finding in a line.
func (f Finding) String() string {
	where := f.Key
	if f.Partition.Topic != "" {
		where += " (" + f.Partition.Topic + ")"
	}
	return fmt.Sprintf("%s %s: %s", f.Kind, where, f.Message)
}

// Report is what was looked at, and what was found.
type Report struct {
	// Rows counts the rows, Partitions the user partitions among them and Segments the
	// rows of segments that aren't deleted.
	Rows, Partitions, Segments int
	// Findings are in the order of partitions' keys: of each first what is wrong with rows,
	// then by kind.
	Findings []Finding
}

// Add takes in the report of other rows.
func (r *Report) Add(other Report) {
	r.Rows += other.Rows
	r.Partitions += other.Partitions
	r.Segments += other.Segments
	r.Findings = append(r.Findings, other.Findings...)
}

// Count returns the number of findings of a kind.
func (r Report) Count(k Kind) (n int) {
	for _, f := range r.Findings {
		if f.Kind == k {
			n++
		}
	}
	return n
}

// Summary says in a line what was looked at and how much was found.
func (r Report) Summary() string {
	found := "nothing found"
	if n := len(r.Findings); n > 0 {
		found = fmt.Sprintf("%d found:", n)
		for _, k := range Kinds {
			if n := r.Count(k); n > 0 {
				found += fmt.Sprintf(" %d %s", n, k)
			}
		}
	}
	return fmt.Sprintf("%d rows, %d partitions, %d segments; %s", r.Rows, r.Partitions, r.Segments, found)
}

// String is a line for each finding, and the summary.
func (r Report) String() string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintln(&b, f)
	}
	b.WriteString(r.Summary())
	return b.String()
}

// Faults returns an error that tells all findings that are faults; nil when there are none.
func (r Report) Faults() error {
	var errs []error
	for _, f := range r.Findings {
		if f.Kind.IsFault() {
			errs = append(errs, errors.New(f.String()))
		}
	}
	return errors.Join(errs...)
}
