package kafka

import (
	"errors"
	"fmt"
	"slices"

	"github.com/IBM/sarama"
)

// fatalCodes are the answers of a broker that no retry mends: someone must change
// rights or settings first.
var fatalCodes = []sarama.KError{
	sarama.ErrTopicAuthorizationFailed, sarama.ErrGroupAuthorizationFailed, sarama.ErrClusterAuthorizationFailed,
	sarama.ErrTransactionalIDAuthorizationFailed, sarama.ErrSASLAuthenticationFailed,
	sarama.ErrInvalidReplicationFactor, sarama.ErrInvalidPartitions, sarama.ErrPolicyViolation,
}

// Unhealable is an error that no retry mends and that names its own remedy.
type Unhealable interface {
	error
	Unhealable()
}

// CanHeal tells whether what went wrong may go away by itself: not a right that is
// missing, a topic that doesn't fit, or an [Unhealable].
func CanHeal(err error) bool {
	// Not errors.As: sarama wraps a code that came with a message so that only Is sees it.
	if slices.ContainsFunc(fatalCodes, func(code sarama.KError) bool { return errors.Is(err, code) }) {
		return false
	}
	var unhealable Unhealable
	return !errors.As(err, &unhealable)
}

// IsLoginRefused tells whether the brokers refuse user or password. Only a person mends
// that, but perhaps in the file where they are read.
func IsLoginRefused(err error) bool { return errors.Is(err, sarama.ErrSASLAuthenticationFailed) }

// TruncatedError says that the metadata topic ends before what the state has applied.
type TruncatedError struct {
	Topic        string
	Partition    int32
	Applied, End int64
}

// Error names the remedy.
func (e *TruncatedError) Error() string {
	return fmt.Sprintf("%s/%d ends at %d, but %d is applied: the topic was truncated or created again; `rlmm reset` clears table and group",
		e.Topic, e.Partition, e.End, e.Applied)
}

// Unhealable marks the error.
func (*TruncatedError) Unhealable() {}

// RegrownError says that the metadata topic holds another record at an offset than the one
// that was applied there: it lost its end, in a broker that was restored from a backup or an
// unclean leader election, and grew again.
type RegrownError struct {
	Topic     string
	Partition int32
	Offset    int64
}

// Error names the remedy.
func (e *RegrownError) Error() string {
	return fmt.Sprintf("%s/%d holds another record at %d than the one that was applied: the topic lost its end and grew again; `rlmm reset` clears table and group",
		e.Topic, e.Partition, e.Offset)
}

// Unhealable marks the error.
func (*RegrownError) Unhealable() {}

// LostHeadError says that the table is empty, though the group has applied input, and
// that the beginning of the input is gone too: what is left doesn't make the state.
type LostHeadError struct {
	Topic     string
	Partition int32
	// Start is the first offset that the input still holds, Committed the group's.
	Start, Committed int64
}

// Error names the remedy.
func (e *LostHeadError) Error() string {
	return fmt.Sprintf("%s/%d begins at %d, and the table, which told of it up to %d, is empty: it can't be made anew; `rlmm reset` clears table and group and goes on with what is left",
		e.Topic, e.Partition, e.Start, e.Committed-1)
}

// Unhealable marks the error.
func (*LostHeadError) Unhealable() {}

// GroupTakenError says that a group is that of another topic.
type GroupTakenError struct{ Group, Topic, Other string }

// Error names both topics and the remedy.
func (e *GroupTakenError) Error() string {
	return fmt.Sprintf("group %s is in use for topic %s, not for %s: give this processor another --group; if %s is of no use any more, `rlmm reset` clears table and group",
		e.Group, e.Other, e.Topic, e.Other)
}

// Unhealable marks the error.
func (*GroupTakenError) Unhealable() {}
