package codec

import (
	"errors"
	"fmt"
)

// ErrNullValue says that a record has no value. Kafka writes none on the metadata
// topic; a tombstone of a keyed form would be one.
var ErrNullValue = errors.New("null value")

// Reason is why a value can't be decoded, in a form that suits a metric's label.
type Reason string

// The reasons of a [DecodeError].
const (
	// ReasonTruncated is a value that ends too early.
	ReasonTruncated Reason = "truncated"
	// ReasonFrame is a frame version other than 1.
	ReasonFrame Reason = "frame_version"
	// ReasonKind is an api key, or a kind of row, that doesn't belong there.
	ReasonKind Reason = "kind"
	// ReasonVersion is an unknown version of a known kind.
	ReasonVersion Reason = "version"
	// ReasonLength is a length, count or number that its field can't have.
	ReasonLength Reason = "length"
	// ReasonValue is a field that was read well and can't be true.
	ReasonValue Reason = "value"
	// ReasonTrailing is bytes after the end.
	ReasonTrailing Reason = "trailing"
)

// DecodeError tells what is wrong with a value, and where.
type DecodeError struct {
	Reason Reason
	// Offset is the byte, from 0, at which the field begins that is wrong.
	Offset int
	// Field is Kafka's name of the field, or a part of the frame.
	Field string
	// Detail says what is wrong with it.
	Detail string
}

// Error names the field, its place and what is wrong.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("byte %d: %s: %s", e.Offset, e.Field, e.Detail)
}

// RowVersionError says that a row was written by a newer version of the format than
// this reader knows.
type RowVersionError struct{ Version RowVersion }

// Error names both versions and the remedy.
func (e *RowVersionError) Error() string {
	return fmt.Sprintf("row version %d is newer than this reader knows (%d): the fleet writes for newer releases; upgrade this one", e.Version, NewestRowVersion)
}

// Unhealable marks the error: no retry mends it, a newer release does.
func (*RowVersionError) Unhealable() {}
