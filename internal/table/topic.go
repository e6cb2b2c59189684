package table

import (
	"fmt"

	"github.com/lovoo/goka"
)

// TopicOf is the table topic of a processor fleet's group.
func TopicOf(group string) string { return string(goka.GroupTable(goka.Group(group))) }

// UnfencedError says that a partition of the table doesn't begin with a fence, which is
// every owner's first record. So the table was deleted and created again while an owner
// went on writing, and the rows that its record stands on are nowhere.
type UnfencedError struct {
	Topic     string
	Partition int32
}

// Error names the remedy.
func (e *UnfencedError) Error() string {
	return fmt.Sprintf("%s/%d doesn't begin with a fence: the table was created again under a running processor; `rlmm reset` clears table and group",
		e.Topic, e.Partition)
}

// Unhealable marks the error: no retry mends it.
func (*UnfencedError) Unhealable() {}

// CheckFenced returns an [UnfencedError] for the record at the table offset when it
// shows that the partition lacks what came before it.
func CheckFenced(r Record, topic string, partition int32, offset int64) error {
	if offset == 0 && r.Kind != Fence {
		return &UnfencedError{topic, partition}
	}
	return nil
}

// HeadError says that records are gone from the table's beginning that a store hasn't
// read. Compaction alone never moves the beginning; retention does.
type HeadError struct {
	Topic     string
	Partition int32
	// Start is the first offset that the table still holds, Have the store's; −1 is none.
	Start, Have int64
}

// Error names the remedy.
func (e *HeadError) Error() string {
	return fmt.Sprintf("the table lost its head: %s/%d begins at %d, and the local store ends at %d: the rows in between are gone; set cleanup.policy=compact, then `rlmm reset` clears table and group, and a new fleet makes the table from the metadata topic",
		e.Topic, e.Partition, e.Start, e.Have)
}

// Unhealable marks the error: no retry mends it.
func (*HeadError) Unhealable() {}

// CheckHead returns a [HeadError] when the partition of the table, which begins at start,
// doesn't go on where a store ends that has read it up to have, −1 for nothing.
func CheckHead(topic string, partition int32, start, have int64) error {
	if start > have+1 {
		return &HeadError{topic, partition, start, have}
	}
	return nil
}
