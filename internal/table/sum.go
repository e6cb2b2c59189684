package table

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
	"time"
)

// A topic id tells a topic that was created again, but not a log that lost its end (a broker
// restored from a backup, an unclean leader election) and grew again: an offset that was
// read holds another record then. Leader epochs (KIP-320) don't tell it either when the
// cluster's own state is of the backup. What the records hold does.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// heads are for what is put together to be summed: crc32 is chosen when a process starts, so
// what is given to it would be on the heap each time.
var heads = sync.Pool{New: func() any { return new([128]byte) }}

// InputSum is the sum of a record of the metadata topic; never 0.
func InputSum(at time.Time, value []byte) uint32 {
	head := heads.Get().(*[128]byte) //nolint:forcetypeassert // nothing else is in it
	defer heads.Put(head)
	return sumOf(binary.BigEndian.AppendUint64(head[:0], uint64(at.UnixMilli())), value)
}

// Sum is the sum of the record; never 0. The writer's number makes it differ from that of
// the same record in another history. The time doesn't count: who writes a record that was
// sent twice doesn't know which one the broker took.
func (r Record) Sum() uint32 {
	head := heads.Get().(*[128]byte) //nolint:forcetypeassert // nothing else is in it
	defer heads.Put(head)
	b := binary.BigEndian.AppendUint64(head[:0], uint64(r.Source))
	b = binary.BigEndian.AppendUint32(b, r.Writer)
	b = binary.BigEndian.AppendUint32(b, r.Input)
	b = append(b, byte(r.Kind), byte(r.Outcome))
	return sumOf(append(b, r.Key...), r.Value)
}

func sumOf(head, value []byte) uint32 {
	return max(1, crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, value))
}

// number is the number in a header; 0 when it isn't there, or none of ours.
func number(b []byte) uint32 {
	if len(b) != 4 {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}
