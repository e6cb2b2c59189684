package api

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"
)

// UUID is a topic id or a segment id, in the byte order of Kafka's records. Its
// text is Kafka's: URL-safe base64 without padding, 22 characters
// (org.apache.kafka.common.Uuid).
type UUID uuid.UUID

// kafkaBase64 is the alphabet of Kafka's Uuid.toString.
var kafkaBase64 = base64.RawURLEncoding.Strict()

// base64Len is how long an id is in that.
const base64Len = 22

// RandomUUID returns a new random id. Like Kafka's, its text never starts with a
// dash, so that command lines can't take it for an option.
func RandomUUID() UUID {
	for {
		if id := UUID(uuid.New()); id.String()[0] != '-' {
			return id
		}
	}
}

// UUIDFromBits returns the id with Kafka's most and least significant bits.
func UUIDFromBits(most, least uint64) UUID {
	var id UUID
	binary.BigEndian.PutUint64(id[:8], most)
	binary.BigEndian.PutUint64(id[8:], least)
	return id
}

// ParseUUID reads an id in Kafka's base64 or in the usual UUID text (36
// characters). Any other text is an [InvalidArgumentError].
func ParseUUID(s string) (UUID, error) {
	if len(s) == 36 {
		id, err := uuid.Parse(s)
		if err != nil {
			return UUID{}, badUUID(s)
		}
		return UUID(id), nil
	}
	if len(s) != base64Len {
		return UUID{}, badUUID(s)
	}
	var id UUID
	// The decoder skips line breaks, which are no characters of an id: n is less then.
	if n, err := kafkaBase64.Decode(id[:], []byte(s)); n != len(id) || err != nil {
		return UUID{}, badUUID(s)
	}
	return id, nil
}

func badUUID(s string) error {
	return &InvalidArgumentError{
		Field:  "id",
		Reason: fmt.Sprintf("%.40q is neither a Kafka id (22 characters of base64) nor a UUID", s),
	}
}

// String returns Kafka's base64 text.
func (id UUID) String() string { return kafkaBase64.EncodeToString(id[:]) }

// AppendText appends Kafka's base64 text to b. It never fails.
func (id UUID) AppendText(b []byte) ([]byte, error) {
	return kafkaBase64.AppendEncode(b, id[:]), nil
}

// MarshalText returns Kafka's base64 text. It never fails.
func (id UUID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText is [ParseUUID].
func (id *UUID) UnmarshalText(text []byte) error {
	parsed, err := ParseUUID(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}

// IsZero tells whether the id is Kafka's ZERO_UUID, which names nothing.
func (id UUID) IsZero() bool { return id == UUID{} }

// Bits returns Kafka's most and least significant bits.
func (id UUID) Bits() (most, least uint64) {
	return binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
}

// Compare orders ids as Kafka's Uuid.compareTo does: the most significant 64 bits
// first, then the least, both as signed numbers.
func (id UUID) Compare(other UUID) int {
	m1, l1 := id.Bits()
	m2, l2 := other.Bits()
	return cmp.Or(cmp.Compare(int64(m1), int64(m2)), cmp.Compare(int64(l1), int64(l2)))
}
