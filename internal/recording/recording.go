// Package recording reads and publishes recordings of a metadata topic: JSON lines
// with a partition, the value in hex (null for a record without one) and, if there
// was one, the key in hex. Other fields are ignored.
package recording

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxLine bounds a line: a record of 64 MiB in hex, and some more.
const maxLine = 130 << 20

//go:embed real.jsonl
var bundled []byte

// Bundled is what a real tiered broker (Apache Kafka 4.3.1) wrote while it copied
// segments, deleted by retention, restarted with new leader epochs and deleted a
// topic: 896 records of 8 partitions.
func Bundled() io.Reader { return bytes.NewReader(bundled) }

// Event is a record of a recording.
type Event struct {
	Partition int32
	Offset    int64  // where the record lay; −1 when the recording doesn't say
	Key       []byte // nil is a null key
	Value     []byte // nil is a null value
}

// line is an event in JSON.
type line struct {
	Partition *int32          `json:"partition"`
	Offset    *int64          `json:"offset"`
	Key       *string         `json:"key"`
	Value     json.RawMessage `json:"value"` // tells null from absent
}

// Read iterates over the events. An error names the line and is the last step.
func Read(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		n := 0
		for lines.Scan() {
			n++
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			event, err := Parse(lines.Bytes())
			if err != nil {
				err = fmt.Errorf("line %d: %w", n, err)
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Event{}, fmt.Errorf("line %d: %w", n+1, err))
		}
	}
}

// Parse reads one line.
func Parse(b []byte) (Event, error) {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return Event{}, err
	}
	if l.Partition == nil || *l.Partition < 0 {
		return Event{}, errors.New("partition: a number from 0 is needed")
	}
	key, err := unhex("key", l.Key)
	if err != nil {
		return Event{}, err
	}
	offset := int64(-1)
	if l.Offset != nil {
		offset = *l.Offset
	}
	value, err := l.value()
	return Event{*l.Partition, offset, key, value}, err
}

// value must be there: JSON lines of another kind would be published as null records.
func (l line) value() ([]byte, error) {
	if l.Value == nil {
		return nil, errors.New("value: hex, or null for a record without one, is needed")
	}
	var text *string
	if err := json.Unmarshal(l.Value, &text); err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	return unhex("value", text)
}

func unhex(field string, s *string) ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	b, err := hex.DecodeString(*s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return b, nil
}
