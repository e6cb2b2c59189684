package store

import (
	"encoding/binary"
	"fmt"
)

// Position is how far a store is, and by what the logs are known to be those that it was
// made from.
type Position struct {
	// Table is the offset of the last table record; −1 is none.
	Table int64
	// Applied is the greatest input offset among them; −1 is none.
	Applied int64
	// Time is when the last table record on disk was written that tells it, and not later
	// than it went to disk; in milliseconds since 1970, 0 when there is none.
	Time int64
	// Last is the last table record that has a sum.
	Last Mark
	// Input is the sum of the input record at Applied; 0 is unknown.
	Input uint32
}

// Mark tells a record of a log from any other that comes to lie at its offset when the
// log loses its end and grows again.
type Mark struct {
	Offset int64
	// Sum is over what the record holds; 0 is no mark.
	Sum uint32
}

// none is the position of an empty store.
var none = Position{Table: -1, Applied: -1}

// Fate is what has become of a record of a log.
type Fate uint8

// The fates of records.
const (
	// Kept is of a record that is there; its sum is 0 when rlmm didn't write it.
	Kept Fate = iota + 1
	// Compacted is of one that the log has passed over.
	Compacted
	// Trimmed is of one before the log's beginning.
	Trimmed
)

// Compare compares the mark with the log, of which sumAt tells: [ResetRegrown] for another
// record there, [ResetUnproven] when compaction took it. From a log that lost its beginning
// nothing could be built anew, so a store that goes on behind that stays.
func (m Mark) Compare(sumAt func(offset int64) (uint32, Fate, error)) (Reset, error) {
	if m.Sum == 0 || sumAt == nil {
		return ResetNone, nil
	}
	sum, fate, err := sumAt(m.Offset)
	switch {
	case err != nil:
		return ResetNone, fmt.Errorf("the table record at %d: %w", m.Offset, err)
	case fate == Compacted:
		return ResetUnproven, nil
	case fate == Kept && sum != m.Sum:
		return ResetRegrown, nil
	}
	return ResetNone, nil
}

// apply takes in how far a change applies the input.
func (p *Position) apply(c Change) {
	if c.Applied > p.Applied || c.Applied == p.Applied && c.Input != 0 {
		p.Applied, p.Input = c.Applied, c.Input
	}
}

// mark takes in that the changes are those of the table record at the offset.
func (p *Position) mark(offset int64, changes ...Change) {
	for _, c := range changes {
		if c.Sum != 0 {
			p.Last = Mark{offset, c.Sum}
		}
	}
}

// Pending are the input records that are applied in memory but not on disk, in order, as
// far as their sums are known.
func (s *Store) Pending() (marks []Mark) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, c := range s.queue {
		if c.Input != 0 && c.Applied > s.committed.Applied {
			marks = append(marks, Mark{c.Applied, c.Input})
		}
	}
	return marks
}

// positionSize is that of a position on disk.
const positionSize = 40

func parsePosition(b []byte) (Position, error) {
	if len(b) != positionSize {
		return none, fmt.Errorf("the store's position has %d bytes, not %d: %w", len(b), positionSize, errCorrupt)
	}
	n := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[i:])) }
	sum, input := binary.BigEndian.Uint32(b[32:]), binary.BigEndian.Uint32(b[36:])
	return Position{n(0), n(8), n(16), Mark{n(24), sum}, input}, nil
}

func (p Position) bytes() []byte {
	b := make([]byte, 0, positionSize)
	for _, n := range []int64{p.Table, p.Applied, p.Time, p.Last.Offset} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	b = binary.BigEndian.AppendUint32(b, p.Last.Sum)
	return binary.BigEndian.AppendUint32(b, p.Input)
}
