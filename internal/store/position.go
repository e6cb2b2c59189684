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
