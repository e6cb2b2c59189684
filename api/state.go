package api

import "fmt"

// RemoteLogSegmentState is the state of a remote log segment; its number is the
// one in Kafka's records (org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState).
type RemoteLogSegmentState int8

// The life of a segment. Only CopySegmentFinished segments answer queries by
// offset and epoch.
const (
	CopySegmentStarted    RemoteLogSegmentState = 0
	CopySegmentFinished   RemoteLogSegmentState = 1
	DeleteSegmentStarted  RemoteLogSegmentState = 2
	DeleteSegmentFinished RemoteLogSegmentState = 3
)

var segmentStateNames = [...]string{
	"COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED",
}

// Valid tells whether the state is one that Kafka knows.
func (s RemoteLogSegmentState) Valid() bool { return s >= 0 && int(s) < len(segmentStateNames) }

// String returns Kafka's name, COPY_SEGMENT_STARTED for one.
func (s RemoteLogSegmentState) String() string {
	return stateName(s.Valid(), segmentStateNames[:], int8(s))
}

// MarshalText returns Kafka's name; an unknown state is an [InvalidArgumentError].
func (s RemoteLogSegmentState) MarshalText() ([]byte, error) {
	return marshalState(s.Valid(), s.String())
}

// UnmarshalText reads Kafka's name; any other text is an [InvalidArgumentError].
func (s *RemoteLogSegmentState) UnmarshalText(text []byte) error {
	i, err := parseState(segmentStateNames[:], string(text))
	if err == nil {
		*s = RemoteLogSegmentState(i)
	}
	return err
}

// CanBecome tells whether Kafka's RemoteLogSegmentState.isValidTransition allows an
// update from s to next. A state may repeat (a retry): the table of Kafka allows
// it for CopySegmentStarted too, though no update may carry that state.
func (s RemoteLogSegmentState) CanBecome(next RemoteLogSegmentState) bool {
	switch s {
	case CopySegmentStarted:
		return next == CopySegmentStarted || next == CopySegmentFinished || next == DeleteSegmentStarted
	case CopySegmentFinished:
		return next == CopySegmentFinished || next == DeleteSegmentStarted
	case DeleteSegmentStarted:
		return next == DeleteSegmentStarted || next == DeleteSegmentFinished
	case DeleteSegmentFinished:
		return next == DeleteSegmentFinished
	}
	return false
}

// RemotePartitionDeleteState is the state of a partition's deletion; its number is
// the one in Kafka's records
// (org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteState).
type RemotePartitionDeleteState int8

// The deletion of a partition. DeletePartitionNone is ours: no record carries it.
const (
	DeletePartitionNone     RemotePartitionDeleteState = -1
	DeletePartitionMarked   RemotePartitionDeleteState = 0
	DeletePartitionStarted  RemotePartitionDeleteState = 1
	DeletePartitionFinished RemotePartitionDeleteState = 2
)

var deleteStateNames = [...]string{
	"DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED",
}

// Valid tells whether the state is one that a record may carry.
func (s RemotePartitionDeleteState) Valid() bool { return s >= 0 && int(s) < len(deleteStateNames) }

// String returns Kafka's name, DELETE_PARTITION_MARKED for one, or NONE.
func (s RemotePartitionDeleteState) String() string {
	if s == DeletePartitionNone {
		return "NONE"
	}
	return stateName(s.Valid(), deleteStateNames[:], int8(s))
}

// MarshalText returns Kafka's name; a state that no record may carry is an
// [InvalidArgumentError].
func (s RemotePartitionDeleteState) MarshalText() ([]byte, error) {
	return marshalState(s.Valid(), s.String())
}

// UnmarshalText reads Kafka's name; any other text is an [InvalidArgumentError].
func (s *RemotePartitionDeleteState) UnmarshalText(text []byte) error {
	i, err := parseState(deleteStateNames[:], string(text))
	if err == nil {
		*s = RemotePartitionDeleteState(i)
	}
	return err
}

// CanBecome is Kafka's RemotePartitionDeleteState.isValidTransition: none, marked,
// started, finished, one step at a time; a state may repeat.
func (s RemotePartitionDeleteState) CanBecome(next RemotePartitionDeleteState) bool {
	return next.Valid() && (next == s || next == s+1)
}

func stateName(valid bool, names []string, n int8) string {
	if !valid {
		return fmt.Sprintf("UNKNOWN(%d)", n)
	}
	return names[n]
}

func marshalState(valid bool, name string) ([]byte, error) {
	if !valid {
		return nil, &InvalidArgumentError{Field: "state", Reason: name + " is not a state of Kafka's"}
	}
	return []byte(name), nil
}

func parseState(names []string, text string) (int, error) {
	for i, name := range names {
		if name == text {
			return i, nil
		}
	}
	return 0, &InvalidArgumentError{Field: "state", Reason: fmt.Sprintf("%.40q is not one of %v", text, names)}
}
