package codec

import "fmt"

// Outcome is what became of one input record: the header rlmm.outcome of the table
// record that answers it. The zero value is no outcome.
type Outcome uint8

// The outcomes. Their texts are part of the table's format: "applied", "purge", or
// the name of the error that a mutation gets.
const (
	// OutcomeApplied is an accepted event; an idempotent retry too.
	OutcomeApplied Outcome = iota + 1
	// OutcomeInvalidAdd is [api.ErrInvalidAdd].
	OutcomeInvalidAdd
	// OutcomeSegmentNotFound is [api.ErrSegmentNotFound].
	OutcomeSegmentNotFound
	// OutcomeInvalidSegmentTransition is [api.ErrInvalidSegmentTransition].
	OutcomeInvalidSegmentTransition
	// OutcomeInvalidPartitionDeleteTransition is
	// [api.ErrInvalidPartitionDeleteTransition].
	OutcomeInvalidPartitionDeleteTransition
	// OutcomeUndecodable is a value that isn't a record of Kafka's format.
	OutcomeUndecodable
	// OutcomeNullValue is a record without a value, a tombstone that means nothing
	// here.
	OutcomeNullValue
	// OutcomeMisrouted is an event that lies on another metadata partition than
	// Kafka's partitioner gives its TopicIdPartition.
	OutcomeMisrouted
	// OutcomeTooLarge is an event whose row would be too large for the table.
	OutcomeTooLarge
	// OutcomePurge answers no input record: the processor removed a marker that
	// nothing needs any more.
	OutcomePurge
	// OutcomeRepair answers no input record: the processor wrote a row again that somebody
	// else had written to.
	OutcomeRepair
)

var outcomeTexts = [...]string{
	OutcomeApplied:                          "applied",
	OutcomeInvalidAdd:                       "InvalidAdd",
	OutcomeSegmentNotFound:                  "SegmentNotFound",
	OutcomeInvalidSegmentTransition:         "InvalidSegmentTransition",
	OutcomeInvalidPartitionDeleteTransition: "InvalidPartitionDeleteTransition",
	OutcomeUndecodable:                      "Undecodable",
	OutcomeNullValue:                        "NullValue",
	OutcomeMisrouted:                        "Misrouted",
	OutcomeTooLarge:                         "TooLarge",
	OutcomePurge:                            "purge",
	OutcomeRepair:                           "repair",
}

// ParseOutcome reads the text of an outcome; any other text is an error.
func ParseOutcome(text string) (Outcome, error) {
	for o := OutcomeApplied; o <= OutcomeRepair; o++ {
		if outcomeTexts[o] == text {
			return o, nil
		}
	}
	return 0, fmt.Errorf("codec: %.40q is not an outcome", text)
}

// String returns the outcome's text, UNKNOWN(n) for a number that is none.
func (o Outcome) String() string {
	if o < OutcomeApplied || o > OutcomeRepair {
		return fmt.Sprintf("UNKNOWN(%d)", uint8(o))
	}
	return outcomeTexts[o]
}

// Answers tells whether the outcome is that of an input record.
func (o Outcome) Answers() bool { return o != OutcomePurge && o != OutcomeRepair }

// Rejected tells whether the input record was refused: every outcome of one but applied.
func (o Outcome) Rejected() bool { return o != OutcomeApplied && o.Answers() }

// Hidden tells whether the answer lies under the partition's [RejectedKey]: the event is of
// no row, or its row must stay as it is and not be written again.
func (o Outcome) Hidden() bool { return o >= OutcomeUndecodable && o <= OutcomeTooLarge }
